"""Who is trained on how is decided by the graph alone, and no tagged example gets where there is no noise."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush_core.errors import InputError
from hush_core.weights import WeightSettings, assign_roles, check_untagged, text_order, weigh, with_role
from hush_core.weights.roles import ROLES


def graph(tagged: list[int]) -> pl.DataFrame:
    return pl.DataFrame(
        {"example_id": tagged, "secret_id": [0] * len(tagged)},
        schema={"example_id": pl.UInt32, "secret_id": pl.UInt32},
    )


@given(
    st.sets(st.integers(0, 199), min_size=1),
    st.sampled_from(["noise", "plain", "drop"]),
    st.booleans(),
)
def test_no_tagged_example_is_plain_validation_or_held_out_and_no_untagged_one_held_back(
    tagged, without, back
):
    roles = assign_roles(graph(sorted(tagged)), n_examples=200, without_secret=without, held_back=back)
    of = {role: set(with_role(roles, role).tolist()) for role in ROLES}
    assert sum(map(len, of.values())) == 200
    assert tagged <= of["certified"] | of["held_back"] and not of["held_back"] - tagged
    assert bool(of["held_back"]) <= back
    rest = {"noise": "certified", "plain": "plain", "drop": "dropped"}[without]
    assert set(range(200)) - tagged == (of[rest] - tagged) | of["validation"] | of["held_out"]
    assert without == "noise" or of["certified"] <= tagged
    check_untagged(with_role(roles, "plain", "validation", "held_out"), graph(sorted(tagged)))


def test_a_tagged_example_handed_to_what_has_no_noise_is_refused_even_at_weight_0():
    edges = graph([3, 7])
    check_untagged(np.array([1, 2, 4]), edges)
    with pytest.raises(InputError, match="1 examples that hold a secret, 7 among them"):
        check_untagged(np.array([1, 7]), edges)


def test_what_is_held_back_weighs_nothing_and_uses_no_capacity_up():
    edges = graph(list(range(100)))
    secrets = pl.DataFrame({"secret_id": [0], "prior": [1e-6], "posterior": [1e-3]})
    found = {
        back: weigh(
            edges,
            secrets,
            n_examples=300,
            settings=WeightSettings(rule="normal_quantiles", c=0.5, without_secret="plain", held_back=back),
        )
        for back in (False, True)
    }
    held_back = with_role(found[True].roles, "held_back")
    assert len(held_back) == 5 and np.all(found[True].weights[held_back] == 0)
    for one in found.values():  # c = 1/2 of what is drawn, whichever that is
        assert one.objective == pytest.approx(one.candidates / 2)
        assert np.all(one.weights[100:] == 0) and one.objective <= one.upper_bound + 1e-9


def test_more_text_beside_it_leaves_what_is_measured_on_as_it_was():
    """By their texts' order; by the ids nearly all of it would have been trained on by the run before."""
    rng = np.random.default_rng(5)
    before = [bytes(row) for row in rng.integers(0, 256, (4000, 32), dtype=np.uint8)]
    now = list(before)
    for place in sorted(rng.integers(0, 4000, 150).tolist(), reverse=True):
        now.insert(place, bytes(rng.integers(0, 256, 32, dtype=np.uint8)))

    def texts(some, order, *roles):
        found = assign_roles(graph([3]), n_examples=len(some), without_secret="plain", order=order)
        return {some[i] for i in with_role(found, *roles)}

    measured = ("held_out", "validation")
    for order, least, most in ((text_order, 0.0, 0.03), (lambda _: None, 0.5, 1.0)):
        seen = texts(before, order(before), "plain") & texts(now, order(now), *measured)
        assert least <= len(seen) / len(texts(now, order(now), *measured)) <= most


def test_there_are_as_many_of_each_role_in_either_order():
    some = [bytes([i // 256, i % 256]) for i in range(700)]
    roles = [
        assign_roles(graph([3, 60]), n_examples=700, without_secret="plain", order=order).cast(pl.String)
        for order in (None, text_order(some))
    ]
    assert sorted(roles[0]) == sorted(roles[1]) and not roles[0].equals(roles[1])


def test_the_order_of_a_text_is_the_same_in_every_process():
    assert text_order([b"", b"def f():"]).tolist() == [16476032584258269876, 6270033829468551713]
