"""The picture of loss by setting: what is on it, read from the axes; the same bytes for the same table."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest
from PIL import Image

from lab import figures
from lab.figures import utility


def table() -> pl.DataFrame:
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


@pytest.fixture
def drawn(monkeypatch):
    """The axes of the last picture."""
    kept = []
    real = utility.drawing

    @contextmanager
    def drawing(*args, **kwargs):
        with real(*args, **kwargs) as axes:
            kept.extend(axes)
            yield axes

    monkeypatch.setattr(utility, "drawing", drawing)
    return kept


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rows", [5, 4, 3, 1, 0])
def test_it_is_drawn_the_same_twice(rows, tmp_path):
    for name in ("a.png", "b.png"):
        path = figures.utility_against_noise(table().head(rows), tmp_path / name)
        assert path == tmp_path / name
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    with Image.open(tmp_path / "a.png") as image:
        assert image.format == "PNG"
        assert image.width == 960
        assert 200 <= image.height <= 2000


def test_each_setting_is_a_point_with_its_interval_on_its_own_line(drawn, tmp_path):
    figures.utility_against_noise(table(), tmp_path / "a.png")
    (axes,) = drawn
    points = {}
    for bar in axes.containers:
        line, _, (interval,) = bar.lines
        for (x, y), ends in zip(line.get_xydata().tolist(), interval.get_segments(), strict=True):
            points[y] = (x, *ends[:, 0], line.get_color())
    for place, row in enumerate(table().iter_rows(named=True)):
        x, low, high, color = points[place]
        np.testing.assert_allclose((x, low, high), (row["bits_per_byte"], row["low"], row["high"]))
        assert color == utility._STYLES[row["kind"]]["color"]
        name = axes.get_yticklabels()[place].get_text()
        noise = row["noise_multiplier"]
        assert name == (row["setting"] if noise is None else f"{row['setting']}, σ = {noise:#.3g}")
    assert len(points) == table().height
    top, bottom = axes.get_ylim()[::-1]
    assert top < 0 < table().height - 1 < bottom, "the first setting is on top"


@pytest.mark.slow
def test_the_loss_before_the_certified_rounds_is_marked_where_there_is_one(drawn, tmp_path):
    figures.utility_against_noise(table(), tmp_path / "a.png")
    figures.utility_against_noise(table().head(3), tmp_path / "b.png")
    with_it, without = (
        [line for line in axes.get_lines() if line.get_label() == "before its certified rounds"]
        for axes in drawn
    )
    assert [line.get_xydata().tolist() for line in with_it] == [[[2.37, 3.0]]]
    assert without == []
