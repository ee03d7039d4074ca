"""Pictures of the laboratory's pages: what is on each, read from its axes; the same bytes for the same table."""

import numpy as np
import polars as pl
import pytest
from legible import drawn_pages, flaws
from PIL import Image

from lab import figures
from lab.figures import user_level, utility


def attack(rows=5, real=True):
    sigma = np.geomspace(0.3, 4, rows)
    success = 0.05 + 0.9 / (1 + sigma**2)
    played = pl.Series(success / 2 if real else [None] * rows, dtype=pl.Float64)
    return pl.DataFrame({"noise_multiplier": sigma, "prior": np.full(rows, 1 / 16), "certified": success,
                         "worst_case": success * 0.9, "real": played, "real_low": played * 0.8,
                         "real_high": played * 1.1})  # fmt: skip


def memorised(rows=4):
    names = ("memorised", "counting", "difference", "real", "by_start", "counting_by_start")
    table = {n: np.linspace(0.9 - i / 10, 0.05, rows) for i, n in enumerate(names)}
    ends = {f"{n}{end}": table[n] + by for n in names[:4] for end, by in (("_low", -0.04), ("_high", 0.05))}
    more = {"certified": np.linspace(1, 0.2, rows), "worst_case": np.linspace(0.95, 0.2, rows)}
    sigma = {"noise_multiplier": [1e-6, 0.1, 1, 4][:rows], "prior": [1 / 16] * rows}
    return pl.DataFrame({**sigma, **table, **ends, **more})


def panel(count: int, gaps: bool = False) -> figures.Panel:
    """Squares with an interval, and points; every second one is missing where there are gaps."""
    x = list(range(1, count + 1))
    squares = [None if gaps and i % 2 == 0 else float(i * i) for i in x]
    ours = figures.Curve("ours", x, squares, [i - 1.0 for i in x], [i * i + 1.0 for i in x])
    theirs = figures.Curve("theirs", x, [float(i) for i in x], points=True)
    levels = (("seven", 7.0),)
    return figures.Panel("squares", "x", "y", [ours, theirs], levels, ylim=(0, None), diagonal=True)


def seconds(count: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """By method and secrets, and by rounds; the lower bound is missing at the end."""
    sizes = np.geomspace(1e3, 1e6, count)
    tables = [
        pl.DataFrame({"secrets": sizes, "method": [m] * count, "seconds": t * np.sqrt(sizes)})
        for m, t in (("blow_up", 0.1), ("kl", 0.01))
    ]
    more = pl.Series([0.05 if i < count - 1 else None for i in range(count)], dtype=pl.Float64)
    times = {"rounds": sizes, "seconds": np.full(count, 0.02), "seconds_with_lower": more}
    return pl.concat(tables), pl.DataFrame(times)


KINDS = ("group_privacy", "user_wise")


def losses(kinds: tuple[str, ...] = KINDS) -> pl.DataFrame:
    rows = [
        (kind, records, epsilon, 4.0 - (epsilon or 20.0) / 20 + records / 50 + (kind == "user_wise") / 10,
         None if records == 2 else 0.05)
        for kind in kinds for records in (10, 2) for epsilon in (8.0, None, 1.0)
    ]  # fmt: skip
    schema = {"kind": pl.String, "records": pl.Int64}
    schema |= dict.fromkeys(("epsilon", "bits", "half_width"), pl.Float64)
    return pl.DataFrame(rows, schema=schema, orient="row")


def settings() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "setting": ["start", "kl", "kl, program", "ours", "non-private"],
            "kind": ["none", "other", "other", "ours", "none"],
            "noise_multiplier": [None, 68.5, 16.6, 0.9, None],
            "bits_per_byte": [2.5, 2.49, 2.48, 2.3, 2.2],
            "low": [2.45, 2.44, 2.43, 2.25, 2.15],
            "high": [2.55, 2.54, 2.53, 2.36, 2.25],
            "before_certified": [None, None, None, 2.37, None],
        }
    )


DRAWINGS = {
    "memorised": lambda path: figures.memorised_over_noise(memorised(), path),
    "attack": lambda path: figures.attack_against_bound(attack(), path),
    "attack, not played": lambda path: figures.attack_against_bound(attack(real=False), path),
    "panels": lambda path: figures.draw_panels("Two", [panel(5), panel(3)], path),
    "panels, one, with gaps": lambda path: figures.draw_panels("One", [panel(5, gaps=True)], path),
    **{f"scale, {n}": lambda path, n=n: figures.certificate_scale(*seconds(n), path) for n in (5, 1, 0)},
    **{
        f"loss by records, {n}": lambda path, n=n: figures.loss_by_records(losses(KINDS[2 - n :]), path)
        for n in (2, 1, 0)
    },
    **{
        f"utility, {n}": lambda path, n=n: figures.utility_against_noise(settings().head(n), path)
        for n in (5, 4, 3, 1, 0)
    },
}
LEGIBLE = ("panels", "scale")
"""Those whose texts are looked at too: none lies over another or leaves the picture."""


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", DRAWINGS)
def test_every_picture_is_drawn_the_same_twice_and_can_be_read(name, tmp_path, monkeypatch):
    pages = drawn_pages(monkeypatch)
    first, second = (DRAWINGS[name](tmp_path / file) for file in ("a.png", "b.png"))
    assert first == tmp_path / "a.png" and first.read_bytes() == second.read_bytes()
    if name.startswith(LEGIBLE):
        assert flaws(pages[0]) == []
    with Image.open(first) as image:
        assert image.format == "PNG" and image.width == 960 and 200 <= image.height <= 2000


@pytest.mark.slow
def test_what_was_not_played_is_not_drawn(tmp_path):
    played, not_played = (DRAWINGS[name](tmp_path / name) for name in ("attack", "attack, not played"))
    assert played.read_bytes() != not_played.read_bytes()


@pytest.mark.slow
def test_panels_share_styles_by_label_leave_gaps_out_and_draw_levels(tmp_path, monkeypatch):
    drawn = drawn_pages(monkeypatch)
    figures.draw_panels("Two", [panel(5, gaps=True), panel(3)], tmp_path / "a.png")
    left, right = drawn[0].axes
    level, ours, theirs, diagonal = left.get_lines()
    assert list(level.get_ydata()) == [7.0, 7.0] and diagonal.get_label() == "y = x"
    assert list(ours.get_xdata()) == [1, 3, 5] and list(ours.get_ydata()) == [1, 9, 25]
    assert theirs.get_linestyle() == "None"
    colours = [[line.get_color() for line in lines] for lines in ((ours, theirs), right.get_lines()[1:3])]
    assert colours[0] == colours[1]
    assert ours.get_color() != theirs.get_color()
    named = [text.get_text() for text in drawn[0].legends[0].get_texts()]
    assert named == ["seven", "ours", "theirs", "y = x"]


@pytest.mark.slow
def test_scale_has_a_curve_a_method_and_what_does_not_grow_looks_flat(tmp_path, monkeypatch):
    drawn = drawn_pages(monkeypatch)
    calibrations, certificates = seconds(5)
    figures.certificate_scale(calibrations.reverse(), certificates.reverse(), tmp_path / "a.png")
    left, right = drawn[0].axes
    kl, blow_up = left.get_lines()
    assert (kl.get_label(), blow_up.get_label()) == ("kl (the paper)", "blow_up")
    assert blow_up.get_xdata() == pytest.approx(np.geomspace(1e3, 1e6, 5))  # in order, whatever the table's
    assert blow_up.get_ydata() == pytest.approx(0.1 * np.sqrt(blow_up.get_xdata()))
    alone, with_lower = right.get_lines()
    assert set(alone.get_ydata()) == {0.02} and list(with_lower.get_ydata()) == [0.05] * 4
    assert all(a.get_xscale() == a.get_yscale() == "log" for a in (left, right))
    low, high = right.get_ylim()
    assert high / low >= 30 and low < 0.02 < 0.05 < high
    names = [text.get_text() for text in drawn[0].legends[0].get_texts()]
    assert names == ["kl (the paper)", "blow_up", "blow_up and a lower bound"]


@pytest.mark.slow
def test_each_mechanism_has_a_panel_and_no_noise_stands_at_the_right(tmp_path, monkeypatch):
    pages = drawn_pages(monkeypatch)
    figures.loss_by_records(losses(), tmp_path / "a.png")
    for axes, kind in zip(pages[0].axes, ("group_privacy", "user_wise"), strict=True):
        assert axes.get_title(loc="left") == user_level.TITLES[kind]
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "8", "∞"]
        lines = {container.get_label(): container[0] for container in axes.containers}
        assert sorted(lines) == ["k = 10", "k = 2"]
        for records in (2, 10):
            line = lines[f"k = {records}"]
            assert [round(x) for x in line.get_xdata()] == [0, 1, 2]
            rows = losses().filter((pl.col("kind") == kind) & (pl.col("records") == records))
            by_epsilon = dict(rows.select("epsilon", "bits").iter_rows())
            assert list(line.get_ydata()) == pytest.approx([by_epsilon[e] for e in (1.0, 8.0, None)])
    assert pages[0].axes[0].get_ylim() == pages[0].axes[1].get_ylim()


def test_each_setting_is_a_point_with_its_interval_on_its_own_line(tmp_path, monkeypatch):
    pages = drawn_pages(monkeypatch)
    figures.utility_against_noise(settings(), tmp_path / "a.png")
    (axes,) = pages[0].axes
    points = {}
    for bar in axes.containers:
        line, _, (interval,) = bar.lines
        for (x, y), ends in zip(line.get_xydata().tolist(), interval.get_segments(), strict=True):
            points[y] = (x, *ends[:, 0], line.get_color())
    for place, row in enumerate(settings().iter_rows(named=True)):
        x, low, high, color = points[place]
        np.testing.assert_allclose((x, low, high), (row["bits_per_byte"], row["low"], row["high"]))
        assert color == utility._STYLES[row["kind"]]["color"]
        name = axes.get_yticklabels()[place].get_text()
        noise = row["noise_multiplier"]
        assert name == (row["setting"] if noise is None else f"{row['setting']}, σ = {noise:#.3g}")
    assert len(points) == settings().height
    top, bottom = axes.get_ylim()[::-1]
    assert top < 0 < settings().height - 1 < bottom, "the first setting is on top"


@pytest.mark.slow
def test_the_loss_before_the_certified_rounds_is_marked_where_there_is_one(tmp_path, monkeypatch):
    pages = drawn_pages(monkeypatch)
    figures.utility_against_noise(settings(), tmp_path / "a.png")
    figures.utility_against_noise(settings().head(3), tmp_path / "b.png")
    with_it, without = (
        [line for line in axes.get_lines() if line.get_label() == "before its certified rounds"]
        for axes in (page.axes[0] for page in pages)
    )
    assert [line.get_xydata().tolist() for line in with_it] == [[[2.37, 3.0]]]
    assert without == []
