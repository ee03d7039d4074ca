"""What a round draws: a function of the graph alone, bounded as the mechanism says, with every tag of its pool."""

import numpy as np
import polars as pl
import pytest
from item_graphs import ALL, GROUP, NO_NOISE, NOISY, USER, frames, name_of, shared_units
from sizes import seeds

from hush_core.config import HushMechanism, UserWiseMechanism
from hush_core.errors import InputError
from hush_core.mechanisms import items_of, rates_of_texts
from hush_core.weights import assign_roles, sampling_rates
from hush_core.weights.roles import CERTIFIED

SEEDS = seeds(8)


def pools_of(items, n):
    """By example: the examples whose text the item that it names may hold."""
    held = {i: {i} for i in range(n)}
    if items.pools is not None:
        members = dict(items.pools.group_by("pool").agg("example_id").iter_rows())
        held |= {i: set(members[p]) for i, p in items.pools.iter_rows()}
    return held


def secrets_of(edges):
    return {i: set(s) for i, s in edges.group_by("example_id").agg("secret_id").iter_rows()}


def held_by(items, m):
    """(m,) how many items hold each secret."""
    return np.bincount(
        items.edges["secret_id"].to_numpy(), items.weights[items.edges["example_id"].to_numpy()], minlength=m
    )


@pytest.mark.parametrize("mechanism", NOISY, ids=name_of)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_item_is_tagged_with_every_secret_of_its_pool(mechanism, seed):
    """Against sets, example by example; and one edge less is seen by this very check."""
    edges, secrets, roles = shared_units(seed)
    items = items_of(mechanism, edges, secrets, roles)
    own, pools = secrets_of(edges), pools_of(items, len(roles))

    def missing(graph):
        tags = secrets_of(graph)
        return [
            i for i in np.flatnonzero(items.weights).tolist()
            if not set().union(*(own.get(j, set()) for j in pools[i])) <= tags.get(i, set())
        ]  # fmt: skip

    assert not missing(items.edges)
    drawn = items.edges.with_row_index("row").filter(
        pl.Series(items.weights[items.edges["example_id"].to_numpy()] > 0)
    )
    for row in drawn["row"].to_list():
        assert missing(items.edges.with_row_index("row").filter(pl.col("row") != row))


@pytest.mark.parametrize("mechanism", ALL, ids=name_of)
@pytest.mark.parametrize("seed", SEEDS)
def test_items_of_items_are_the_same_items(mechanism, seed):
    """So a certificate, which has the graph of items, can lay them out anew."""
    edges, secrets, roles = shared_units(seed)
    items = items_of(mechanism, edges, secrets, roles)
    again = items_of(mechanism, items.edges, secrets, roles)
    assert np.array_equal(items.weights, again.weights) and items.edges.equals(again.edges)
    assert set(np.unique(items.weights)) <= {0.0, 1.0} and np.all(
        items.weights[(roles != CERTIFIED).to_numpy()] == 0
    )
    if items.pools is not None:
        assert items.pools.equals(again.pools)


@pytest.mark.parametrize("records", [1, 2, 5, 100])
@pytest.mark.parametrize("mechanism", GROUP, ids=name_of)
@pytest.mark.parametrize("seed", SEEDS[:3])
def test_group_privacy_takes_at_most_k_examples_of_every_secret_and_cannot_take_more(
    mechanism, seed, records
):
    edges, secrets, roles = shared_units(seed, share=0.5)
    mechanism = mechanism.model_copy(update={"records": records})
    items = items_of(mechanism, edges, secrets, roles)
    held = held_by(items, secrets.height)
    assert held.max() <= records
    own = secrets_of(edges)
    for example in np.flatnonzero(((roles == CERTIFIED).to_numpy()) & (items.weights == 0)):
        assert any(held[s] == records for s in own[example]), "one more example could be taken"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_unit_is_in_its_own_item_and_in_those_of_larger_units_that_share_with_it(seed):
    edges, secrets, roles = shared_units(seed, tokens=0, share=0.5)
    held = held_by(items_of(USER[0], edges, secrets, roles), secrets.height)
    records = edges.group_by("secret_id").len().sort("secret_id")["len"].to_list()
    both = edges.join(edges, on="example_id").filter(pl.col("secret_id") != pl.col("secret_id_right"))
    for unit in range(secrets.height):
        others = set(both.filter(pl.col("secret_id") == unit)["secret_id_right"].to_list())
        larger = [o for o in others if (records[o], -o) > (records[unit], -unit)]
        assert 1 <= held[unit] <= 1 + len(larger)
        assert held[unit] <= 1 + sum(1 for _ in others)


def test_without_units_every_secret_is_one():
    edges, secrets = frames([(i, i % 2) for i in range(10)], ["path", "credentials"])
    roles = assign_roles(edges, n_examples=20, without_secret="noise")
    assert held_by(items_of(USER[0], edges, secrets, roles), 2).tolist() == [1, 1]


def test_what_is_held_back_is_in_no_pool():
    edges, secrets = frames([(i, i % 2) for i in range(60)], ["unit"] * 2)
    roles = assign_roles(edges, n_examples=80, without_secret="noise", held_back=True)
    back = np.flatnonzero((roles == "held_back").to_numpy())
    assert len(back)
    for mechanism in NOISY:
        items = items_of(mechanism, edges, secrets, roles)
        assert not items.weights[back].any() and not items.used[back].any()
        if items.pools is not None:
            assert not set(back.tolist()) & set(items.pools["example_id"].to_list())


@pytest.mark.parametrize("mechanism", NO_NOISE, ids=name_of)
def test_without_noise_nothing_tagged_is_drawn(mechanism):
    edges, secrets, _ = shared_units(0)
    roles = assign_roles(edges, n_examples=40, without_secret="plain")
    assert not items_of(mechanism, edges, secrets, roles).weights.any()


@pytest.mark.parametrize("mechanism", NOISY, ids=name_of)
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_the_history_notes_no_less_than_was_drawn(mechanism, seed):
    """Proposition M5: of any set of texts, noted at their rates, at least as many are drawn as items hold them."""
    edges, secrets, roles = shared_units(seed)
    items = items_of(mechanism, edges, secrets, roles)
    rates = sampling_rates(items.weights, 4)
    noted, pools = rates_of_texts(rates, items.pools), pools_of(items, len(roles))
    chance = np.random.default_rng(seed)
    for _ in range(20):
        texts = set(np.flatnonzero(chance.random(len(roles)) < chance.random()).tolist())
        drawn = []
        for pool in {frozenset(pools[i]) for i in np.flatnonzero(items.weights).tolist()}:
            named = [rates[i] for i in pool if items.weights[i]]
            # each item of group privacy holds one text, and no text is in two; a unit's item holds many
            drawn += named[: len(pool & texts)]
        counted = sorted((noted[i] for i in texts), reverse=True)
        assert len(drawn) <= len(counted)
        assert all(a <= b for a, b in zip(sorted(drawn, reverse=True), counted, strict=False))


def test_hush_itself_has_no_such_items():
    edges, secrets, roles = shared_units(0)
    with pytest.raises(InputError, match="program"):
        items_of(HushMechanism(), edges, secrets, roles)


def test_the_used_share_sums_to_the_records_that_items_hold():
    edges, secrets, roles = shared_units(3)
    for mechanism in NOISY:
        items = items_of(mechanism, edges, secrets, roles)
        if items.pools is None:
            assert items.used.sum() == items.weights.sum()
            continue
        sizes = dict(items.pools.group_by("pool").len().iter_rows())
        named = dict.fromkeys(sizes, 0)
        for example, pool in items.pools.iter_rows():
            named[pool] += int(items.weights[example])
        every = isinstance(mechanism, UserWiseMechanism) and mechanism.select in ("random", "chunks")
        held = sum(
            size if every else min(size, named[p] * mechanism.records_a_round) for p, size in sizes.items()
        )
        outside = items.weights.sum() - sum(named.values())
        assert items.used.sum() == pytest.approx(held + outside)
