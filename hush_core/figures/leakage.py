"""How many bits of a secret can leak: by its length, and by the number of rounds (docs/leakage.md)."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from hush_core.figures.canvas import BLUE, GREEN, GREY, ORANGE, drawing, legend_below

_CURVES = (
    ("absolute_bits", "usual bound, min h", {"color": ORANGE, "linestyle": (0, (5, 2))}),
    ("leakage_bits", "the paper's bound, L", {"color": BLUE, "linestyle": "-"}),
    ("tight_bits", "blow_up, tight", {"color": GREEN, "linestyle": (0, (1, 1)), "linewidth": 2.5}),
)
"""Columns of bits in both tables; null where a method certifies nothing."""


def leakage_by_length(table: pl.DataFrame, path: Path) -> Path:
    """Bits that leak against the secret's bits, one panel a noise multiplier; above the diagonal all of it leaks.

    Args:
        table: noise_multiplier, epsilon (for the title, one a noise multiplier), secret_bits, absolute_bits,
            leakage_bits, tight_bits.
    """
    panels = table.sort("noise_multiplier", "secret_bits").partition_by(
        "noise_multiplier", maintain_order=True
    )
    longest = float(table["secret_bits"].max() or 1.0)
    with drawing(path, height=3.8, columns=max(len(panels), 1)) as all_axes:
        for axes, rows in zip(all_axes, panels or [table], strict=True):
            axes.plot([0, longest], [0, longest], color=GREY, linewidth=1, label="all of the secret")
            axes.fill_between([0, longest], [0, longest], 2 * longest, color=GREY, alpha=0.12, linewidth=0)
            _curves(axes, rows, "secret_bits")
            if rows.height:
                sigma, epsilon = rows["noise_multiplier"][0], rows["epsilon"][0]
                axes.set_title(f"σ = {sigma:g}  (ε = {epsilon:.3g})", fontsize=10, fontweight="normal")
            axes.set(xlim=(0, longest), ylim=(0, 1.2 * longest), xlabel="length of the secret (bits)")
        all_axes[0].set_ylabel("leaks at most (bits)")
        # the most noise leaks the least, so that there the upper corner is free
        all_axes[-1].text(0.04 * longest, 1.17 * longest, "total leakage", color=GREY, fontsize=9, va="top")
        title = "Leakage of a secret, by its length"
        all_axes[0].figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        legend_below(all_axes[0], columns=4)
    return path


def leakage_by_rounds(
    table: pl.DataFrame, path: Path, *, secret_bits: float, paper_rounds: int | None = None
) -> Path:
    """Bits that leak of one secret against the number of rounds (log scale); above the line all of it leaks.

    Args:
        table: rounds, absolute_bits, leakage_bits, tight_bits. paper_rounds: a number of rounds to mark.
    """
    with drawing(path, height=4.0) as (axes,):
        rows = table.sort("rounds")
        first, last = (
            (float(rows["rounds"].min()), float(rows["rounds"].max())) if rows.height else (1.0, 10.0)
        )
        axes.set_xscale("log")
        axes.axhline(secret_bits, color=GREY, linewidth=1, label="all of the secret")
        axes.axhspan(secret_bits, 2 * secret_bits, color=GREY, alpha=0.12, linewidth=0)
        _curves(axes, rows, "rounds")
        if paper_rounds is not None:
            axes.axvline(
                paper_rounds, color=GREY, linestyle=":", label=f"the paper's {paper_rounds:,} rounds"
            )
        axes.text(first, 1.48 * secret_bits, "  total leakage", color=GREY, fontsize=9, va="top")
        axes.set(
            title=f"Leakage of a secret of {secret_bits:g} bits, by rounds",
            xlabel="rounds of training (log scale)",
            ylabel="leaks at most (bits)",
            xlim=(first, max(last, 1.01 * first)),
            ylim=(0, 1.5 * secret_bits),
        )
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        legend_below(axes, columns=3)
    return path


def _curves(axes: Axes, rows: pl.DataFrame, across: str) -> None:
    """The three bounds; one that leaves the picture at the top says nothing there."""
    for column, label, style in _CURVES:
        known = rows.drop_nulls(column)
        axes.plot(
            known[across].to_numpy(), known[column].to_numpy(), label=label, **{"linewidth": 2, **style}
        )
    axes.grid(axis="both")
