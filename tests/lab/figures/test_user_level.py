"""The picture of the loss by ε and k: what is on it, read from the axes; the same bytes for the same table."""

from __future__ import annotations

from contextlib import contextmanager

import polars as pl
import pytest
from PIL import Image

from lab import figures
from lab.figures import user_level


def table(kinds: tuple[str, ...] = ("group_privacy", "user_wise")) -> pl.DataFrame:
    rows = [
        {
            "kind": kind,
            "records": records,
            "epsilon": epsilon,
            "bits": 4.0 - (epsilon or 20.0) / 20 + records / 50 + (kind == "user_wise") / 10,
            "half_width": None if records == 2 else 0.05,
        }
        for kind in kinds
        for records in (10, 2)
        for epsilon in (8.0, None, 1.0)
    ]
    schema = {
        "kind": pl.String,
        "records": pl.Int64,
        "epsilon": pl.Float64,
        "bits": pl.Float64,
        "half_width": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema)


@pytest.fixture
def drawn(monkeypatch):
    """The axes of the last picture."""
    kept = []
    real = user_level.drawing

    @contextmanager
    def drawing(*args, **kwargs):
        with real(*args, **kwargs) as axes:
            kept.extend(axes)
            yield axes

    monkeypatch.setattr(user_level, "drawing", drawing)
    return kept


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kinds", [("group_privacy", "user_wise"), ("user_wise",), ()])
def test_it_is_drawn_the_same_twice(kinds, tmp_path):
    for name in ("a.png", "b.png"):
        assert figures.loss_by_records(table(kinds), tmp_path / name) == tmp_path / name
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    with Image.open(tmp_path / "a.png") as image:
        assert image.format == "PNG" and image.width == 960


@pytest.mark.slow
def test_each_mechanism_has_a_panel_and_no_noise_stands_at_the_right(drawn, tmp_path):
    figures.loss_by_records(table(), tmp_path / "a.png")
    for axes, kind in zip(drawn, ("group_privacy", "user_wise"), strict=True):
        assert axes.get_title(loc="left") == user_level.TITLES[kind]
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "8", "∞"]
        lines = {container.get_label(): container[0] for container in axes.containers}
        assert sorted(lines) == ["k = 10", "k = 2"]
        for records in (2, 10):
            line = lines[f"k = {records}"]
            assert [round(x) for x in line.get_xdata()] == [0, 1, 2]
            rows = table().filter((pl.col("kind") == kind) & (pl.col("records") == records))
            by_epsilon = dict(rows.select("epsilon", "bits").iter_rows())
            assert list(line.get_ydata()) == pytest.approx([by_epsilon[e] for e in (1.0, 8.0, None)])
    assert drawn[0].get_ylim() == drawn[1].get_ylim()
