"""What a round draws and what fills an item: functions of the graph alone, within the mechanism's bounds."""

import numpy as np
import polars as pl
import pytest
from item_graphs import ALL, GROUP, NO_NOISE, NOISY, USER, frames, name_of, shared_units
from sizes import seeds

from hush_core.config import RANKED, ByteGptModel, HushMechanism, UserWiseMechanism
from hush_core.corpus.records import Records, texts_of_item
from hush_core.errors import InputError
from hush_core.mechanisms import filling, item_texts, items_of, rates_of_texts, scores
from hush_core.training import byte_gpt
from hush_core.training.language_model import loss_by_itself
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


FILLED = [mechanism for mechanism in ALL if not mechanism.examples_by_themselves]


def a_text(chance):
    return bytes(chance.integers(97, 123, int(chance.integers(1, 40)), dtype=np.uint8))


def loss(text):
    """Stands for a public model's loss: some function of one text."""
    return float(np.mean([(7 * byte) % 13 for byte in text]))


def filled_by(mechanism, items, texts):
    score = scores(texts, items.pools, mechanism.select, loss)
    pieces = 16 if mechanism.select == "chunks" else None
    table = filling(mechanism, items.weights, items.pools, score)
    return table, item_texts(texts, table, pieces_of=pieces)


def moved(mechanism, items, texts, changed):
    """The items whose text is another with `changed` (id → text) in place, of those whose pool was not touched."""
    _, before = filled_by(mechanism, items, texts)
    _, after = filled_by(mechanism, items, [changed.get(i, text) for i, text in enumerate(texts)])
    touched = set(items.pools.filter(items.pools["example_id"].is_in(list(changed)))["pool"].to_list())
    pool = dict(items.pools.iter_rows())
    return [
        i for i in np.flatnonzero(items.weights).tolist()
        if pool.get(i) not in touched and i not in changed
        and texts_of_item(before[i]) != texts_of_item(after[i])
    ]  # fmt: skip


@pytest.mark.parametrize("mechanism", FILLED, ids=name_of)
@pytest.mark.parametrize("seed", seeds(6))
def test_one_units_text_never_moves_what_another_units_items_hold(mechanism, seed):
    """Any text of every unit in turn; an item whose pool holds none of the changed texts stays byte for byte."""
    edges, secrets, roles = shared_units(seed)
    items = items_of(mechanism, edges, secrets, roles)
    chance = np.random.default_rng(seed)
    texts = [a_text(chance) for _ in roles]
    tags = {i: set(s) for i, s in items.edges.group_by("example_id").agg("secret_id").iter_rows()}
    for secret in range(secrets.height):
        held = edges.filter(edges["secret_id"] == secret)["example_id"].to_list()
        changed = {i: a_text(chance) * int(chance.integers(1, 5)) for i in held}
        assert not moved(mechanism, items, texts, changed)
        # and every item that did move is tagged with the secret
        _, before = filled_by(mechanism, items, texts)
        _, after = filled_by(mechanism, items, [changed.get(i, t) for i, t in enumerate(texts)])
        for i in np.flatnonzero(items.weights).tolist():
            if texts_of_item(before[i]) != texts_of_item(after[i]):
                assert secret in tags[i]


@pytest.mark.parametrize("mechanism", FILLED, ids=name_of)
@pytest.mark.parametrize("seed", seeds(4))
def test_items_hold_what_the_selection_ranks_first(mechanism, seed):
    """Against sorting each pool by itself."""
    edges, secrets, roles = shared_units(seed)
    items = items_of(mechanism, edges, secrets, roles)
    chance = np.random.default_rng(seed)
    texts = [a_text(chance) for _ in roles]
    table, filled = filled_by(mechanism, items, texts)
    score = {"longest": lambda t: -len(t), "shortest": len, "highest_perplexity": lambda t: -loss(t),
             "lowest_perplexity": loss}.get(mechanism.select)  # fmt: skip
    for _, members in items.pools.group_by("pool").agg("example_id").iter_rows():
        named = [i for i in members if items.weights[i]]
        ordered = sorted(members, key=lambda i: (score(texts[i]) if score else 0, i))
        if mechanism.kind == "group_privacy":
            got = [bytes(filled[i]) for i in named]
            assert sorted(got) == sorted(texts[i] for i in ordered[: len(named)])
            used = table.filter(table["item"].is_in(named))["example_id"].to_list()
            assert len(used) == len(set(used)) == len(named)
            continue
        (name,) = named
        whole = b"".join(texts[i] for i in sorted(members))
        if mechanism.select == "random":
            assert texts_of_item(filled[name]) == tuple(texts[i] for i in sorted(members))
        elif mechanism.select == "chunks":
            pieces = texts_of_item(filled[name])
            assert b"".join(pieces) == whole and all(len(p) == 16 for p in pieces[:-1])
        else:
            assert texts_of_item(filled[name]) == tuple(texts[i] for i in ordered[: mechanism.records])
    outside = set(range(len(roles))) - set(items.pools["example_id"].to_list())
    assert all(filled[i] == texts[i] for i in outside)


def test_an_item_of_one_record_is_its_bytes_and_one_of_several_shows_none():
    edges, secrets = frames([(0, 0), (1, 1), (2, 1)], ["unit"] * 2)
    roles = assign_roles(edges, n_examples=30, without_secret="noise")
    items = items_of(USER[0], edges, secrets, roles)
    texts = [b"alone", b"hidden one", b"hidden two", *[b"-"] * 27]
    _, filled = filled_by(USER[0], items, texts)
    assert filled[0] == b"alone" and isinstance(filled[1], Records) and "hidden" not in repr(filled[1])


def test_perplexity_is_that_of_the_text_by_itself():
    """Of a real model: the same number alone, after other texts, and as `evaluate` has it for one text."""
    model = byte_gpt(ByteGptModel(layers=1, width=16, heads=2), 64, seed=1)
    of = loss_by_itself(model)
    texts = [b"one short", b"another text that is longer than the first one", b"x", b""]
    first = [of(text) for text in texts]
    assert [of(text) for text in reversed(texts)][::-1] == first
    assert first[3] == 0 and all(value > 0 for value in first[:3])
    # bits a byte times ln 2 are nats a token where a token is a byte
    assert first[1] == pytest.approx(model.evaluate([texts[1]]) * np.log(2), rel=1e-5)


@pytest.mark.parametrize("select", RANKED)
def test_equal_scores_go_by_id(select):
    edges, secrets = frames([(i, 0) for i in range(6)], ["unit"])
    roles = assign_roles(edges, n_examples=20, without_secret="noise")
    for mechanism in (GROUP[0], USER[0]):
        mechanism = mechanism.model_copy(update={"select": select})
        items = items_of(mechanism, edges, secrets, roles)
        score = np.zeros(20)
        table = filling(mechanism, items.weights, items.pools, score)
        assert table["example_id"].to_list() == [0, 1]
