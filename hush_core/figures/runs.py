"""What several runs come to: the bound of all together, run by run, and what keeping it costs in loss."""

from pathlib import Path

import polars as pl
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from hush_core.figures.canvas import BLUE, GREY, ORANGE, drawing, legend_below


def bound_by_run(runs: pl.DataFrame, path: Path, *, promised: int | None = None) -> Path:
    """The worst bound as a part of its target, by run: of all runs so far, and of each run alone.

    Args:
        runs: run (its number, counted from 1) · alone · together, which is null where nothing is promised of all.
        promised: for so many runs the targets are to hold.
    """
    title = "The bound nearest to its target, run by run"
    if lost := runs.filter(pl.col("together").is_null()).height:
        title += f"\n(nothing is promised of all after {lost} of {runs.height} runs)"
    with drawing(path, height=4.0) as (axes,):
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
        axes.set_xlim(0.5, last + 0.5)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(title=title, xlabel="run", ylabel="bound / target (log scale)")
        legend_below(axes, 4)
        axes.grid(axis="y")
    return path


def loss_by_runs(runs: pl.DataFrame, path: Path, *, unit: str) -> Path:
    """The predicted loss of the first of so many runs, whose targets hold over all of them.

    Args:
        runs: runs · loss_from_start · loss_from_previous (each run from the start, or from the model before), null
            where it could not be rehearsed.
    """
    ways = {
        "loss_from_start": ("each from the start", BLUE),
        "loss_from_previous": ("each from the model before", ORANGE),
    }
    with drawing(path, height=3.6) as (axes,):
        for column, (label, color) in ways.items():
            points = runs.select("runs", pl.col(column).cast(pl.Float64)).drop_nulls()
            axes.plot(points["runs"], points[column], "o-", color=color, label=label, ms=5)
        axes.set_xscale("log")
        axes.set_xticks(runs["runs"], [f"{number:,}" for number in runs["runs"]])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set(
            title="Predicted loss, by how many runs keep every target together",
            xlabel="runs (log scale)",
            ylabel=f"bits per {unit}",
        )
        axes.legend(loc="upper left")
        axes.grid()
    return path
