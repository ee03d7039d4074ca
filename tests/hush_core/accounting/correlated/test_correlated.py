"""Correlated noise: the strategy, what a secret can move, the posterior, and the rows that are released."""

import math
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import toeplitz
from scipy.optimize import check_grad
from scipy.special import ndtr, ndtri
from sizes import examples

from hush_core.accounting import Participation, posterior_bound
from hush_core.accounting.correlated import (
    Strategy,
    banded_strategy,
    gaussian_posteriors,
    participations,
    sensitivities,
    smallest_noise_multiplier,
)
from hush_core.accounting.correlated.strategy import _error, square_root_coefficients
from hush_core.errors import InputError
from hush_core.training.noise import CorrelatedRows, rounding_allowance


def dense(strategy, rounds):
    """C as a matrix."""
    column = np.zeros(rounds)
    column[: min(strategy.bands, rounds)] = strategy.coefficients[:rounds]
    return toeplitz(column, np.zeros(rounds))


def error_at_equal_guarantee(strategy, rounds):
    return strategy.mean_error(rounds) * strategy.norm


def test_errors_are_those_of_the_dense_matrices():
    rounds, strategy = 40, Strategy((1.0, 0.5, 0.3, 0.0, 0.2))
    rows = np.tril(np.ones((rounds, rounds))) @ np.linalg.inv(dense(strategy, rounds))
    variances = (rows**2).sum(axis=1)
    assert strategy.mean_error(rounds) == pytest.approx(math.sqrt(variances.mean()), rel=1e-12)
    inverse = np.linalg.inv(dense(strategy, rounds))[:, 0]
    np.testing.assert_allclose(strategy.inverse(rounds), inverse, atol=1e-12)


def test_the_gradient_of_the_search_is_that_of_its_value():
    rng = np.random.default_rng(1)
    for rounds, bands in ((7, 7), (50, 8), (200, 20)):
        free = square_root_coefficients(bands)[1:] * rng.uniform(0.5, 1.5, bands - 1)
        value = lambda x, n=rounds: _error(x, n)[0]  # noqa: E731
        slope = lambda x, n=rounds: _error(x, n)[1]  # noqa: E731
        assert check_grad(value, slope, free) < 1e-5 * (1 + np.abs(slope(free)).max())


def test_more_bands_never_harm_and_all_of_them_beat_the_square_root():
    rounds = 128
    strategies = [banded_strategy(rounds, bands) for bands in (1, 2, 4, 16, 128)]
    errors = [error_at_equal_guarantee(strategy, rounds) for strategy in strategies]
    assert errors[0] == pytest.approx(math.sqrt((rounds + 1) / 2))  # independent noise: mean of 1, …, T
    assert all(b < a for a, b in pairwise(errors))
    root = Strategy(tuple(square_root_coefficients(rounds)))
    assert errors[-1] <= error_at_equal_guarantee(root, rounds)
    # no factorisation of T rounds of one participation can do better than the norm of A allows
    a = np.tril(np.ones((rounds, rounds)))
    assert errors[-1] >= np.linalg.svd(a, compute_uv=False).sum() / rounds


@pytest.mark.parametrize("bad", [(), (0.9,), (1.0, -0.1), (1.0, math.nan), (1.0, math.inf)])
def test_coefficients_that_void_the_bound_are_refused(bad):
    with pytest.raises(InputError, match="coefficients"):
        Strategy(bad)


def test_bands_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="bands"):
        banded_strategy(10, 11)
    with pytest.raises(InputError, match="groups"):
        sensitivities(Strategy((1.0, 0.5, 0.2)), [[1, 0]], rounds=10)


def test_participations_count_each_secrets_items_by_group():
    edges = pl.DataFrame({"example_id": [0, 1, 2, 3, 4, 4], "secret_id": [0, 0, 0, 1, 1, 0]})
    counts = participations(np.array([0, 2, 2, 1, -1]), edges, period=3, n_secrets=3)
    assert counts.tolist() == [[1, 0, 2], [0, 1, 0], [0, 0, 0]]
    for groups in ([0, 3, 0, 0, 0], [-2, 0, 0, 0, 0], [0]):
        with pytest.raises(InputError, match="groups|edges"):
            participations(np.array(groups), edges, period=3, n_secrets=3)


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(
    st.lists(st.integers(0, 3), min_size=3, max_size=6),
    st.lists(st.floats(0, 2), min_size=0, max_size=2),
    st.integers(1, 14),
    st.integers(0, 2**31),
)
def test_no_adversary_moves_the_rows_further_and_one_moves_them_so_far(counts, mixing, rounds, seed):
    """Gradients chosen round by round, each after all rows so far: the planted mistake is to drop cross terms."""
    strategy, rng = Strategy((1.0, *mixing)), np.random.default_rng(seed)
    (claimed,) = sensitivities(strategy, [counts], rounds)
    drawn = np.array([counts[t % len(counts)] for t in range(rounds)])
    matrix = dense(strategy, rounds)
    for _ in range(5):
        moves = []
        for t in range(rounds):
            towards = rng.normal(size=3) + 3 * sum((matrix[t, s] * moves[s] for s in range(t)), np.zeros(3))
            moves.append(drawn[t] * towards / max(np.linalg.norm(towards), 1e-12))
        assert np.linalg.norm(matrix @ np.array(moves)) <= claimed * (1 + 1e-12)
    worst = np.linalg.norm(matrix @ drawn)
    assert worst <= claimed <= worst * (1 + 1e-8) or claimed == worst == 0
    without_cross_terms = np.sqrt((drawn**2 * (matrix**2).sum(axis=0)).sum())
    crossing = matrix.T @ matrix - np.diag((matrix**2).sum(axis=0))
    if crossing[np.ix_(drawn > 0, drawn > 0)].max(initial=0) > 1e-3:
        assert without_cross_terms < claimed, "the mistake must show"


def test_posteriors_are_those_of_the_general_accounting_and_of_the_closed_form():
    # mathematics.md §3: p = 1e-8, σ = 20, 100 rounds, one item in each
    assert gaussian_posteriors([1e-8], [0.5])[0] == pytest.approx(1.593819e-7, rel=1e-6)
    always = Participation.binomial(count=1, rate=1.0)
    for prior, shift in ((1e-10, 3.0), (1e-6, 1.0), (1e-3, 0.1), (0.2, 2.0)):
        ours = gaussian_posteriors([prior], [shift])[0]
        general = posterior_bound(always, noise_multiplier=1 / shift, rounds=1, prior=prior, method="blow_up")
        assert ours <= general.value * (1 + 1e-6) and general.value <= ours * (1 + 1e-2)
        assert (general.lower or 0.0) <= ours
        assert ours == pytest.approx(ndtr(ndtri(prior) + shift), rel=1e-8)
        assert ours >= ndtr(ndtri(prior) + shift)
    assert gaussian_posteriors([1e-30, 0.5, 0.3], [0.0, 40.0, 0.0]).tolist() == [1e-30, 1.0, 0.3]
    tiny = gaussian_posteriors([1e-30], [1.0])[0]
    assert 1e-30 < tiny < 1e-24
    for prior, shift in ((0.0, 1.0), (1e-31, 1.0), (1.0, 1.0), (0.1, -1.0), (0.1, math.nan)):
        with pytest.raises(InputError):
            gaussian_posteriors([prior], [shift])


def test_the_noise_in_closed_form_meets_every_target_and_no_less_does():
    rng = np.random.default_rng(2)
    priors = 10 ** -rng.uniform(3, 12, 50)
    posteriors = priors * 10 ** rng.uniform(0.3, 2.5, 50)
    moved = rng.uniform(1, 50, 50)
    sigma = smallest_noise_multiplier(priors, posteriors, moved)
    assert np.all(gaussian_posteriors(priors, moved / sigma) <= posteriors)
    less = sigma * (1 - 1e-5)
    assert np.any(gaussian_posteriors(priors, moved / less) > posteriors)
    with pytest.raises(InputError, match="target"):
        smallest_noise_multiplier([0.1], [0.1], [1.0])


GRID = 2.0**-30


def on_grid(vector):
    return np.rint(vector / GRID) * GRID


def test_rows_are_those_of_the_matrix_and_what_is_read_is_the_gradient_with_inverse_noise():
    rng, rounds, size = np.random.default_rng(3), 25, 40
    strategy = banded_strategy(rounds, 6)
    sums, noise = on_grid(rng.normal(size=(rounds, size))), on_grid(5 * rng.normal(size=(rounds, size)))
    rows = CorrelatedRows(strategy, size, GRID)
    mixed, read = [], []
    for g, z in zip(sums, noise, strict=True):
        row = rows.mix(g)
        assert np.all(row / GRID == np.rint(row / GRID)), "a row off the grid has low bits that tell"
        mixed.append(row)
        read.append(rows.read(row + z))
    matrix = dense(strategy, rounds)
    assert np.abs(np.array(mixed) - matrix @ sums).max() <= strategy.bands * GRID
    error = np.array(read) - sums - np.linalg.inv(matrix) @ noise
    assert np.abs(error).max() < 50 * GRID * rounds


def test_a_past_that_a_kill_has_emptied_moves_the_rows_no_further():
    """Neighbouring runs, killed at any round: all rows together stay within the sensitivity and its allowance."""
    rng, rounds, size, period = np.random.default_rng(4), 12, 8, 4
    strategy = banded_strategy(rounds, period)
    counts = np.array([1, 0, 2, 0])
    (claimed,) = sensitivities(strategy, [counts], rounds)
    allowed = claimed + rounding_allowance(strategy, rounds, size, GRID)
    others = on_grid(rng.normal(size=(rounds, size)))
    direction = np.ones(size) / math.sqrt(size)
    for kill in range(rounds + 1):
        both = []
        for with_secret in (False, True):
            rows, released = CorrelatedRows(strategy, size, GRID), []
            for t in range(rounds):
                if t == kill:
                    rows = CorrelatedRows(strategy, size, GRID)
                total = others[t] + with_secret * counts[t % period] * direction
                released.append(rows.mix(on_grid(total)))
            both.append(np.array(released))
        moved = np.linalg.norm(both[1] - both[0])
        assert moved <= allowed + math.sqrt(size * rounds) * GRID
    assert moved > 0.99 * claimed  # not killed: the claim is reached


def test_what_does_not_fit_is_refused():
    rows = CorrelatedRows(Strategy((1.0, 0.5)), 3, GRID)
    for wrong in (rows.mix, rows.read):
        with pytest.raises(InputError, match="shape"):
            wrong(np.zeros(4))
    with pytest.raises(InputError, match="grid"):
        CorrelatedRows(Strategy((1.0,)), 3, 0.3)
