"""The certified posterior of each secret beside its prior and its target."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

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


def posterior_against_target(certificate: pl.DataFrame, secrets: pl.DataFrame, path: Path) -> Path:
    """Each secret's prior, certified bound and target; the ones closest to their target come first.

    Args:
        certificate: secret_id, prior, posterior (the target r_j), bound. secrets: secret_id, name.
    """
    rows = (
        certificate.join(secrets.select("secret_id", "name"), on="secret_id")
        .with_columns(ratio=pl.col("bound") / pl.col("posterior"))
        .sort(["ratio", "secret_id"], descending=[True, False])
    )
    shown = rows.head(MOST_ROWS)
    with drawing(path, height=height_of(shown)) as (axes,):
        places = np.arange(shown.height)
        prior, bound, target = (shown[c].to_numpy() for c in ("prior", "bound", "posterior"))
        axes.hlines(places, prior, bound, color=BLUE, linewidth=1.5, alpha=0.6)
        axes.plot(prior, places, "o", mfc="white", mec=GREY, ms=6, label="prior p: best guess before")
        axes.plot(bound, places, "o", color=BLUE, ms=6, label="certified bound: best guess after")
        axes.plot(target, places, "|", color=ORANGE, ms=13, mew=2.5, label="target r: the most allowed")
        axes.set_xscale("log")
        axes.set(
            title=title_of("Certified posterior of each secret", shown, rows, "closest to their target"),
            xlabel="probability that an adversary names the secret (log scale)",
        )
        name_rows(axes, shown)
        legend_below(axes, columns=3)
    return path
