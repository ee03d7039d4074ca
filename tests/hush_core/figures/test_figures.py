"""Pictures: PNGs of a readable size, the same bytes for the same tables, honest about what is left out."""

from pathlib import Path

import matplotlib
import numpy as np
import polars as pl
import pytest
from frames import frame_of
from legible import drawn_pages, flaws
from PIL import Image

from hush_core import figures
from hush_core.auditing.against_certificate import TABLE
from hush_core.auditing.calibrated_loss import SCHEMA
from hush_core.figures.canvas import drawing


def secrets(count: int) -> pl.DataFrame:
    kinds = ("path", "credentials", "literals")
    return frame_of(
        secret_id=np.arange(count),
        kind=[kinds[i % 3] for i in range(count)],
        name=[f"creds/betterleaks.github-pat:{i:012x}" if i % 3 else "alpha$^{x" for i in range(count)],
    )


def certificate(count: int) -> pl.DataFrame:
    ratio = np.linspace(0.01, 1, count)
    return frame_of(
        secret_id=np.arange(count),
        prior=np.full(count, 1e-10),
        posterior=np.full(count, 1e-4),
        bound=ratio * 1e-4,
    )


def exposed(count: int, bits: float) -> pl.DataFrame:
    names = secrets(count)["name"]
    return frame_of(
        secret_id=np.arange(count),
        name=names,
        alternatives=np.full(count, 1000),
        rank=np.ones(count),
        exposure_bits=np.full(count, bits),
        extracted=np.arange(count) % 2 == 0,
        contexts=np.ones(count),
    )


def graph(count: int = 6, examples: int = 200) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    pairs = sorted({(7 * i % (examples // 2), i % count) for i in range(3 * count)})
    edges = pl.DataFrame(pairs, schema={"example_id": pl.UInt32, "secret_id": pl.UInt32}, orient="row")
    weight = np.ones(examples)
    weight[np.unique(edges["example_id"].to_numpy())] = 0.25
    weight[-examples // 10 :] = 0  # held out
    role = np.where(weight > 0, "certified", "held_out")
    ids = np.arange(examples, dtype=np.uint32)
    return pl.DataFrame({"example_id": ids, "weight": weight, "role": role}), edges, secrets(count)


def curves(count: int) -> pl.DataFrame:
    """The run and two rehearsals."""
    rounds = np.linspace(20, 400, count).astype(np.uint32)
    parts = [
        pl.DataFrame({"run": [name] * count, "rounds": rounds, "bits": 3 + slope / (1 + rounds / 50)})
        for name, slope in (("rehearsal, rate 0.001", 2.0), ("rehearsal, rate 0.01", 1.5), (figures.RUN, 1.2))
    ]
    return pl.concat(parts)


def run_by_run(together):
    kinds = {"run": pl.UInt32, "alone": pl.Float64, "together": pl.Float64}
    rows = {"run": list(range(1, len(together) + 1)), "alone": [0.02] * len(together), "together": together}
    return pl.DataFrame(rows, schema=kinds)


def losses_by_runs(first, last):
    losses = {"loss_from_start": [first, last], "loss_from_previous": [first, first]}
    return pl.DataFrame({"runs": [1, 365], **losses})


def by_runs(first, last):
    kinds = {"runs": pl.UInt32, "from_start": pl.Float64, "from_previous": pl.Float64}
    return pl.DataFrame([[1, 365], [first, last], [first, first]], schema=kinds)


DRAWINGS = {
    "weights": lambda path: figures.weights_retained(*graph(), path),
    "weights, no example": lambda path: figures.weights_retained(*(frame.clear() for frame in graph()), path),
    "noise": lambda path: figures.noise_by_method(
        {"kl": 103.8, "renyi": 3.0, "blow_up": 2.83, "best": 2.83}, path
    ),
    "noise, one": lambda path: figures.noise_by_method({"kl": 0.5}, path),
    "noise, none": lambda path: figures.noise_by_method({"kl": None, "best": None}, path),
    "bound by run": lambda path: figures.bound_by_run(run_by_run([0.02, 0.3, 0.98]), path, promised=5),
    "bound by run, nothing promised": lambda path: figures.bound_by_run(run_by_run([0.02, None]), path),
    "loss by runs": lambda path: figures.loss_by_runs(losses_by_runs(2.1, 2.6), path, unit="byte"),
    "loss by runs, none": lambda path: figures.loss_by_runs(losses_by_runs(None, None), path, unit="byte"),
    "noise by runs": lambda path: figures.noise_by_runs(by_runs(2.5, 5.1), path),
    "noise by runs, none": lambda path: figures.noise_by_runs(by_runs(None, None), path),
    "posterior, one": lambda path: figures.posterior_against_target(certificate(1), secrets(1), path),
    "posterior": lambda path: figures.posterior_against_target(certificate(12), secrets(12), path),
    "posterior, many": lambda path: figures.posterior_against_target(certificate(300), secrets(300), path),
    "losses": lambda path: figures.losses({"pretrained": 3.2, "protected": 3.0, "unprotected": 2.7}, path),
    "losses, masked": lambda path: figures.losses({"protected": 3.0}, path, unit="masked token"),
    "learning curves": lambda path: figures.learning_curves(curves(9), path, unit="byte"),
    "learning curves, one point": lambda path: figures.learning_curves(curves(1), path, unit="byte"),
    "learning curves, none": lambda path: figures.learning_curves(curves(0), path, unit="byte"),
    "losses, none": lambda path: figures.losses({}, path),
    "exposure": lambda path: figures.exposure(exposed(9, 1.0), exposed(9, 9.9), path),
    "exposure, alone": lambda path: figures.exposure(exposed(9, 1.0), None, path),
    "exposure, partly": lambda path: figures.exposure(exposed(9, 1.0), exposed(4, 9.9), path),
    "exposure, none": lambda path: figures.exposure(exposed(0, 1.0), None, path),
    "audit": lambda path: figures.audit_against_certificate(audited(5), path),
    "audit, many": lambda path: figures.audit_against_certificate(audited(60), path),
    "audit, not attacked": lambda path: figures.audit_against_certificate(audited(3, attacked=False), path),
    "samples at risk": lambda path: figures.samples_at_risk(losses(30, -40), losses(20, 0), path),
    "inference curves": lambda path: figures.inference_curves(CURVES, path),
    "rehearsed": lambda path: figures.rehearsed(points(0), LOSSES, path, unit="byte"),
    "rehearsed, nothing": lambda path: figures.rehearsed(nothing_played(), LOSSES.clear(), path, unit="byte"),
}


@pytest.mark.few(8)
@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS.keys())
def test_no_point_is_cut_off_and_no_words_lie_on_each_other(draw, tmp_path, monkeypatch):
    pages = drawn_pages(monkeypatch)
    draw(tmp_path / "a.png")
    assert len(pages) == 1 and flaws(pages[0]) == []


@pytest.mark.parametrize(
    "limits, words, told",
    [
        ((0, 4), "far", "is cut off"),
        ((0, 12), "on\nall", "lies on"),
        ((0, 12), "far" * 60, "leaves the page"),
    ],
)
def test_what_cannot_be_read_would_be_seen(tmp_path, monkeypatch, limits, words, told):
    pages = drawn_pages(monkeypatch)
    with drawing(tmp_path / "a.png", height=3.0) as (axes,):
        axes.plot([1, 5, 10], [1, 2, 3])
        axes.set_xlim(*limits)
        axes.text(limits[1] / 2, 2, "near")
        axes.text(limits[1] / 2, 2 if "on" in words else 1.2, words)
    assert any(told in flaw for flaw in flaws(pages[0])), flaws(pages[0])


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS.keys())
@pytest.mark.filterwarnings("error")
def test_every_picture_is_drawn_the_same_twice(draw, tmp_path, monkeypatch):
    first = draw(tmp_path / "a.png")
    assert first == tmp_path / "a.png"
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 30)  # a user's settings do not matter
    second = draw(tmp_path / "b.png")
    assert first.read_bytes() == second.read_bytes()
    assert matplotlib.rcParams["font.size"] == 30
    with Image.open(first) as image:
        assert image.format == "PNG"
        assert 300 <= image.width <= 1200
        assert 200 <= image.height <= 2000
        assert len(image.convert("RGB").getcolors(1 << 20)) > 5


def test_a_table_in_another_order_gives_the_same_picture(tmp_path):
    a = figures.posterior_against_target(certificate(12), secrets(12), tmp_path / "a.png")
    b = figures.posterior_against_target(certificate(12).reverse(), secrets(12).reverse(), tmp_path / "b.png")
    assert a.read_bytes() == b.read_bytes()


@pytest.fixture
def drawn(monkeypatch):
    """The figures behind the pictures."""
    return drawn_pages(monkeypatch)


def test_many_secrets_show_those_nearest_to_their_target_and_say_so(tmp_path, drawn):
    figures.posterior_against_target(certificate(300), secrets(300), tmp_path / "a.png")
    (axes,) = drawn[0].axes
    assert "the 40 closest to their target, of 300" in axes.get_title(loc="left")
    bound = axes.get_lines()[1].get_xdata()
    assert len(bound) == 40
    assert bound == pytest.approx(np.sort(certificate(300)["bound"].to_numpy())[::-1][:40])


def test_retained_weight_counts_examples_in_training_only(tmp_path, drawn):
    weights, edges, table = graph()
    figures.weights_retained(weights, edges, table, tmp_path / "a.png")
    trained = 200 - 20
    assert f"{100 * weights['weight'].sum() / trained:.1f} %" in drawn[0].axes[1].get_title(loc="left")


def test_noise_is_printed_with_its_ratio_to_the_paper(tmp_path, drawn):
    figures.noise_by_method({"kl": 103.83, "blow_up": 2.83, "renyi": None}, tmp_path / "a.png")
    texts = [text.get_text().strip() for text in drawn[0].axes[0].texts]
    assert texts == ["104", "2.83   (36.7 times less)", "cannot be certified"]


def test_almost_all_is_not_shown_as_all():
    assert figures._percent(1.0) == "100 %"
    assert figures._percent(0.99999) == "under 100 %"


def test_short_names_keep_the_keyed_hash_apart():
    assert figures.short_name("creds/veles.secrets/sendgrid:475c73a403b8") == "creds/sendgrid:475c73"
    assert figures.short_name("alpha") == "alpha"


def test_nothing_is_written_where_drawing_fails(tmp_path):
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        figures.exposure(pl.DataFrame({"secret_id": [1]}), None, tmp_path / "a.png")
    assert list(Path(tmp_path).iterdir()) == []


def audited(count, *, attacked=True):
    rows = {name: [None] * count for name in TABLE} | {
        "secret_id": range(count), "name": [f"canary$^{{{i}" for i in range(count)], "prior": [1e-10] * count,
        "certified": np.geomspace(1e-6, 1e-3, count), "certified_lower": [None] * count,
        "every_step": np.geomspace(9e-7, 9e-4, count),
    }  # fmt: skip
    if attacked:
        rows |= {
            "written": np.geomspace(1e-30, 1e-2, count), "written_lower": [1e-9] * count,
            "written_upper": [0.95] * count, "exposure_bits": [3.0] * count, "exposure_lower": [2.0] * count,
            "exposure_upper": [5.0] * count, "start_bits": [1.0] * count, "allowed_bits": [6.0] * count,
            "ceiling_bits": [10.0] * count, "ranked_evidence": [0.0] * count,
        }  # fmt: skip
    return pl.DataFrame(rows, schema=TABLE, strict=False)


def losses(count, shift):
    rng = np.random.default_rng(0)
    columns = (range(count), [20] * count, rng.normal(-60, 5, count), rng.normal(shift, 5, count))
    return pl.DataFrame(dict(zip(SCHEMA, columns, strict=True)), schema=SCHEMA)


CURVES = pl.DataFrame(
    {"samples": [1, 1, 4, 4], "false_positive_rate": [0.0, 1, 0, 1], "true_positive_rate": [0.1, 1, 0.5, 1]}
)


def test_what_leaks_is_shown_first(tmp_path, monkeypatch):
    named = []
    monkeypatch.setattr(
        "hush_core.figures.audit.name_rows", lambda axes, rows: named.append(rows["name"].to_list())
    )
    figures.audit_against_certificate(audited(60), tmp_path / "a.png")
    assert named[0][0] == "canary$^{59" and len(named[0]) == figures.MOST_ROWS


def tables(count: int, kinds=("path", "credentials"), name="creds/betterleaks.github-pat:{:012x}"):
    """Secret j stands in the first 200/(j+1) examples; the last of many in none."""
    pairs = sorted((e, j) for j in range(count) for e in range(200 // (j + 1)))
    edges = pl.DataFrame(pairs, schema={"example_id": pl.UInt32, "secret_id": pl.UInt32}, orient="row")
    secrets = frame_of(
        secret_id=range(count),
        kind=[kinds[j % len(kinds)] for j in range(count)],
        name=[name.format(j) for j in range(count)],
    )
    return edges, secrets


GRAPHS = {
    "three": tables(3),
    "many": tables(500),
    "one": tables(1),
    "none": tables(0),
    "one kind": tables(30, kinds=("path",)),
    "nine kinds": tables(40, kinds=[f"k$^{{{i}" for i in range(9)]),
    "formulas": tables(14, name="al$ph_a^{{{}$"),
    "long names": tables(14, name="{:04}" + "x" * 500),
    "no edge": (tables(4)[0].clear(), tables(4)[1]),
}


@pytest.mark.slow
@pytest.mark.parametrize("tables", GRAPHS.values(), ids=GRAPHS.keys())
@pytest.mark.filterwarnings("error")
def test_it_is_drawn_the_same_twice_whatever_the_order(tables, tmp_path):
    edges, secrets = tables
    first = figures.secret_graph(edges, secrets, tmp_path / "a.png")
    assert first == tmp_path / "a.png"
    second = figures.secret_graph(edges.reverse(), secrets.reverse(), tmp_path / "b.png")
    assert first.read_bytes() == second.read_bytes()
    with Image.open(first) as image:
        assert image.format == "PNG" and image.width == 960 and 400 <= image.height <= 1200


def test_marks_bars_and_shares_are_those_of_the_tables(tmp_path, drawn):
    edges, secrets = tables(500)
    figures.secret_graph(edges, secrets, tmp_path / "a.png")
    top, bottom = drawn[0].subfigs
    left, right = top.axes
    sizes = [200 // (j + 1) for j in range(500)]
    lines = [line for line in left.get_lines() if line.get_label() != "several kinds there"]
    marks = sorted((int(y) for line in lines for y in line.get_ydata()), reverse=True)
    assert marks == [n for n in sizes if n] and "300 more in no example" in left.get_xlabel()
    assert left.get_yscale() == left.get_xscale() == "log"
    told = {t.get_text() for t in left.get_legend().get_texts()}
    assert told == {"path (100)", "credentials (100)", "several kinds there"}
    (rings,) = set(left.get_lines()) - set(lines)
    hidden = {(x, y) for line in lines for x, y in zip(*line.get_data(), strict=True)}
    assert set(zip(*rings.get_data(), strict=True)) < hidden
    by_example = edges.group_by("example_id").len()["len"].to_numpy()
    widths = [int(bar.get_width()) for bar in right.patches]
    assert widths[:3] == [(by_example == 1).sum(), (by_example == 2).sum(), np.isin(by_example, (3, 4)).sum()]
    assert sum(widths) == 200
    (matrix,) = bottom.axes
    cells = [text.get_text() for text in matrix.texts]
    assert len(cells) == 144 and cells[0] == "–"
    assert cells[1] == "50" and cells[12] == "100"  # secret 2 is half of secret 1 and wholly inside it
    assert matrix.get_yticklabels()[0].get_text() == "1  creds/github-pat:000000"


def test_secrets_apart_share_nothing(tmp_path, drawn):
    edges = frame_of(example_id=[0, 1], secret_id=[0, 1])
    figures.secret_graph(edges, tables(2)[1], tmp_path / "a.png")
    assert [t.get_text() for t in drawn[0].subfigs[1].axes[0].texts] == ["–", "·", "·", "–"]


LOSSES = pl.DataFrame(
    [(n, step / 4, 3.0 + n / 10 - step / 10) for n in range(3) for step in range(1, 5 - 2 * (n == 2))],
    schema=["number", "share", "loss"],
    orient="row",
)


def points(best):
    return pl.DataFrame(
        {
            "number": [0, 1, 2, 3],
            "state": ["done", "done", "stopped", "refused"],
            "noise_per_step": [0.01, 0.1, 0.5, None],
            "loss": [2.6, 2.7, None, None],
            "own": [True, False, False, False],
            "recommended": [n == best for n in range(4)],
        }
    )


def nothing_played():
    return points(-1).with_columns(noise_per_step=pl.lit(None, pl.Float64), loss=pl.lit(None, pl.Float64))


def test_what_is_recommended_shows(tmp_path):
    one, other = (figures.rehearsed(points(n), LOSSES, tmp_path / f"{n}.png", unit="byte") for n in range(2))
    assert one.read_bytes() != other.read_bytes()
