"""User-wise DP-SGD's items: whole units, each with all of its examples as its pool.

Units are the secrets of kind `unit` or, in a graph without any, all secrets. An example of several units is in the
pool of one of them: that with the most examples, and the first of several such. The others are tagged in that item
as well. So a unit may be in several items: its own and at most one for every larger or equal unit with which it
shares an example (docs/mechanisms.md, Proposition M4).
"""

from __future__ import annotations

import polars as pl

UNIT = "unit"
LIFTED = "pool"
"""The reason of an edge that an item has for the sake of another example of its pool."""
TAGGED = "tagged"
"""What is published in place of any other reason."""


def without_reasons(edges: pl.DataFrame) -> pl.DataFrame:
    """The edges as they are published: the form in which a secret was recognised reveals some of the tagged
    text."""
    kept = pl.when(pl.col("reason") == LIFTED).then(pl.lit(LIFTED)).otherwise(pl.lit(TAGGED))
    return edges.with_columns(reason=kept)


def unit_pools(edges: pl.DataFrame, secrets: pl.DataFrame) -> pl.DataFrame:
    """example_id · pool: every example of a unit, sorted; a pool is numbered as its unit is.

    Args:
        edges: example_id, secret_id, reason; lifted ones are left out. secrets: secret_id, kind.
    """
    pairs = edges.filter(pl.col("reason") != LIFTED).select("example_id", "secret_id")
    units = secrets.filter(pl.col("kind") == UNIT)["secret_id"]
    if len(units):
        pairs = pairs.filter(pl.col("secret_id").is_in(units.implode()))
    owned = pairs.with_columns(pl.len().over("secret_id").alias("records"))
    owned = owned.sort("example_id", "records", "secret_id", descending=[False, True, False])
    first = owned.unique("example_id", keep="first", maintain_order=True)
    return first.select("example_id", pool="secret_id")


def lifted_edges(edges: pl.DataFrame, pools: pl.DataFrame) -> pl.DataFrame:
    """The edges of the examples, and for each pool all of its secrets at the example that names it: its first.

    Columns as `edges`, sorted by example and secret; each pair once, with the reason of the example's own edge
    where it has one.
    """
    own = edges.filter(pl.col("reason") != LIFTED)
    names = pools.group_by("pool").agg(pl.col("example_id").min().alias("name"))
    members = pools.join(names, on="pool").select("example_id", "name")
    lifted = (
        own.join(members, on="example_id")
        .select(pl.col("name").alias("example_id"), "secret_id", pl.lit(LIFTED).alias("reason"))
        .unique(["example_id", "secret_id"])
        .join(own.select("example_id", "secret_id"), on=["example_id", "secret_id"], how="anti")
    )
    return pl.concat([own, lifted.select(own.columns)]).sort("example_id", "secret_id")
