"""Weights: what the linear program keeps of the examples."""

from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.ticker import PercentFormatter

from hush_core.figures.canvas import BLUE, GREY, drawing

NO_SECRET, WITHOUT_NOISE = "no secret", "no secret: trained\non without noise"


def weights_retained(weights: pl.DataFrame, edges: pl.DataFrame, secrets: pl.DataFrame, path: Path) -> Path:
    """What the linear program keeps: weights of the examples with a secret, and the share kept by kind.

    Args:
        weights: example_id, weight in [0, 1], role. edges: example_id, secret_id. secrets: secret_id, kind.
    """
    drawn = weights.filter(pl.col("role") == "certified")
    held = edges.join(secrets.select("secret_id", "kind"), on="secret_id").join(drawn, on="example_id")
    with_secret = held.unique("example_id")["weight"].to_numpy()
    by_kind = (
        held.unique(["example_id", "kind"])
        .group_by("kind")
        .agg(pl.col("weight").mean(), pl.len().alias("examples"))
        .sort("kind")
    )
    free = drawn.join(edges.select("example_id").unique(), on="example_id", how="anti")["weight"]
    rows = [*by_kind.iter_rows()]
    if len(free):
        rows.append((NO_SECRET, float(free.mean()), len(free)))
    if plain := weights.filter(pl.col("role") == "plain").height:
        rows.append((WITHOUT_NOISE, 1.0, plain))
    total = float(weights["weight"].sum()) / max(len(with_secret) + len(free), 1)

    with drawing(path, height=1.7 + 0.42 * max(len(rows), 4), columns=2) as (left, right):
        left.hist(with_secret, bins=np.linspace(0, 1, 21), color=BLUE, edgecolor="white")
        left.set(
            title="Examples with a secret", xlabel="weight (0: never drawn, 1: as any other)",
            ylabel="examples", xlim=(0, 1),
        )  # fmt: skip
        left.grid(axis="y")
        shares = [share for _, share, _ in rows]
        colors = [GREY if kind in (NO_SECRET, WITHOUT_NOISE) else BLUE for kind, _, _ in rows]
        right.barh([f"{kind}\n({n:,} examples)" for kind, _, n in rows], shares, color=colors, height=0.6)
        for place, share in enumerate(shares):
            right.text(share + 0.02, place, _percent(share), va="center", fontsize=9)
        right.set(
            title=f"Weight retained: {_percent(total)}",
            xlabel="share of the weight, by kind of secret",
            xlim=(0, 1.22),
        )
        right.set_xticks(np.linspace(0, 1, 5))
        right.xaxis.set_major_formatter(PercentFormatter(1.0))
        right.invert_yaxis()
        right.grid(axis="x")
    return path


def _percent(share: float) -> str:
    """Never rounds a loss away: 99.96 % is not shown as 100 %."""
    text = f"{100 * share:.1f} %"
    return "under 100 %" if text == "100.0 %" and share < 1 else text.replace("100.0", "100")
