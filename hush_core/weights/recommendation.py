"""Which c to take, out of a sweep: one rule, stated."""

from __future__ import annotations

import polars as pl

NEAR_BEST = 0.05
RULE = (
    "the most weight of examples with a secret for each unit of noise; "
    f"of the values within {NEAR_BEST:.0%} of the best, the one that keeps most; "
    "values whose noise drowns the training come last"
)
"""Small c: weight and noise fall together and nothing is gained by going lower. Large c: the noise continues
growing while little is left to keep. The rule stops in between, if the sweep reaches far enough down
(`goes_on_below`)."""
DECADE = (0.5, 0.2, 0.1)
LEAST_C = 1e-6
"""No sweep is extended below this."""


def recommended(frontier: pl.DataFrame) -> int | None:
    """The row to take by RULE; None if no row has a certified noise multiplier.

    Args:
        frontier: protected_retained, noise_multiplier (null if none is certified) and, if known, drowned
            (`drowns`).
    """
    rows = frontier.with_row_index("row").filter(pl.col("noise_multiplier") > 0)
    if rows.is_empty():
        return None
    if "drowned" in rows.columns and not rows["drowned"].fill_null(False).all():
        rows = rows.filter(~pl.col("drowned").fill_null(False))
    value = pl.col("protected_retained") / pl.col("noise_multiplier")
    near = rows.filter(value >= (1 - NEAR_BEST) * value.max())
    return int(near.sort("protected_retained", "row", descending=[True, False])["row"][0])


def goes_on_below(frontier: pl.DataFrame) -> tuple[float, ...]:
    """Further values of c to try, a decade below the sweep; empty if the best is inside it, or it is long enough.

    Args:
        frontier: as of `recommended`, and c. The best by RULE is inside the sweep in one of two cases. A smaller c
            gives clearly less weight for each unit of noise, or leaves too little to train on. Or a whole decade
            below gives no more.
    """
    place = recommended(frontier)
    if place is None:
        return ()
    chosen = frontier.row(place, named=True)
    value = pl.col("protected_retained") / pl.col("noise_multiplier")
    best = chosen["protected_retained"] / chosen["noise_multiplier"]
    below = frontier.filter((pl.col("c") < chosen["c"]) & (value < (1 - NEAR_BEST) * best))
    least = float(frontier["c"].min())
    # a smaller c that leaves too little to draw a batch from is an end, too
    ended = frontier.filter((pl.col("c") < chosen["c"]) & pl.col("noise_multiplier").is_null())
    if (
        below.height
        or ended.height
        or chosen["c"] >= 10 * float(frontier.drop_nulls("noise_multiplier")["c"].min())
    ):
        return ()
    return tuple(least * part for part in DECADE if least * part >= LEAST_C)


def drowns(noise_multiplier: float, *, rounds: int, expected_batch: int, parameters: int) -> bool:
    """Whether the noise of all rounds is longer than the longest possible sum of their gradients.

    T averaged gradients, each of at most the clip norm C, add up to T·C at most; the noise on their sum has length
    √T·(σC/B)·√d for d parameters. So from σ/B ≥ √(T/d) on, noise drowns even rounds that all point the same way.

    Args:
        noise_multiplier: σ. rounds: T. expected_batch: B. parameters: d, those that are trained.
    """
    return noise_multiplier / expected_batch >= (rounds / parameters) ** 0.5
