"""What the attack finds: the exposure of each secret with a value."""

import math
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from hush_core.figures.canvas import (
    BLUE,
    GREY,
    MOST_ROWS,
    ORANGE,
    drawing,
    height_of,
    legend_below,
    name_rows,
    title_of,
)


def exposure(
    protected: pl.DataFrame,
    unprotected: pl.DataFrame | None,
    path: Path,
    *,
    before: pl.DataFrame | None = None,
) -> Path:
    """How high each true value ranks among its alternatives, with and without protection.

    Exposure is log2(N + 1) − log2(rank), so a value that the model knows nothing about passes b bits with
    probability 2^−b; the line at 4.3 bits is where one secret in 20 lands by chance.

    Args:
        protected, unprotected: the tables of `hush_core.auditing.exposure`; `before`: that of the model before it
            read any protected text, which shows what a value's form alone gives away.
    """
    columns = ["secret_id", "exposure_bits", "extracted"]
    rows = protected.with_columns(ceiling=(pl.col("alternatives") + 1).log(2))
    if unprotected is not None:
        rows = rows.join(unprotected.select(columns), on="secret_id", how="left", suffix="_unprotected")
        order = "exposure_bits_unprotected"
    else:
        order = "exposure_bits"
    if before is not None:
        rows = rows.join(before.select(columns[:2]), on="secret_id", how="left", suffix="_before")
    rows = rows.sort([order, "secret_id"], descending=[True, False], nulls_last=True)
    shown = rows.head(MOST_ROWS)
    ceiling = float(shown["ceiling"].max() or 1.0)
    with drawing(path, height=height_of(shown)) as (axes,):
        places = np.arange(shown.height)
        bits = shown["exposure_bits"].to_numpy()
        if unprotected is not None:
            unprotected_bits = shown["exposure_bits_unprotected"].to_numpy()
            axes.hlines(places, bits, unprotected_bits, color="#bbbbbb", linewidth=1.5)
            axes.plot(unprotected_bits, places, "s", color=ORANGE, ms=7, label="unprotected")
            _mark_extracted(axes, unprotected_bits, shown["extracted_unprotected"])
        if before is not None:
            axes.plot(
                shown["exposure_bits_before"].to_numpy(),
                places,
                "x",
                color=GREY,
                ms=7,
                label="before the rounds",
            )
        axes.plot(bits, places, "o", color=BLUE, ms=7, label="protected")
        _mark_extracted(axes, bits, shown["extracted"], label="value extracted word for word")
        axes.axvline(math.log2(20), color=GREY, linestyle=":", label="1 in 20 by chance")
        axes.axvline(ceiling, color=GREY, linestyle="--", label="ranked first")
        axes.set(
            title=title_of("Exposure of each secret with a value", shown, rows, "most exposed"),
            xlabel="exposure in bits (0: ranked last among its alternatives)",
            xlim=(-0.03 * ceiling, 1.05 * ceiling),
        )
        name_rows(axes, shown)
        legend_below(axes, columns=3)
    return path


def _mark_extracted(axes: Axes, bits: np.ndarray, extracted: pl.Series, label: str | None = None) -> None:
    which = np.flatnonzero(extracted.fill_null(False).to_numpy())
    axes.plot(bits[which], which, "o", mfc="none", mec="black", ms=13, mew=1.6, label=label)
