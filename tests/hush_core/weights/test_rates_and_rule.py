"""What is drawn from the weights, which point of a sweep is recommended, and who is trained on how."""

import numpy as np
import polars as pl
import pytest
from frames import frame_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.errors import InputError
from hush_core.weights import (
    WeightSettings,
    assign_roles,
    check_untagged,
    drowns,
    expected_distinct,
    largest_batch,
    recommended,
    sampling_rates,
    smaller_c_to_try,
    text_order,
    weigh,
    with_role,
)
from hush_core.weights.roles import ROLES


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=30))
def test_the_largest_batch_works_and_one_more_does_not(weights):
    weights = np.array(weights)
    most = largest_batch(weights)
    if most == 0:
        assert weights.max() == 0
        return
    rates = sampling_rates(weights, most)
    assert rates.max() <= 1 and rates.sum() == pytest.approx(most)
    with pytest.raises(InputError, match=f"set it to {most} or less"):
        sampling_rates(weights, most + 1)


def test_distinct_examples_against_drawing_them():
    rng = np.random.default_rng(0)
    rates, rounds = rng.uniform(0, 0.05, 400) * (rng.random(400) < 0.8), 40
    seen = [np.any(rng.random((rounds, 400)) < rates, axis=0).sum() for _ in range(400)]
    error = np.std(seen) / np.sqrt(len(seen))
    assert expected_distinct(rates, rounds) == pytest.approx(np.mean(seen), abs=4 * error)
    assert expected_distinct(np.array([1.0, 0.0]), 3) == 1.0
    assert expected_distinct(np.array([1e-12]), 1) == pytest.approx(1e-12, rel=1e-9)


def frontier(kept, noise):
    names = ("protected_retained", "noise_multiplier")
    return pl.DataFrame([kept, noise], schema=dict.fromkeys(names, pl.Float64), orient="col")


def test_the_rule_stops_where_noise_begins_to_outgrow_weight():
    kept, noise = [0.1, 0.2, 0.4, 0.6, 0.7, 0.72], [1.0, 2.0, 4.0, 6.1, 9.0, 20.0]
    assert recommended(frontier(kept, noise)) == 3
    # neither the order of the rows nor the unit of the noise matters, nor what is not certified
    assert recommended(frontier(kept[::-1], noise[::-1])) == 2
    assert recommended(frontier(kept, [7 * s for s in noise])) == 3
    assert recommended(frontier([None, *kept], [None, *noise])) == 4
    assert recommended(frontier([0.5], [None])) is None


def sweep(cs, kept, noise, drowned=None):
    table = frontier(kept, noise).with_columns(pl.Series("c", cs, dtype=pl.Float64))
    return table.with_columns(pl.Series("drowned", drowned or [False] * len(cs), dtype=pl.Boolean))


def test_a_sweep_goes_on_while_its_smallest_c_is_the_best():
    """Planted mistake: the smallest value of the sweep recommended because nothing smaller was tried."""
    edge = sweep([0.02, 0.1, 1.0], [0.02, 0.09, 0.5], [1.0, 8.0, 80.0])
    assert recommended(edge) == 0
    assert smaller_c_to_try(edge) == pytest.approx((0.01, 0.004, 0.002))
    # further down noise falls no more: the best is inside
    inside = sweep([0.002, 0.004, 0.02, 0.1], [0.002, 0.004, 0.02, 0.09], [0.9, 0.92, 1.0, 8.0])
    assert recommended(inside) == 2 and smaller_c_to_try(inside) == ()
    # a whole decade below that gives no more, and one that leaves too little to draw from, end it, too
    flat = sweep([0.002, 0.02], [0.02, 0.2], [1.0, 10.0])
    assert recommended(flat) == 1 and smaller_c_to_try(flat) == ()
    ended = sweep([0.01, 0.02, 0.1], [None, 0.02, 0.05], [None, 1.0, 8.0])
    assert recommended(ended) == 1 and smaller_c_to_try(ended) == ()
    assert smaller_c_to_try(sweep([2e-6, 0.1], [0.1, 0.2], [1.0, 8.0])) == pytest.approx((1e-6,))
    assert smaller_c_to_try(sweep([1e-6, 0.1], [0.1, 0.2], [1.0, 8.0])) == ()


def test_what_is_drowned_is_not_recommended_where_another_point_is_not():
    table = sweep([0.01, 0.5], [0.05, 0.9], [0.9, 9.5], [False, True])
    assert recommended(table.drop("drowned")) == 1 and recommended(table) == 0
    assert recommended(sweep([0.1, 0.5], [0.2, 0.9], [9.0, 9.5], [True, True])) == 1


def test_noise_drowns_where_it_is_longer_than_gradients_that_all_point_the_same_way():
    """T = 4 rounds of one unit gradient, d = 10,000, C = 1, B = 8: the sum has length 4, its noise √(T·d)·σ/B."""
    rng, rounds, batch, d = np.random.default_rng(0), 4, 8, 10_000
    for sigma, drowned in ((0.12, False), (0.22, True)):
        noise = np.linalg.norm(rng.normal(0, sigma / batch, (rounds, d)).sum(axis=0))
        assert bool(noise > rounds) == drowned
        assert drowns(sigma, rounds=rounds, expected_batch=batch, parameters=d) == drowned


def graph(tagged: list[int]) -> pl.DataFrame:
    return frame_of(example_id=tagged, secret_id=[0] * len(tagged))


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
    found = {}
    for back in (False, True):
        how = WeightSettings(rule="normal_quantiles", c=0.5, without_secret="plain", held_back=back)
        found[back] = weigh(edges, secrets, n_examples=300, settings=how)
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
