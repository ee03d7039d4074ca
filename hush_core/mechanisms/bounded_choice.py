"""Group privacy's items: at most k examples of every secret, chosen without looking at text.

Examples are gone through in an order that the number of examples alone decides, and each is taken unless one of its
secrets has k already. That works for examples with several owners (Ganesh et al. 2025 select so), and for one owner
it takes k of the unit's records at random (Chua et al. 2024, Algorithm 1, lines 4-7).
"""

from __future__ import annotations

import numpy as np
import polars as pl

SEED = 17
"""Of the order. Public: which examples are taken may be published, as it depends on the graph alone."""


def bounded_choice(edges: pl.DataFrame, n_examples: int, records: int) -> np.ndarray:
    """(n,) bool: examples with a secret, at most `records` of every secret; none can be added.

    Args:
        edges: example_id, secret_id; each pair once.
    """
    pairs = edges.select("example_id", "secret_id").sort("example_id", "secret_id")
    examples, starts = np.unique(pairs["example_id"].to_numpy(), return_index=True)
    secrets = np.split(pairs["secret_id"].to_numpy(), starts[1:])
    order = np.random.default_rng(SEED).permutation(n_examples)
    place = np.full(n_examples, -1)
    place[examples] = np.arange(len(examples))
    taken = np.zeros(n_examples, dtype=bool)
    count = np.zeros(1 + int(pairs["secret_id"].max() or 0), dtype=np.int64)
    for example in order[place[order] >= 0]:
        held = secrets[place[example]]
        if np.all(count[held] < records):
            count[held] += 1
            taken[example] = True
    return taken


def profiles(edges: pl.DataFrame) -> pl.DataFrame:
    """example_id · pool: examples that hold the very same secrets are one pool; sorted by example.

    A slot may be filled from its pool by what the texts say, and still holds the secrets that its tags name.
    """
    held = (
        edges.sort("example_id", "secret_id")
        .group_by("example_id", maintain_order=True)
        .agg(pl.col("secret_id").cast(pl.String).str.join(" ").alias("held"))
    )
    names = held["held"].unique(maintain_order=True)
    table = pl.DataFrame({"held": names, "pool": np.arange(len(names), dtype=np.uint32)})
    return held.join(table, on="held", how="left", maintain_order="left").select("example_id", "pool")
