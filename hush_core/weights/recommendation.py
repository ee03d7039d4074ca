"""Which c to take, out of a sweep: one rule, stated."""

from __future__ import annotations

import polars as pl

NEAR_BEST = 0.05
RULE = (
    "the most weight of examples with a secret for each unit of noise; "
    f"of the values within {NEAR_BEST:.0%} of the best, the one that keeps most"
)
"""Small c: weight and noise fall together and nothing is gained by going lower. Large c: the noise goes on growing
while little is left to keep. The rule stops where the second begins."""


def recommended(frontier: pl.DataFrame) -> int | None:
    """The row to take by RULE; None where no row has a certified noise multiplier.

    Args:
        frontier: protected_retained, noise_multiplier (null where none is certified).
    """
    rows = frontier.select("protected_retained", "noise_multiplier").with_row_index("row")
    rows = rows.filter(pl.col("noise_multiplier") > 0)
    if rows.is_empty():
        return None
    value = pl.col("protected_retained") / pl.col("noise_multiplier")
    near = rows.filter(value >= (1 - NEAR_BEST) * value.max())
    return int(near.sort("protected_retained", "row", descending=[True, False])["row"][0])
