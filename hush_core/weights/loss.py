"""Which secrets bind, which examples are lost, and why.

By complementary slackness an example whose weight is below 1 holds secrets with prices y_j, which sum to at least 1
if the objective is total weight. Its loss 1 − w_i is split over the secrets that bind, in proportion to their
prices. So the losses by secret add up to the whole.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hush_core.weights.roles import certified_edges
from hush_core.weights.weighing import Weighing

_NEAR = 1 - 1e-3
"""A load of so much of its capacity binds: so near a first-order method and the repair come."""


def lost_examples(weighing: Weighing, edges: pl.DataFrame) -> pl.DataFrame:
    """Every example with a secret and a weight below 1, most lost first.

    Columns: example_id · weight · secret_id (the one with the highest price: the main reason) · reasons (how many
    of its secrets have a price) · price (their sum; at least 1 if the objective is total weight, up to the solver's
    tolerance).
    """
    return (
        _shares(weighing, edges)
        .sort("example_id", "price", "secret_id", descending=[False, True, False])
        .group_by("example_id", maintain_order=True)
        .agg(
            pl.col("weight").first(),
            pl.col("secret_id").first(),
            (pl.col("price") > 0).sum().cast(pl.UInt32).alias("reasons"),
            pl.col("price").sum(),
        )
        .sort("weight", "example_id")
    )


def binding_secrets(weighing: Weighing, edges: pl.DataFrame) -> pl.DataFrame:
    """One row a secret, by secret_id.

    Columns: secret_id · examples · capacity · load (Σw of its examples) · binds · price (its dual value: weight
    that one more unit of capacity buys) · lost (weight lost for its sake; sums to all that is lost) · lost_examples
    (weight 0, this secret the main reason).
    """
    m = len(weighing.capacities)
    edges = certified_edges(edges, weighing.roles)
    example, secret = edges["example_id"].to_numpy(), edges["secret_id"].to_numpy()
    load = np.bincount(secret, weighing.weights[example], m)
    held = np.bincount(secret, minlength=m)
    shares = _shares(weighing, edges)
    lost = np.bincount(shares["secret_id"].to_numpy(), shares["lost"].to_numpy(), m)
    gone = lost_examples(weighing, edges).filter(pl.col("weight") == 0)["secret_id"].to_numpy()
    return pl.DataFrame(
        {
            "secret_id": np.arange(m, dtype=np.uint32),
            "examples": held.astype(np.uint32),
            "capacity": weighing.capacities,
            "load": load,
            "binds": (held > 0) & (load >= _NEAR * weighing.capacities),
            "price": weighing.prices,
            "lost": lost,
            "lost_examples": np.bincount(gone, minlength=m).astype(np.uint32),
        }
    )


def _shares(weighing: Weighing, edges: pl.DataFrame) -> pl.DataFrame:
    """One row for each secret of a lost example: example_id, secret_id, weight, price, lost (its share)."""
    weights = weighing.weights
    edges = certified_edges(edges, weighing.roles)
    pairs = edges.select("example_id", "secret_id")
    pairs = pairs.with_columns(pl.Series("weight", weights[pairs["example_id"].to_numpy()]))
    pairs = pairs.filter(pl.col("weight") < 1)
    secret = pairs["secret_id"].to_numpy()
    load = np.bincount(edges["secret_id"].to_numpy(), weights[edges["example_id"].to_numpy()])
    full = load[secret] / np.maximum(weighing.capacities[secret], 1e-300)
    # where a first-order solver left no price on any that binds, the fullest secrets are the reason
    price = np.where(full >= _NEAR, weighing.prices[secret], 0.0)
    pairs = pairs.with_columns(pl.Series("price", price), pl.Series("full", full))
    priced = pl.col("price").sum().over("example_id")
    part = pl.when(priced > 0).then(pl.col("price") / priced)
    part = part.otherwise(pl.col("full") / pl.col("full").sum().over("example_id"))
    return pairs.with_columns((part.fill_nan(1.0) * (1 - pl.col("weight"))).alias("lost")).drop("full")
