"""What a round draws: items. Each is public, a slot; which text fills it is protected (docs/mechanisms.md).

An item is named by one example, whose weight is its own; its tags are the edges of that example. Where an item may
hold the text of other examples, its *pool*, the graph is lifted: the item is tagged with every secret that any
example of the pool holds. So bounds, certificate and verification read the graph of items as they read any graph.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.config import (
    RANKED,
    CorrelatedMechanism,
    DpSgdMechanism,
    DroppingMechanism,
    GroupPrivacyMechanism,
    MechanismConfig,
    RedactionMechanism,
    UserWiseMechanism,
)
from hush_core.errors import InputError
from hush_core.mechanisms.unit_pools import bounded_choice, lifted_edges, profiles, unit_pools
from hush_core.weights.roles import CERTIFIED, certified_edges, tagged_examples

POOLS = {"example_id": pl.UInt32, "pool": pl.UInt32}


@dataclass(frozen=True, eq=False)
class Items:
    """The items of a mechanism without a program: a function of the graph and the config alone.

    Attributes:
        weights: (n,) by example_id: 1 for an example that names an item, else 0.
        edges: example_id, secret_id, reason: the graph of items; those of the examples, and the lifted ones.
        pools: POOLS, sorted: whose text the items may hold that examples of the same pool name; an example that is
            in no pool names an item of its own text, or none. None: there are no pools.
        used: (n,) float64: the share of each pool's examples that its items hold or, over the rounds, may hold.
        most: (m,) by secret_id, the most items that the mechanism lets hold a secret; inf without such a rule.
    """

    weights: np.ndarray
    edges: pl.DataFrame
    pools: pl.DataFrame | None
    used: np.ndarray
    most: np.ndarray


def items_of(
    mechanism: MechanismConfig, edges: pl.DataFrame, secrets: pl.DataFrame, roles: pl.Series
) -> Items:
    """The items of a mechanism (not of `hush`, whose weights are a program's).

    Args:
        edges: example_id, secret_id, reason; sorted. secrets: secret_id, kind. roles: (n,) `ROLE`.

    Guarantee: equal arguments give equal items; no text is looked at. Edges that are those of items already give
    the same items again, so anyone with a certificate can recompute the items.
    """
    certified = (roles == CERTIFIED).to_numpy()
    tagged = tagged_examples(edges, len(roles))
    drawn = certified_edges(edges, roles)
    no_limit = np.full(secrets.height, np.inf)
    match mechanism:
        case DpSgdMechanism() | CorrelatedMechanism():
            return Items(certified.astype(np.float64), edges, None, certified.astype(np.float64), no_limit)
        case DroppingMechanism() | RedactionMechanism():
            kept = (certified & ~tagged).astype(np.float64)
            return Items(kept, edges, None, kept, np.zeros(secrets.height))
        case GroupPrivacyMechanism():
            slots = bounded_choice(drawn, len(roles), mechanism.records)
            weights = (slots | (certified & ~tagged)).astype(np.float64)
            most = np.full(secrets.height, float(mechanism.records))
            if mechanism.examples_by_themselves:
                return Items(weights, edges, None, weights, most)
            pools = _with_an_item(profiles(drawn), weights)
            return Items(weights, edges, pools, _used(weights, pools, 1), most)
        case UserWiseMechanism():
            pools = unit_pools(drawn, secrets)
            weights = certified.astype(np.float64)
            weights[pools["example_id"].to_numpy()] = 0.0
            weights[pools.group_by("pool").agg(pl.col("example_id").min())["example_id"].to_numpy()] = 1.0
            held = mechanism.records if mechanism.select in RANKED else len(roles)
            return Items(weights, lifted_edges(edges, pools), pools, _used(weights, pools, held), no_limit)
    raise InputError(
        f"mechanism {mechanism.kind}", "has no rule for items",
        "hush draws by the weights of a program, `lay_out`; for any other add one to `items_of`",
    )  # fmt: skip


def rates_of_texts(rates: np.ndarray, pools: pl.DataFrame | None) -> np.ndarray:
    """(n,) by example_id: for each text the rate of the items that may hold it; of what no item may hold, 0.

    A round draws no more items that hold a secret's text than so many texts drawn at these rates would be, in
    stochastic order (docs/mechanisms.md, Proposition M5).
    """
    if pools is None:
        return rates
    found = rates.copy()
    ids, pool = pools["example_id"].to_numpy(), pools["pool"].to_numpy()
    largest = np.zeros(1 + int(pool.max(initial=0)))
    np.maximum.at(largest, pool, rates[ids])
    found[ids] = largest[pool]
    return found


def drawn_items(edges: pl.DataFrame, pools: pl.DataFrame, rates: np.ndarray) -> pl.DataFrame:
    """example_id (the item) · secret_id · rate of every item that is drawn, by the secrets that it is tagged with.

    Args:
        edges: of the examples, or of the items. rates: (n,) of the items, by the examples that name them.
    """
    tagged = lifted_edges(edges, pools).select("example_id", "secret_id")
    return tagged.with_columns(rate=pl.Series(rates[tagged["example_id"].to_numpy()])).filter(
        pl.col("rate") > 0
    )


def _with_an_item(pools: pl.DataFrame, weights: np.ndarray) -> pl.DataFrame:
    """The pools without those that no item is named from."""
    named = pools.filter(pl.Series(weights[pools["example_id"].to_numpy()] > 0))["pool"].unique()
    return pools.filter(pl.col("pool").is_in(named.implode()))


def _used(weights: np.ndarray, pools: pl.DataFrame, held: int) -> np.ndarray:
    """`held`: examples that one item holds, where its pool has so many."""
    used = weights.copy()
    ids, pool = pools["example_id"].to_numpy(), pools["pool"].to_numpy()
    items, members = np.bincount(pool, weights[ids]), np.bincount(pool)
    with np.errstate(invalid="ignore"):
        used[ids] = np.minimum(items * held / members, 1.0)[pool]
    return used
