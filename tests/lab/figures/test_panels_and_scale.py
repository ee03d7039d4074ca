"""Pictures of the laboratory's pages: panels of curves, and seconds over the number of secrets."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from legible import drawn_pages, flaws

from lab import figures


def panel(count: int, gaps: bool = False) -> figures.Panel:
    """Squares with an interval, and points; every second one is missing where there are gaps."""
    x = list(range(1, count + 1))
    squares = [None if gaps and i % 2 == 0 else float(i * i) for i in x]
    ours = figures.Curve("ours", x, squares, [i - 1.0 for i in x], [i * i + 1.0 for i in x])
    theirs = figures.Curve("theirs", x, [float(i) for i in x], points=True)
    return figures.Panel(
        "squares", "x", "y", [ours, theirs], (("seven", 7.0),), ylim=(0, None), diagonal=True
    )


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


DRAWINGS = {
    "panels": lambda path: figures.draw_panels("Two", [panel(5), panel(3)], path),
    "panels, one, with gaps": lambda path: figures.draw_panels("One", [panel(5, gaps=True)], path),
    "scale": lambda path: figures.certificate_scale(*seconds(5), path),
    "scale, one": lambda path: figures.certificate_scale(*seconds(1), path),
    "scale, none": lambda path: figures.certificate_scale(*seconds(0), path),
}


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS.keys())
def test_every_picture_can_be_read_and_is_drawn_the_same_twice(draw, tmp_path, monkeypatch):
    pages = drawn_pages(monkeypatch)
    first, second = draw(tmp_path / "a.png"), draw(tmp_path / "b.png")
    assert flaws(pages[0]) == [] and first.read_bytes() == second.read_bytes()


@pytest.mark.slow
def test_panels_share_styles_by_label_leave_gaps_out_and_draw_levels(tmp_path, monkeypatch):
    drawn = drawn_pages(monkeypatch)
    figures.draw_panels("Two", [panel(5, gaps=True), panel(3)], tmp_path / "a.png")
    left, right = drawn[0].axes
    level, ours, theirs, diagonal = left.get_lines()
    assert list(level.get_ydata()) == [7.0, 7.0] and diagonal.get_label() == "y = x"
    assert list(ours.get_xdata()) == [1, 3, 5] and list(ours.get_ydata()) == [1, 9, 25]
    assert theirs.get_linestyle() == "None"
    assert [line.get_color() for line in (ours, theirs)] == [
        line.get_color() for line in right.get_lines()[1:3]
    ]
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
