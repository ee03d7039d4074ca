"""The picture of loss against noise: what is on it, read from the axes; the same bytes for the same table."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest
from PIL import Image

from hush_core import figures
from hush_core.figures import utility


def table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "setting": ["start", "kl", "kl, program", "ours", "non-private"],
            "noise_multiplier": [None, 68.5, 16.6, 0.9, None],
            "bits_per_byte": [2.5, 2.49, 2.48, 2.3, 2.2],
            "low": [2.45, 2.44, 2.43, 2.25, 2.15],
            "high": [2.55, 2.54, 2.53, 2.36, 2.25],
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


def test_each_private_setting_is_a_point_with_its_interval(drawn, tmp_path):
    figures.utility_against_noise(table(), tmp_path / "a.png")
    (axes,) = drawn
    private = table().drop_nulls("noise_multiplier")
    assert len(axes.containers) == private.height
    for bar, row in zip(axes.containers, private.iter_rows(named=True), strict=True):
        point, _, (interval,) = bar.lines
        assert point.get_xydata().tolist() == [[row["noise_multiplier"], row["bits_per_byte"]]]
        ends = interval.get_segments()[0]
        np.testing.assert_allclose(ends[:, 1], [row["low"], row["high"]])
        assert row["setting"] in bar.get_label()
        assert f"{row['bits_per_byte']:.3f}" in bar.get_label()
    styles = {(b.lines[0].get_color(), b.lines[0].get_marker()) for b in axes.containers}
    assert len(styles) == private.height
    low, high = axes.get_xlim()
    assert low < 0.9
    assert high > 68.5
    assert axes.get_xscale() == "log"


def test_settings_without_noise_are_lines_across(drawn, tmp_path):
    figures.utility_against_noise(table(), tmp_path / "a.png")
    (axes,) = drawn
    lines = [line for line in axes.get_lines() if line.get_linewidth() == 2 and len(line.get_xdata()) == 2]
    across = {line.get_label(): line.get_ydata() for line in lines}
    assert {label: list(y) for label, y in across.items()} == {
        "start (2.500)": [2.5, 2.5],
        "non-private (2.200)": [2.2, 2.2],
    }
