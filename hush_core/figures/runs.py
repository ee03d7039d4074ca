"""How the bound of all runs together grows, from run to run."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from hush_core.figures.canvas import BLUE, GREY, ORANGE, drawing


def bound_by_run(runs: pl.DataFrame, path: Path, *, promised: int | None = None) -> Path:
    """The worst bound as a part of its target, by run: of all runs so far, and of each run alone.

    Args:
        runs: run (its number, counted from 1) · alone · together, which is null where nothing is promised of all.
        promised: for so many runs the targets are to hold.
    """
    with drawing(path, height=3.6) as (axes,):
        for column, label, color in (
            ("together", "all runs so far", BLUE),
            ("alone", "each run alone", GREY),
        ):
            points = runs.select("run", column).drop_nulls().sort("run")
            axes.plot(points["run"], points[column], "o-", color=color, label=label, ms=5)
        axes.axhline(1.0, color=ORANGE, lw=2, label="target r")
        last = max([promised or 1, *runs["run"]])
        if promised:
            axes.axvline(promised, color=ORANGE, lw=1, ls=":", label=f"{promised} runs were promised")
        if lost := runs.filter(pl.col("together").is_null()).height:
            axes.text(0.99, 0.03, f"nothing is promised of all after {lost} of {runs.height} runs", ha="right",
                      transform=axes.transAxes, color=GREY)  # fmt: skip
        axes.set_xlim(0.5, last + 0.5)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(
            title="The bound nearest to its target, run by run",
            xlabel="run",
            ylabel="bound / target (log scale)",
        )
        axes.legend(loc="lower right")
        axes.grid(axis="y")
    return path
