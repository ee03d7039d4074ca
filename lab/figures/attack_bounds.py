"""The certificate above, attacks below: the tight attack over the noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from hush_core.figures.canvas import BLUE, GREEN, GREY, ORANGE, drawing, legend_below


def attack_against_bound(table: pl.DataFrame, path: Path) -> Path:
    """How often a secret is named, against the noise multiplier (log scale).

    Args:
        table: noise_multiplier, prior, certified, worst_case (the tight attack), real, real_low, real_high (the
            same guess on a model's own gradients, with its interval; null where it was not played).
    """
    with drawing(path, height=4.2) as (axes,):
        rows = table.sort("noise_multiplier")
        sigma = rows["noise_multiplier"].to_numpy()
        axes.semilogx(
            sigma, rows["certified"].to_numpy(), color=GREEN, linewidth=2, label="certified: at most"
        )
        axes.semilogx(
            sigma,
            rows["worst_case"].to_numpy(),
            "--",
            color=ORANGE,
            linewidth=2,
            label="attack, worst gradients",
        )
        played = rows.drop_nulls("real")
        if played.height:
            middle = played["real"].to_numpy()
            spans = [middle - played["real_low"].to_numpy(), played["real_high"].to_numpy() - middle]
            axes.errorbar(
                played["noise_multiplier"].to_numpy(),
                middle,
                yerr=spans,
                fmt="o",
                color=BLUE,
                capsize=3,
                label="attack, a model's own gradients",
            )
        axes.semilogx(sigma, rows["prior"].to_numpy(), ":", color=GREY, label="blind guess")
        axes.set(
            title="How often the secret is named",
            xlabel="noise multiplier",
            ylabel="probability",
            ylim=(0, 1),
        )
        _mark(axes, sigma)
        axes.grid(axis="both")
        legend_below(axes, columns=2)
    return path


def _mark(axes: Axes, sigma: np.ndarray) -> None:
    """The noise multipliers of the table on the axis, as plain numbers."""
    axes.set_xticks(sigma, [f"{one:.3g}" for one in sigma])
    axes.minorticks_off()
