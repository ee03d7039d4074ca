"""What is learned by heart over the noise, and how often a secret of a really trained model is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from hush_core.figures.canvas import BLUE, GREEN, GREY, ORANGE, drawing


def memorised_over_noise(table: pl.DataFrame, path: Path) -> Path:
    """Left: shares of texts that come out by k-extraction. Right: how often a value is named, certified above.

    Args:
        table: noise_multiplier (rows from left to right, evenly spaced) and, each with _low and _high, memorised
            (of random texts), counting (of texts that the start model goes on with too), difference (from the
            start model, all texts), real (values named); by_start, counting_by_start, certified, worst_case, prior.
    """
    rows = table.sort("noise_multiplier")
    places = np.arange(rows.height)
    with drawing(path, height=4.6, columns=2) as (left, right):
        _points(left, rows, "memorised", BLUE, "o", "random texts", -0.08)
        _points(left, rows, "counting", ORANGE, "s", "texts that count on", 0.08)
        _points(left, rows, "difference", GREEN, "d", "all, less the start model", 0.0)
        for name, colour, words in (
            ("by_start", BLUE, "random, by the start model"), ("counting_by_start", ORANGE, "counting, by it"),
        ):  # fmt: skip
            left.plot(places, rows[name], ":", color=colour, linewidth=1.5, label=words)
        left.set(title="Comes out word for word", ylabel="share of the texts", ylim=(-0.65, 1.05))
        right.plot(places, rows["certified"], color=GREEN, linewidth=2, label="certified: at most")
        right.plot(
            places,
            rows["worst_case"],
            "--",
            color=ORANGE,
            linewidth=2,
            label="best guess at every noisy step",
        )
        _points(right, rows, "real", BLUE, "o", "named by the trained model", 0.0)
        right.plot(places, rows["prior"], ":", color=GREY, label="blind guess")
        right.set(title="How often the secret is named", ylim=(0, 1.05))
        names = ["none" if one < 1e-3 else f"{one:.3g}" for one in rows["noise_multiplier"]]
        for axes in (left, right):
            axes.set_xticks(places, names)
            axes.set_xlabel("noise multiplier")
            axes.grid(axis="both")
        handles, labels = (
            [*one, *two]
            for one, two in zip(*(a.get_legend_handles_labels() for a in (left, right)), strict=True)
        )
        left.figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    return path


def _points(
    axes: Axes, rows: pl.DataFrame, name: str, colour: str, marker: str, label: str, aside: float
) -> None:
    middle = rows[name].to_numpy()
    ends = np.stack([middle - rows[f"{name}_low"].to_numpy(), rows[f"{name}_high"].to_numpy() - middle])
    axes.errorbar(
        np.arange(rows.height) + aside, middle, yerr=np.maximum(ends, 0.0), fmt=marker, ms=5, color=colour,
        capsize=2, label=label,
    )  # fmt: skip
