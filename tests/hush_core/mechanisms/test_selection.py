"""What fills an item: by the texts of its own pool alone, as the selection says, and no text in two items."""

import numpy as np
import pytest
from item_graphs import ALL, GROUP, USER, frames, name_of, shared_units
from sizes import seeds

from hush_core.config import RANKED, ByteGptModel
from hush_core.corpus.records import Records, texts_of_item
from hush_core.mechanisms import filling, item_texts, items_of, scores
from hush_core.training import byte_gpt
from hush_core.training.language_model import loss_by_itself
from hush_core.weights import assign_roles

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
