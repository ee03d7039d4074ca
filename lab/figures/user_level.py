"""Group privacy beside user-wise DP-SGD: the loss by ε, one line for each number of records k."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from matplotlib.axes import Axes

from hush_core.figures.canvas import BLUE, GREEN, GREY, ORANGE, drawing

TITLES = {"group_privacy": "Group privacy", "user_wise": "User-wise DP-SGD"}
_LINES = ((ORANGE, "o", "-"), (BLUE, "s", "--"), (GREEN, "^", ":"), (GREY, "D", "-."))


def loss_by_records(rows: pl.DataFrame, path: Path) -> Path:
    """Two panels of one scale; where there is no noise, ε = ∞, at the right end.

    Args:
        rows: kind (`TITLES`), records, epsilon (null: no noise), bits, half_width (null: of one seed).
    """
    places = {epsilon: i for i, epsilon in enumerate(sorted(set(rows["epsilon"].drop_nulls().to_list())))}
    with drawing(path, height=4.0, columns=2) as panels:
        for axes, (kind, title) in zip(panels, TITLES.items(), strict=True):
            _panel(axes, rows.filter(pl.col("kind") == kind), places)
            axes.set(title=title, xlabel="ε of a user")
            axes.set_xticks(range(len(places) + 1), [*(f"{one:g}" for one in places), "∞"])
            axes.grid(axis="y")
            if axes.get_legend_handles_labels()[0]:
                axes.legend(fontsize=9)
        low, high = (pick(axes.get_ylim()[i] for axes in panels) for i, pick in enumerate((min, max)))
        for axes in panels:
            axes.set_ylim(low, high)
        panels[0].set_ylabel("bits per byte, held out (less is better)")
    return path


def _panel(axes: Axes, rows: pl.DataFrame, places: dict[float, int]) -> None:
    """Lines stand a little beside each other, so that no mark hides another."""
    counts = sorted(set(rows["records"].to_list()))
    for i, records in enumerate(counts):
        color, marker, line = _LINES[i % len(_LINES)]
        shown = rows.filter(pl.col("records") == records)
        beside = 0.06 * (i - (len(counts) - 1) / 2)
        x = [places.get(epsilon, len(places)) + beside for epsilon in shown["epsilon"]]
        points = sorted(
            zip(x, shown["bits"].to_list(), shown["half_width"].fill_null(0.0).to_list(), strict=True)
        )
        across, bits, half = zip(*points, strict=True)
        axes.errorbar(
            across, bits, yerr=half, color=color, marker=marker, linestyle=line, capsize=3, markersize=6,
            label=f"k = {records}",
        )  # fmt: skip
