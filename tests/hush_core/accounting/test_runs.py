"""Several runs on one secret: closed forms, brute force in extended precision, order."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import binom
from sizes import examples

from hush_core.accounting import (
    Participation,
    Run,
    attempts,
    bound_of_runs,
    composition,
    curve_of_runs,
    posterior_bound,
)
from hush_core.accounting.runs import merged
from hush_core.errors import CertificationError, InputError

METHODS = ("blow_up", "renyi", "renyi_preservation", "kl", "best")
SURE = Participation.binomial(1, 1.0)
SURE_RUNS = [Run(SURE, 20.0, 100), Run(SURE, 35.0, 300), Run(SURE, 11.0, 10)]
SURE_EXACT = float(ndtr(ndtri(1e-8) + np.sqrt(100 / 20**2 + 300 / 35**2 + 10 / 11**2)))
PAPER = Participation.binomial(100, 2048 / 1.2e6)


def tight(runs, prior, **options):
    return bound_of_runs(runs, prior=prior, method="blow_up", **options)


# --- one run, and equal ones -----------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_equal_runs_are_one_of_all_their_rounds(method):
    once = posterior_bound(PAPER, noise_multiplier=3.0, rounds=210, prior=1e-6, method=method, lower=True)
    again = Participation.from_rates([2048 / 1.2e6] * 100)
    parted = [Run(PAPER, 3.0, 70), Run(again, 3.0, 20), Run(PAPER, 3.0, 120)]
    assert bound_of_runs(parted, prior=1e-6, method=method, lower=True) == once


def test_equal_runs_need_not_be_merged(monkeypatch):
    """Composed as if they were different, they give the same to the width of the grid."""
    once = tight([Run(PAPER, 3.0, 210)], 1e-6)
    pieces = [Run(PAPER, 3.0, 70), Run(PAPER, 3.0, 20), Run(PAPER, 3.0, 120)]
    monkeypatch.setattr("hush_core.accounting.bounds.merged", list)
    assert tight(pieces, 1e-6).value == pytest.approx(once.value, rel=1e-6)
    assert bound_of_runs(pieces, prior=1e-6, method="kl").value == pytest.approx(
        posterior_bound(PAPER, noise_multiplier=3.0, rounds=210, prior=1e-6, method="kl").value, rel=1e-9
    )


def test_order_does_not_matter_and_runs_without_the_secret_tell_nothing():
    runs = [*SURE_RUNS, Run(Participation.binomial(0, 0.0), 0.001, 10**9)]
    assert tight(runs[::-1], 1e-8) == tight(SURE_RUNS, 1e-8)
    for nothing in ([], runs[-1:]):
        found = bound_of_runs(nothing, prior=1e-8)
        assert found.value == found.lower == 1e-8
    assert [run.rounds for run in merged([SURE_RUNS[0], SURE_RUNS[0]])] == [200]


# --- what is exact ---------------------------------------------------------------------------------


def test_one_sure_example_a_run_has_a_closed_form():
    found = tight(SURE_RUNS, 1e-8, lower=True)
    assert found.lower <= SURE_EXACT <= found.value <= SURE_EXACT * (1 + 2e-4)


UNEVEN = [
    ((3, 0.3, 0.8), (2, 0.1, 1.5), 1e-3),
    ((9, 0.02, 2.0), (5, 0.4, 3.0), 1e-6),
    ((1, 0.01, 0.6), (1, 0.5, 2.5), 1e-9),
]
"""(m, ρ, σ) of one round each, and p."""


def by_quadrature(first, second, prior):
    """One round of each in 80-bit floats: P(L₁ + L₂ > t) = ∫ P₁(x)·P₂(L₂ > t − L₁(x)) dx by the trapezoid rule on
    2,000 nodes, L₂ inverted at each by bisection, at the t where the same under Q is p."""
    wide = np.longdouble
    laws = []
    for m, rate, sigma in (first, second):
        k = np.arange(m + 1)
        weights = np.array([float(mp.binomial(m, int(i)) * mp.mpf(rate) ** int(i)) for i in k], dtype=wide)
        laws.append((k.astype(wide), weights * (1 - wide(rate)) ** (m - k), wide(sigma)))

    def loss(x, law):
        k, weights, sigma = law
        exponent = (k * x[:, None] - k**2 / 2) / sigma**2
        top = exponent.max(axis=1)
        return np.log(np.exp(exponent - top[:, None]) @ weights) + top

    k, weights, sigma = laws[0]
    nodes, width = np.linspace(-9 * sigma, k[-1] + 9 * sigma, 2_001, dtype=wide, retstep=True)
    losses = loss(nodes, laws[0])
    q1 = np.exp(-((nodes / sigma) ** 2) / 2) / (sigma * np.sqrt(2 * wide(np.pi))) * width
    p1 = q1 * np.exp(losses)
    k, weights, sigma = laws[1]

    def above(t):
        """(P, Q) of L₁ + L₂ > t."""
        low, high = np.full(len(nodes), -60 * sigma), np.full(len(nodes), k[-1] + 60 * sigma)
        for _ in range(75):
            middle = (low + high) / 2
            below = loss(middle, laws[1]) < t - losses
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        x = high.astype(np.float64)
        return p1 @ (ndtr((k.astype(float) - x[:, None]) / float(sigma)) @ weights), q1 @ ndtr(
            -x / float(sigma)
        )

    t, step = 0.0, 1.0
    p, q = above(wide(t))
    for _ in range(25):  # the secant method for log q
        p_next, q_next = above(wide(t + step))
        slope = float(np.log(q_next / q)) / step
        t, p, q = t + step, p_next, q_next
        step = float(np.clip(np.log(prior / q) / slope, -2, 2))
        if abs(q / prior - 1) < 1e-7:
            break
    # B is concave with slope e^t at p
    return float(p + np.exp(wide(t)) * (prior - q))


@pytest.mark.parametrize("case", UNEVEN)
def test_two_different_runs_in_extended_precision(case):
    first, second, prior = case
    exact = by_quadrature(first, second, prior)
    runs = [Run(Participation.binomial(m, rate), sigma, 1) for m, rate, sigma in (first, second)]
    found = tight(runs, prior, lower=True)
    assert found.lower <= exact * (1 + 1e-8) and exact <= found.value * (1 + 1e-8)
    assert found.value <= exact * (1 + 1e-3) and found.lower >= exact * (1 - 1e-3)


def by_convolution(runs, prior, step):
    """(least, largest) that the tight bound can be: each round's loss rounded down and up to a grid, plain sums of
    products in 80-bit floats, no FFT, no tilt. `runs`: (m, ρ, σ, T)."""
    wide, found = np.longdouble, []
    for up in (False, True):
        joint, first = np.ones(1, dtype=wide), 0
        for m, rate, sigma, rounds in runs:
            k = np.arange(m + 1)
            weights = binom.pmf(k, m, rate)
            x = np.linspace(-7 * sigma, m + 7 * sigma, 40_001)
            loss = np.log(np.exp((k * x[:, None] - k**2 / 2) / sigma**2) @ weights)
            cells = weights @ np.diff(ndtr((x - k[:, None]) / sigma), axis=1)
            place = np.floor(loss[:-1] / step) if not up else np.floor(loss[1:] / step) + 1
            place = place.astype(int)
            mass = np.bincount(place - place[0], cells).astype(wide)
            for _ in range(rounds):
                joint, first = np.convolve(joint, mass), first + int(place[0])
        values = (first + np.arange(len(joint))) * wide(step)
        p = np.cumsum(joint[::-1])[::-1]
        q = np.cumsum((joint * np.exp(-values))[::-1])[::-1]
        found.append(float(np.min(np.exp(values) * (wide(prior) - q) + p)))
    return found


CONVOLVED = [(4, 0.2, 1.2, 3), (2, 0.05, 0.9, 2)]


def test_two_different_runs_of_several_rounds_by_convolution():
    least, largest = by_convolution(CONVOLVED, 1e-4, 5e-3)
    assert largest < least * 1.05
    runs = [Run(Participation.binomial(m, rate), s, n) for m, rate, s, n in CONVOLVED]
    found = tight(runs, 1e-4, lower=True)
    assert found.lower <= largest and found.value >= least
    assert found.value == pytest.approx(np.sqrt(least * largest), rel=2e-3)


# --- order -----------------------------------------------------------------------------------------

PARTS = st.tuples(
    st.integers(1, 30),
    st.floats(-4, -0.3).map(lambda e: 10.0**e),
    st.floats(0.6, 8.0),
    st.integers(1, 300),
)


def run_of(part):
    m, rate, sigma, rounds = part
    return Run(Participation.binomial(m, rate), sigma, rounds)


@settings(max_examples=examples(12), deadline=None, derandomize=True)
@given(st.lists(PARTS, min_size=2, max_size=4), st.floats(-9, -1).map(lambda e: 10.0**e))
def test_in_order_and_above_each_run_alone_and_rising_with_runs(parts, prior):
    runs = [run_of(part) for part in parts]
    found = tight(runs, prior, lower=True)
    renyi, kl = (bound_of_runs(runs, prior=prior, method=m).value for m in ("renyi", "kl"))
    assert prior <= found.lower <= found.value * (1 + 1e-9)
    assert found.lower <= renyi and renyi <= kl * 1.005
    assert found.value <= renyi * (1 + 1e-3) or found.value == 1
    gap = found.value / found.lower
    for count in range(1, len(runs)):
        fewer = tight(runs[:count], prior, lower=True)
        assert fewer.lower <= found.value and fewer.value <= found.value * gap * (fewer.value / fewer.lower)
    for run in runs:
        alone = tight([run], prior, lower=True)
        assert alone.lower <= found.value and alone.value <= found.value * (alone.value / alone.lower)
        assert bound_of_runs([run], prior=prior, method="kl").value <= kl * (1 + 1e-9)
        assert bound_of_runs([run], prior=prior, method="renyi").value <= renyi * 1.005


# --- the parts of the numerics that know of several runs --------------------------------------------


def test_two_stages_of_different_runs(monkeypatch):
    """Blocks of one run, and the rests of all in blocks of their own: each with its rounds, none lost."""
    assert list(composition._batches([100, 7, 12, 16], 16)) == [
        ([(0, 16)], 6), ([(0, 4), (1, 7)], 1), ([(3, 16)], 1), ([(2, 12)], 1),
    ]  # fmt: skip
    monkeypatch.setattr(composition, "_STAGED", 0)
    runs = [Run(SURE, 60.0, 900), Run(SURE, 100.0, 1207), Run(SURE, 25.0, 30)]
    exact = float(ndtr(ndtri(1e-8) + np.sqrt(900 / 60**2 + 1207 / 100**2 + 30 / 25**2)))
    found = tight(runs, 1e-8, lower=True)
    assert found.lower <= exact <= found.value <= exact * (1 + 1e-3)
    # the planted mistake: rests are lost
    whole = composition._batches
    monkeypatch.setattr(
        composition, "_batches", lambda counts, block: [b for b in whole(counts, block) if b[1] > 1]
    )
    assert tight(runs, 1e-8, lower=True).value < exact


RARE = [Run(Participation.binomial(1, 1e-4), 1.0, 1000), Run(Participation.binomial(3, 2e-5), 0.6, 2000)]


def test_rare_draws_of_different_runs_on_two_grids(monkeypatch):
    """Drawn in fewer than one of four histories at σ ≤ 1: certified from both sides, close together."""
    monkeypatch.setattr(attempts, "_TILTS", ())
    found = tight(RARE, 1e-9, lower=True)
    assert found.lower <= found.value <= found.lower * (1 + 1e-3)
    assert found.value > max(tight([run], 1e-9, lower=True).lower for run in RARE)
    # another order of the tree, and the runs split, are other roundings of the same law
    split = [RARE[1], Run(RARE[0].participation, 1.0, 400), Run(RARE[0].participation, 1.0, 600)]
    monkeypatch.setattr("hush_core.accounting.bounds.merged", list)
    again = tight(split, 1e-9, lower=True)
    assert again.lower <= found.value and found.lower <= again.value <= again.lower * (1 + 1e-3)


def test_rare_beside_frequent():
    """One run whose tail is a log-normal's beside one that is nearly a Gaussian."""
    runs = [Run(Participation.binomial(1, 1e-4), 0.7, 1000), Run(PAPER, 6.0, 2000)]
    found = bound_of_runs(runs, prior=1e-9, lower=True)
    assert found.method == "blow_up" and found.lower <= found.value <= found.lower * (1 + 1e-3)


def test_a_curve_is_the_bounds_at_its_priors():
    priors = np.array([1e-8, 1e-4, 0.3])
    curve = curve_of_runs(SURE_RUNS, priors=priors, method="blow_up")
    exact = ndtr(ndtri(priors) + np.sqrt(100 / 20**2 + 300 / 35**2 + 10 / 11**2))
    assert np.all((curve.values >= exact) & (curve.values <= exact * (1 + 1e-3)))


# --- refusals --------------------------------------------------------------------------------------


def test_refusals():
    with pytest.raises(CertificationError, match="rounds"):
        bound_of_runs([Run(SURE, 100.0, 6_000_000), Run(SURE, 101.0, 6_000_000)], prior=1e-6)
    for sigma in (0.01, 1e7):
        with pytest.raises(CertificationError):
            bound_of_runs([SURE_RUNS[0], Run(SURE, sigma, 1)], prior=1e-6)
    with pytest.raises(CertificationError):
        bound_of_runs(SURE_RUNS, prior=1e-31)
    with pytest.raises(InputError, match="prior"):
        bound_of_runs(SURE_RUNS, prior=0.0)
    with pytest.raises(InputError, match="method"):
        bound_of_runs(SURE_RUNS, prior=0.1, method="exact")
    for sigma, rounds in ((0.0, 1), (1.0, 0), (1.0, 1.5), (float("nan"), 1)):
        with pytest.raises(InputError):
            Run(SURE, sigma, rounds)
