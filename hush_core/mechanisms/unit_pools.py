"""User-wise DP-SGD's items: whole units, each with all of its examples as its pool.

Units are the secrets of kind `unit` or, in a graph without any, all secrets. An example of several units is in the
pool of one of them: that with the most examples, and the first of several such. The others are tagged in that item
as well. So a unit may be in several items: its own and at most one for every larger or equal unit with which it
shares an example (docs/mechanisms.md, Proposition M4).

`bounded_choice` gives group privacy's items: at most k examples of every secret, chosen without looking at text.
Examples are gone through in an order that the number of examples alone decides, and each is taken unless one of its
secrets has k already. That works for examples with several owners (Ganesh et al. 2025 select so), and for one owner
it takes k of the unit's records at random (Chua et al. 2024, Algorithm 1, lines 4-7).
"""

import numpy as np
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
