"""Rival mechanisms beside each other: what they lose on held-out text, and how much noise they take."""

import math
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from hush_core.figures.canvas import BLUE, GREY, ORANGE, drawing


def rivals(rows: pl.DataFrame, path: Path, *, unit: str) -> Path:
    """Left the mean loss with its interval over seeds, right the noise σC/B of a released number (log scale).

    Args:
        rows: rival, loss, half_width, effective_noise (null: unknown, or no noise), chosen, why (it failed).
        unit: what a loss in bits is counted per.
    """
    shown = rows.sort("loss", nulls_last=True, maintain_order=True)
    with drawing(path, height=1.6 + 0.36 * max(rows.height, 3), columns=2) as (left, right):
        for place, row in enumerate(shown.iter_rows(named=True)):
            color = ORANGE if row["chosen"] else BLUE
            if row["loss"] is None:
                left.text(0.02, place, "failed" if row["why"] else "no loss", color=GREY, va="center",
                          transform=left.get_yaxis_transform(), fontsize=9)  # fmt: skip
            else:
                left.errorbar(
                    row["loss"], place, xerr=row["half_width"] or 0, fmt="o", color=color, capsize=3
                )
            if row["effective_noise"]:
                right.plot(row["effective_noise"], place, "o", color=color)
            else:
                right.text(0.02, place, "no noise" if row["loss"] is not None else "", color=GREY, va="center",
                           transform=right.get_yaxis_transform(), fontsize=9)  # fmt: skip
        for axes in (left, right):
            _rows(axes, shown)
        right.set_yticklabels([])
        left.set(title="Loss on held-out text", xlabel=f"bits per {unit} (less is better)")
        right.set(title="Noise of a released number", xlabel="σC/B (log scale; less is better)")
        if shown["effective_noise"].drop_nulls().len():
            right.set_xscale("log")
            right.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
            right.xaxis.set_minor_formatter(NullFormatter())
            _two_ticks(right, shown)
    return path


def _rows(axes: Axes, shown: pl.DataFrame) -> None:
    """One rival a row, the best on top."""
    axes.set_yticks(range(shown.height), shown["rival"].to_list(), fontsize=9)
    axes.set_ylim(max(shown.height, 1) - 0.5, -0.5)
    axes.grid(axis="both")


def _two_ticks(axes: Axes, shown: pl.DataFrame) -> None:
    """Values within a decade would have one labelled tick or none."""
    known = shown["effective_noise"].drop_nulls()
    low, high = float(known.min()), float(known.max())  # type: ignore[arg-type]
    axes.set_xlim(low / 1.5, high * 1.5)
    if high / low < 10:
        axes.set_xticks([low, high] if high / low > 1.2 else [math.sqrt(low * high)])
