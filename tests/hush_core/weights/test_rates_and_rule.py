"""What is drawn from the weights, and which point of a sweep is recommended."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush_core.errors import InputError
from hush_core.weights import expected_distinct, largest_batch, recommended, sampling_rates


@settings(max_examples=200, deadline=None, derandomize=True)
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
