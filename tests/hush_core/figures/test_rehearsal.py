"""The picture of a rehearsal: the same bytes for the same tables, other ones where the choice is another."""

import polars as pl
from PIL import Image

from hush_core import figures

CURVES = pl.DataFrame(
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


def test_the_picture_is_a_function_of_its_tables(tmp_path):
    first, again, other = (
        figures.rehearsed(points(best), CURVES, tmp_path / f"{name}.png", unit="byte").read_bytes()
        for name, best in (("a", 0), ("b", 0), ("c", 1))
    )
    assert first == again != other
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.width == 960


def test_nothing_played_is_a_picture_too(tmp_path):
    none = points(-1).with_columns(noise_per_step=pl.lit(None, pl.Float64), loss=pl.lit(None, pl.Float64))
    empty = CURVES.clear()
    figures.rehearsed(none, empty, tmp_path / "a.png", unit="byte")
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.width == 960
