"""What the pictures share: style, colours, one figure written without a date, names and legends."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hush_core.figures.names import METHOD_LABELS as METHOD_LABELS
from hush_core.figures.names import short_name

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#767676"
WIDTH, DPI = 8.0, 120
MOST_ROWS = 40
"""A picture of more secrets than this cannot be read; the most telling ones are shown, and it says so."""
_STYLE = {
    "font.size": 10,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
}


@contextmanager
def drawing(path: Path, *, height: float, columns: int = 1) -> Iterator[tuple[Axes, ...]]:
    """Axes to draw on; saved on leaving, without a date or a version, under a style of our own."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        page = Figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained")
        canvas = FigureCanvasAgg(page)
        yield tuple(page.subplots(1, columns, squeeze=False)[0])
        canvas.print_png(path, metadata={"Software": None})  # savefig draws once more, to lay out


def height_of(rows: pl.DataFrame) -> float:
    """Inches for one line a row, title and legend included."""
    return 1.9 + 0.26 * max(rows.height, 3)


def title_of(text: str, shown: pl.DataFrame, rows: pl.DataFrame, which: str) -> str:
    """The title, saying so where not all rows are shown."""
    if shown.height == rows.height:
        return text
    return f"{text}\n(the {shown.height} {which}, of {rows.height:,})"


def name_rows(axes: Axes, rows: pl.DataFrame) -> None:
    """One secret a row, the first on top, named on the left."""
    names = [n if len(n) <= 40 else f"{n[:24]}…{n[-15:]}" for n in map(short_name, rows["name"])]
    # a name may hold a dollar sign, which would start a formula
    axes.set_yticks(np.arange(rows.height), [n.replace("$", r"\$") for n in names], fontsize=9)
    axes.set_ylim(max(rows.height, 1) - 0.5, -0.5)
    axes.grid(axis="both")


def legend_below(axes: Axes, columns: int) -> None:
    """The legend under the axes, where it hides nothing."""
    axes.figure.legend(
        *axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=9
    )
