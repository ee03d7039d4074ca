"""What a rehearsal shows: the predicted loss of every plan over its noise, and on the way there over compute."""

from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

from hush_core.figures.canvas import BLUE, GREEN, GREY, ORANGE, drawing

_LIGHT = "#c4c4c4"


def rehearsed(points: pl.DataFrame, curves: pl.DataFrame, path: Path, *, unit: str) -> Path:
    """Left the predicted loss against σ·C/B, the noise in one step (log scale); right the losses on the way.

    Args:
        points: number, state, noise_per_step (null: refused, not drawn), loss (null: not run to its end),
            recommended and own (bool: the config as it stands).
        curves: number, share (of the compute), loss.
        unit: what the losses in bits are counted per.
    """
    last = curves.sort("number", "share").group_by("number", maintain_order=True).last()
    drawn = points.join(last.select("number", pl.col("loss").alias("last")), on="number", how="left")
    drawn = drawn.with_columns(shown=pl.coalesce("loss", "last")).filter(pl.col("noise_per_step") > 0)
    drawn = drawn.filter(pl.col("shown").is_not_null())
    with drawing(path, height=4.4, columns=2) as (left, right):
        _scatter(left, drawn)
        left.set(xlabel="σ·C/B, noise in one step (log scale)", ylabel=f"bits per {unit} (less is better)")
        left.set_title("Predicted loss by noise")
        _curves(right, points, curves)
        right.set(xlabel="share of the compute")
        right.set_title("Losses on the way")
        right.xaxis.set_major_formatter(PercentFormatter(1.0))
        for axes, column in ((left, drawn["shown"]), (right, curves["loss"])):
            _limits(axes, drawn["shown"], column)
            axes.grid(axis="both")
        handles = {label: line for line, label in zip(*left.get_legend_handles_labels(), strict=True)}
        left.figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, fontsize=9)
    return path


def _scatter(axes: Axes, drawn: pl.DataFrame) -> None:
    kinds = (
        ("run to the end", pl.col("state") == "done", {"color": BLUE, "marker": "o", "ms": 6}),
        ("stopped, at its last loss", pl.col("state") != "done", {"color": GREY, "marker": "x", "ms": 6}),
        ("the config as it stands", pl.col("own"), {"color": ORANGE, "marker": "s", "ms": 8}),
        ("recommended", pl.col("recommended"), {"color": GREEN, "marker": "*", "ms": 17}),
    )
    for label, which, style in kinds:
        rows = drawn.filter(which)
        if rows.height:
            axes.plot(rows["noise_per_step"], rows["shown"], linestyle="none", label=label, **style)
    if drawn.height:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.text(0.5, 0.5, "no plan could be rehearsed", ha="center", transform=axes.transAxes)


def _curves(axes: Axes, points: pl.DataFrame, curves: pl.DataFrame) -> None:
    for row in points.sort("recommended", "own").iter_rows(named=True):
        line = curves.filter(pl.col("number") == row["number"]).sort("share")
        if not line.height:
            continue
        color, width = (GREEN, 2.5) if row["recommended"] else (ORANGE, 2.0) if row["own"] else (_LIGHT, 1.2)
        axes.plot(line["share"], line["loss"], color=color, linewidth=width)
        if row["state"] != "done":
            axes.plot(line["share"][-1], line["loss"][-1], "x", color=GREY, ms=6)


def _limits(axes: Axes, losses: pl.Series, shown: pl.Series) -> None:
    """From the best to a little above the middle ones: a plan that went wrong would flatten all others."""
    if losses.len() == 0:
        return
    low = min(float(losses.min()), float(shown.min()))
    high = float(losses.quantile(0.8))
    high = max(high, float(losses.median()), low + 1e-3)
    axes.set_ylim(low - 0.06 * (high - low), high + 0.25 * (high - low))
