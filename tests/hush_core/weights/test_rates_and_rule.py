"""What is drawn from the weights, and which point of a sweep is recommended."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.errors import InputError
from hush_core.weights import (
    drowns,
    expected_distinct,
    goes_on_below,
    largest_batch,
    recommended,
    sampling_rates,
)


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
    return pl.DataFrame(
        {"protected_retained": kept, "noise_multiplier": noise},
        schema={"protected_retained": pl.Float64, "noise_multiplier": pl.Float64},
    )


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
    assert goes_on_below(edge) == pytest.approx((0.01, 0.004, 0.002))
    # further down noise falls no more: the best is inside
    inside = sweep([0.002, 0.004, 0.02, 0.1], [0.002, 0.004, 0.02, 0.09], [0.9, 0.92, 1.0, 8.0])
    assert recommended(inside) == 2 and goes_on_below(inside) == ()
    # a whole decade below that gives no more, and one that leaves too little to draw from, end it, too
    flat = sweep([0.002, 0.02], [0.02, 0.2], [1.0, 10.0])
    assert recommended(flat) == 1 and goes_on_below(flat) == ()
    ended = sweep([0.01, 0.02, 0.1], [None, 0.02, 0.05], [None, 1.0, 8.0])
    assert recommended(ended) == 1 and goes_on_below(ended) == ()
    assert goes_on_below(sweep([2e-6, 0.1], [0.1, 0.2], [1.0, 8.0])) == pytest.approx((1e-6,))
    assert goes_on_below(sweep([1e-6, 0.1], [0.1, 0.2], [1.0, 8.0])) == ()


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
