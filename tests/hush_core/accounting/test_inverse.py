"""The largest expected count, and the root of a gap that falls: certified itself, and little more would be."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.accounting import Participation, inverse, largest_expected_count, posterior_bound
from hush_core.accounting.inverse import PRECISION
from hush_core.accounting.noise_search import falling_root
from hush_core.errors import CertificationError, InputError

P, R = 1e-8, 1e-4

MECHANISM = {"noise_multiplier": 2.0, "rounds": 400}

CASES = st.tuples(
    st.floats(0.6, 30.0),
    st.integers(2, 3000),
    st.floats(-12.0, -2.0).map(lambda e: 10.0**e),
    st.floats(0.1, 0.9),
    st.floats(-4.0, -0.7).map(lambda e: 10.0**e),
)


def bound(rates, prior, method="blow_up", **mechanism):
    return posterior_bound(Participation.from_rates(rates), prior=prior, method=method, **mechanism).value


def random_rates(total, largest, seed):
    """A multiset of rates of all sizes up to `largest` whose sum is just below `total`."""
    rng = np.random.default_rng(seed)
    rates = [min(largest, total) * (1 - 1e-12)] if seed % 2 else []
    while sum(rates) < total and len(rates) < 20_000:
        rates += list(largest * rng.uniform(0, 1, 8) ** rng.choice([1, 4]))
    rates = np.array(rates)
    kept = np.cumsum(rates) <= total * (1 - 1e-12)
    last = total * (1 - 1e-12) - rates[kept].sum()
    return np.append(rates[kept], last if last <= largest else [])


@settings(max_examples=examples(30), deadline=None, derandomize=True)
@given(CASES, st.integers(0, 100))
@pytest.mark.parametrize("method", [pytest.param("blow_up", marks=pytest.mark.slow), "kl"])
def test_what_it_allows_is_certified(method, case, seed):
    sigma, rounds, prior, share, largest = case
    target = prior**share
    mechanism = {"noise_multiplier": sigma, "rounds": rounds, "method": method}
    allowed = largest_expected_count(prior, target, largest_rate=largest, **mechanism)
    assert isinstance(allowed, float) and allowed >= 0
    if allowed == 0:
        return
    rates = random_rates(allowed, largest, seed)
    assert rates.max(initial=0) <= largest and rates.sum() <= allowed
    # two bounds of one law by different grids differ by less than this
    assert bound(rates, prior, **mechanism) <= target * (1 + 1e-3)
    # all at the largest rate, as many as fit
    full = np.full(int(allowed / largest), largest)
    if 0 < len(full) < 10**5:
        assert bound(full, prior, **mechanism) <= target * (1 + 1e-3)


@pytest.mark.few(3)
@pytest.mark.parametrize("method", ["blow_up", "renyi", "kl"])
@pytest.mark.parametrize("prior, target", [(P, R), (1e-12, 1e-3), (1e-3, 0.2)])
def test_little_more_is_too_much(method, prior, target):
    """For small rates: 2 % more examples at the largest rate miss the target."""
    largest = 2e-4
    allowed = largest_expected_count(prior, target, largest_rate=largest, method=method, **MECHANISM)
    more = Participation.binomial(int(np.ceil(1.02 * allowed / largest)), largest)
    assert posterior_bound(more, prior=prior, method=method, **MECHANISM).value > target
    just = Participation.binomial(int(allowed / largest), largest)
    assert posterior_bound(just, prior=prior, method=method, **MECHANISM).value <= target * (1 + 1e-3)


def test_the_rate_limit_costs_its_hazard():
    """−log(1−ρ) ≤ ρ·s: with larger rates allowed the same hazard is used up by fewer examples."""
    small, large = (
        largest_expected_count(P, R, largest_rate=rate, method="kl", **MECHANISM) for rate in (1e-9, 0.5)
    )
    assert large == pytest.approx(small / (2 * np.log(2)), rel=1e-9)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "priors, posteriors, shape",
    [
        (P, R, ()),
        ([P], R, (1,)),
        (P, [1e-5, 1e-4, 1e-3], (3,)),
        ([[1e-9], [1e-8]], [1e-5, 1e-4, 1e-3], (2, 3)),
        ([], [], (0,)),
    ],
)
def test_shapes_and_broadcasting(priors, posteriors, shape):
    given_ = {"largest_rate": 0.01, "method": "kl", **MECHANISM}
    found = largest_expected_count(priors, posteriors, **given_)
    assert np.shape(found) == shape
    if shape == ():
        assert isinstance(found, float)
    for p, r, each in np.broadcast(*np.broadcast_arrays(priors, posteriors), found):
        assert each == pytest.approx(largest_expected_count(float(p), float(r), **given_), rel=2 * PRECISION)


def test_many_targets_together(monkeypatch):
    """They are bisected on one grid: each as it would be by itself, whatever else is asked for."""
    prior, target = np.array([1e-10, 1e-8, 1e-8, 1e-4]), np.array([1e-6, 1e-3, 1e-5, 1e-2])
    given_ = {"largest_rate": 0.01, "method": "kl", **MECHANISM}
    alone = [largest_expected_count(p, r, **given_) for p, r in zip(prior, target, strict=True)]
    monkeypatch.setattr(inverse, "_FEW", 0)
    assert largest_expected_count(prior, target, **given_) == pytest.approx(alone, rel=3 * PRECISION)


def test_where_nothing_is_allowed():
    """A target a hair above the prior, little noise and many rounds: 0, which is certified for no example."""
    target = P * (1 + 1e-13)
    assert (
        largest_expected_count(P, target, largest_rate=0.1, method="kl", noise_multiplier=0.3, rounds=10**6)
        == 0
    )


def test_what_the_method_refuses_is_not_allowed(monkeypatch):
    whole = largest_expected_count(P, R, largest_rate=0.01, method="kl", **MECHANISM)
    curve = inverse.curve_of_runs

    def only_small(runs, **arguments):
        if runs[0].participation.mean > whole / 3:
            raise CertificationError("no")
        return curve(runs, **arguments)

    monkeypatch.setattr(inverse, "curve_of_runs", only_small)
    less = largest_expected_count(P, R, largest_rate=0.01, method="kl", **MECHANISM)
    assert 0 < less <= whole / 3 * (1 + 0.01)


@pytest.mark.parametrize(
    "priors, posteriors, change, named",
    [
        ([1e-6, 1e-3], [1e-3, 1e-4], {}, ["target 1", "0.001", "0.0001"]),
        (1e-3, 1e-3, {}, ["target 0", "0.001"]),
        (0.0, 1e-3, {}, ["target 0", "0.0"]),
        (1e-3, 1.0, {}, ["target 0", "1.0"]),
        (np.nan, 0.5, {}, ["target 0", "nan"]),
        ([[1e-6, 1e-6], [1e-6, np.nan]], 1e-3, {}, ["target 3", "nan"]),
        (P, R, {"largest_rate": 0.0}, ["largest_rate", "0.0"]),
        (P, R, {"largest_rate": 1.0}, ["largest_rate", "1.0"]),
        (P, R, {"largest_rate": np.nan}, ["largest_rate", "nan"]),
        (P, R, {"rounds": 0}, ["rounds", "0"]),
        (P, R, {"noise_multiplier": -1.0}, ["noise_multiplier", "-1.0"]),
        (P, R, {"method": "guess"}, ["method"]),
    ],
)
def test_wrong_input_is_named_with_its_value(priors, posteriors, change, named):
    with pytest.raises(InputError) as refused:
        largest_expected_count(priors, posteriors, **{"largest_rate": 0.1, **MECHANISM, **change})
    for part in named:
        assert part in str(refused.value)


@pytest.mark.parametrize("guess", [-1.0, 0.69, 0.7, 3.0])
@pytest.mark.parametrize("refused_below", [-math.inf, 0.5, 0.7])
def test_the_root_of_a_falling_gap(guess, refused_below):
    """Where too little noise is refused the gap is infinite, so no line goes through it: half the way is next."""
    asked = []

    def gap(log_sigma):
        assert math.isfinite(log_sigma)
        asked.append(log_sigma)
        return math.inf if log_sigma < refused_below else 0.7 - log_sigma

    found = falling_root(gap, guess, precision=1e-4)
    assert found in asked and 0.7 <= found <= 0.7 + 1e-4
    assert len(asked) < 40
