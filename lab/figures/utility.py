"""What noise costs in use: the loss of models trained under the same promise, and of those without one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from hush_core.figures.canvas import BLUE, GREEN, GREY, ORANGE, drawing, legend_below

_STYLES = {
    "ours": {"color": BLUE, "marker": "o", "label": "certified rounds by hush"},
    "other": {"color": ORANGE, "marker": "s", "label": "certified rounds by another method"},
    "none": {"color": GREY, "marker": "D", "label": "no noise"},
}
_BEFORE = {"marker": "|", "color": GREEN, "linestyle": "none", "markersize": 13, "markeredgewidth": 2}


def utility_against_noise(rows: pl.DataFrame, path: Path) -> Path:
    """Bits per byte on held-out text, one setting a line, with an interval; σ stands beside its name.

    Where training without noise came first, a bar shows the loss before the certified rounds.

    Args:
        rows: setting, kind (ours, other, none), noise_multiplier (null for kind none), bits_per_byte, low, high
            (the ends of an interval around it), before_certified (null where there is nothing to show).
    """
    with drawing(path, height=2.2 + 0.32 * max(rows.height, 3)) as (axes,):
        for kind, style in _STYLES.items():
            _points(axes, rows.with_row_index("place").filter(pl.col("kind") == kind), style)
        before = rows.with_row_index("place").drop_nulls("before_certified")
        if before.height:
            axes.plot(
                before["before_certified"], before["place"], label="before its certified rounds", **_BEFORE
            )
        axes.set_yticks(
            np.arange(rows.height), [_name(row) for row in rows.iter_rows(named=True)], fontsize=9
        )
        axes.set_ylim(max(rows.height, 1) - 0.5, -0.5)
        axes.set(title="Loss on held-out text", xlabel="bits per byte (less is better)")
        axes.margins(x=0.12)
        axes.grid(axis="both")
        if rows.height:
            legend_below(axes, columns=2)
    return path


def _points(axes: Axes, rows: pl.DataFrame, style: dict[str, str]) -> None:
    if rows.is_empty():
        return
    middle = rows["bits_per_byte"].to_numpy()
    ends = np.stack([middle - rows["low"].to_numpy(), rows["high"].to_numpy() - middle])
    axes.errorbar(
        middle, rows["place"], xerr=np.maximum(ends, 0.0), capsize=4, markersize=7, linestyle="none",
        zorder=2, **style,
    )  # fmt: skip
    for x, y in zip(middle, rows["place"], strict=True):
        axes.annotate(f"{x:.3f}", (x, y), xytext=(0, 6), textcoords="offset points", fontsize=8, ha="center")


def _name(row: dict) -> str:
    noise = row["noise_multiplier"]
    return row["setting"] if noise is None else f"{row['setting']}, σ = {noise:#.3g}".rstrip(".")
