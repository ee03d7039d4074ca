"""Binomials that stand for many profiles: they dominate in stochastic order, and bounds follow that order."""

import numpy as np
import polars as pl
import pytest
from frames import frame_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sizes import examples

from hush_core.accounting import Participation, posterior_bound
from hush_core.accounting.many_secrets import dominance, each_curve
from hush_core.accounting.many_secrets.dominance import (
    crude_binomials,
    dominated_binomials,
    dominating_binomials,
    dominating_poisson,
    lower_bounds,
    on_grid_of_priors,
)
from hush_core.accounting.many_secrets.one_run import OneRun
from hush_core.accounting.many_secrets.profiles import group_profiles
from hush_core.errors import CertificationError

RATES = st.lists(
    st.one_of(st.floats(-9, -0.01).map(lambda e: 10.0**e), st.floats(0.01, 0.99)), min_size=1, max_size=60
)
RATIOS = st.sampled_from([1.001, 1.02, 1.5, 16.0])
MECHANISM = {"noise_multiplier": 1.5, "rounds": 300}


def survival(rates):
    """P(K ≥ k), k = 0..n, by the recurrence; only sums and products of positive numbers."""
    pmf = np.ones(1)
    for rate in rates:
        pmf = np.append(pmf, 0.0) * (1 - rate) + np.append(0.0, pmf) * rate
    return np.cumsum(pmf[::-1])[::-1]


def dominates(n, rate, rates):
    """P(K ≤_st Binomial): at every k, in the far tail too."""
    own = survival(rates)
    theirs = binom.sf(np.arange(len(own)) - 1, n, rate)
    return bool(np.all(theirs >= own * (1 - 1e-9) - 1e-300) and np.all(theirs >= own - 1e-12))


def sums(rates):
    """Hazard, number and Σρ of one profile, each of shape (1,)."""
    rates = np.asarray(rates)
    return np.array([-np.log1p(-rates).sum()]), np.array([len(rates)]), np.array([rates.sum()])


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(RATES, RATIOS)
@pytest.mark.parametrize("many", [1, dominance._MANY])
def test_a_dominating_binomial_dominates(many, rates, ratio):
    """With `_MANY` at 1 the next power of two of examples; as it is, a Poisson-like one where it is near."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dominance, "_MANY", many)
        (n,), (each,) = dominating_binomials(*sums(rates), ratio)
    if n:
        assert dominates(n, each, rates)
        assert sum(rates) * (1 - 1e-9) <= n * each <= sum(rates) * ratio**2 * (1 + 1e-9)
        assert n >= len(rates)


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(RATES)
def test_the_poisson_and_the_crude_one_dominate(rates):
    hazard, examples, _ = sums(rates)
    n, each = dominating_poisson(float(hazard[0]), int(examples[0]))
    assert n >= dominance._MANY and dominates(n, each, rates)
    (n,), (each,) = crude_binomials(examples, np.array([max(rates)]), 1.1)
    assert dominates(n, each, rates) and max(rates) <= each <= max(rates) * 1.1 * (1 + 1e-9)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(RATES, RATIOS)
def test_a_dominated_binomial_is_dominated(rates, ratio):
    """At every k; one example more of the same hazard together would not be, for equal rates."""
    hazard, _, _ = sums(rates)
    (k,), (each,) = dominated_binomials(hazard, np.array([max(rates)]), ratio)
    theirs, own = survival([each] * min(k, 4 * len(rates))), survival(rates)
    assert 1 <= k <= len(rates) and -k * np.log1p(-each) >= hazard[0] / ratio * (1 - 1e-8)
    own = np.append(own, np.zeros(max(0, len(theirs) - len(own))))[: len(theirs)]
    assert np.all(theirs <= own * (1 + 1e-9))


def test_what_several_profiles_dominate():
    """The least hazard and the largest rate of them; k = 0 where nothing is known, or nothing is drawn."""
    profiles = [[0.1] * 5, [0.3, 0.2, 0.05], [0.01] * 50]
    least = min(float(sums(p)[0][0]) for p in profiles)
    (k,), (each,) = dominated_binomials(np.array([least]), np.array([0.3]), 1.001)
    for rates in profiles:
        own = np.append(survival(rates), np.zeros(k))
        assert np.all(survival([each] * k) <= own[: k + 1] * (1 + 1e-9))
    counts, _ = dominated_binomials(np.array([0.0, np.inf]), np.array([0.0, 1.0]), 1.001)
    assert not counts.any()


def test_lower_bounds_are_below_and_near_the_own_bound():
    profiles = [[1e-3] * 64, [2e-3, 1e-3, 5e-4] * 20, [1e-2]]
    columns = [np.concatenate([sums(p)[0] for p in profiles]), np.array([max(p) for p in profiles])]
    prior = np.array([1e-9, 1e-6, 1e-3])
    found = lower_bounds(*columns, prior, ratio=1.01, method="blow_up", **MECHANISM)
    for rates, p, lower in zip(profiles, prior, found, strict=True):
        own = posterior_bound(
            Participation.from_rates(rates), prior=p, method="blow_up", lower=True, **MECHANISM
        )
        assert 0.8 * own.value <= lower <= own.value


def test_small_rates_share_a_poisson():
    """Profiles of like hazard but other sizes and rates meet in one binomial: that is what makes it cheap."""
    profiles = [np.full(m, 0.01 / m) for m in (50, 130, 800)] + [np.array([0.004, 0.003, 0.002, 0.001])]
    columns = [np.concatenate(c) for c in zip(*map(sums, profiles), strict=True)]
    counts, rates = dominating_binomials(*columns, 1.02)
    assert len(set(rates)) == 1 and set(counts) == {dominance._MANY}


def test_where_none_is_near():
    """A sure example has no finite hazard, a silent secret none at all; both are left to their own rates."""
    hazard = np.array([np.inf, 0.0, 2.0])
    counts, _ = dominating_binomials(hazard, np.array([3, 0, 1]), np.array([1.2, 0.0, -np.expm1(-2.0)]), 1.02)
    assert counts.tolist()[:2] == [0, 0] and counts[2] == 1
    counts, rates = crude_binomials(np.array([3, 0]), np.array([1.0, 0.0]), 1.02)
    assert counts[0] >= 3 and rates.tolist() == [1.0, 0.0]


def of_rates(own, prior):
    """The accountant of one run of these secrets."""
    edges = frame_of(
        example_id=np.arange(sum(map(len, own))),
        secret_id=np.repeat(np.arange(len(own)), [len(rates) for rates in own]),
    )
    table = {"secret_id": np.arange(len(own), dtype=np.uint32), "prior": prior, "posterior": prior**0.1}
    profiles = group_profiles(edges, np.concatenate(own), pl.DataFrame(table))
    return lambda method: OneRun(profiles, MECHANISM["noise_multiplier"], MECHANISM["rounds"], method)


@pytest.fixture(scope="module")
def profiles():
    rng = np.random.default_rng(8)
    own = [10.0 ** rng.uniform(-5, -1.5, rng.integers(1, 60)) for _ in range(60)]
    own += [np.array([0.7, 0.2]), np.array([1.0, 0.1])]
    prior = 10.0 ** rng.uniform(-12, -2, len(own))
    return own, prior, of_rates(own, prior)


@pytest.mark.few(1)
@pytest.mark.parametrize("method", ["blow_up", "kl"])
def test_what_is_inherited_covers_the_secret_and_is_reproducible(profiles, method):
    own, prior, accountant = profiles
    found = accountant(method)
    alone = found.inherit(np.arange(len(own)), 1.02)
    covered = np.setdiff1d(np.arange(len(own)), alone)
    for i in covered:
        mine = posterior_bound(
            Participation.from_rates(own[i]), prior=prior[i], method=method, **MECHANISM
        ).value
        assert mine <= found.bound[i] * (1 + 1e-3)
        (run,) = found.dominating[found.group[i]].runs(found.history)
        again = posterior_bound(
            run.participation, prior=float(found.group_prior[i]), method=method, **MECHANISM
        )
        assert found.bound[i] == pytest.approx(again.value, rel=1e-3) and found.method[i] == again.method
        assert found.numerical_error[i] <= 0.1 * found.bound[i]
    assert len(covered) >= 40 and np.all(found.bound[alone] == np.inf) and alone[-1] == len(own) - 1


@pytest.mark.slow
def test_a_finer_grid_is_tighter_and_close():
    """Where rates are small, little is lost at all: what makes two grids enough."""
    rng = np.random.default_rng(9)
    own = [10.0 ** rng.uniform(-5, -3, rng.integers(40, 200)) for _ in range(20)]
    prior = 10.0 ** rng.uniform(-12, -2, len(own))
    found = []
    for ratio in (1.02, 1.001):
        accountant = of_rates(own, prior)("blow_up")
        accountant.inherit(np.arange(len(own)), ratio)
        found.append(accountant.bound)
    coarse, fine = found
    pairs = [(Participation.from_rates(r), p) for r, p in zip(own, prior, strict=True)]
    mine = np.array([posterior_bound(k, prior=p, method="blow_up", **MECHANISM).value for k, p in pairs])
    assert np.all(np.isfinite(fine)) and np.all(fine <= coarse * (1 + 1e-3))
    assert np.all(fine <= mine * 1.02)


def test_what_the_method_refuses_is_left_without_a_bound(profiles, monkeypatch):
    own, _, accountant = profiles
    whole, left, secrets = accountant("kl"), accountant("kl"), np.arange(len(own))
    alone = whole.inherit(secrets, 1.02)
    refused = whole.dominating[whole.group[0]].runs(whole.history)
    curve = each_curve.curve_of_runs

    def picky(runs, **arguments):
        if runs == refused:
            raise CertificationError("no")
        return curve(runs, **arguments)

    monkeypatch.setattr(each_curve, "curve_of_runs", picky)
    without = whole.group == whole.group[0]
    assert set(left.inherit(secrets, 1.02)) == {*alone, *np.flatnonzero(without)}
    assert np.all(left.bound[without] == np.inf)
    np.testing.assert_array_equal(left.bound[~without], whole.bound[~without])


def test_priors_are_rounded_up_only():
    few = np.geomspace(1e-9, 0.4, 64)
    assert on_grid_of_priors(few, 1.02, upwards=True) is few
    priors = np.append(np.geomspace(1e-29, 0.995, 500), [1e-30, 0.5])
    raised = on_grid_of_priors(priors, 1.02, upwards=True)
    assert np.all((raised >= priors) & (raised <= priors * 1.02 * (1 + 1e-9)) & (raised < 1))
    dense = np.geomspace(1e-9, 2e-9, 500)
    assert len(np.unique(on_grid_of_priors(dense, 1.02, upwards=True))) < 40
    lowered = on_grid_of_priors(priors, 1.02, upwards=False)
    assert np.all((lowered <= priors) & (lowered >= priors / 1.02 * (1 - 1e-9)))


ORDERED = st.tuples(
    st.lists(st.floats(-6, -0.5).map(lambda e: 10.0**e), min_size=2, max_size=12),
    st.sampled_from(["equalised", "raised", "longer", "binomial"]),
    st.floats(0.05, 1.0),
    st.floats(0.4, 20.0),
    st.integers(1, 2000),
    st.floats(-12, -0.5).map(lambda e: 10.0**e),
)


def raised_in_order(rates, how, amount):
    """A multiset of rates whose count is above in stochastic order."""
    if how == "equalised":  # hazard moved from the largest to the smallest, the sum kept
        hazard = np.sort(-np.log1p(-np.array(rates)))
        move = amount * (hazard[-1] - hazard[0]) / 2
        hazard[0], hazard[-1] = hazard[0] + move, hazard[-1] - move
        return -np.expm1(-hazard)
    if how == "raised":
        return np.array(rates) ** (1 - amount / 2)
    if how == "longer":
        return np.append(rates, amount * rates[0])
    n = 2 * len(rates)
    return np.full(n, -np.expm1(-sums(rates)[0][0] / n))


@pytest.mark.few(1)
@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(ORDERED)
@pytest.mark.parametrize("method", ["kl", "renyi", "blow_up"])
def test_bounds_follow_the_stochastic_order(method, case):
    rates, how, amount, sigma, rounds, prior = case
    above = raised_in_order(rates, how, amount)
    larger, smaller = survival(above), survival(rates)
    assert np.all(larger[: len(smaller)] >= smaller * (1 - 1e-9))
    values = []
    for each in (rates, above):
        try:
            k = Participation.from_rates(each)
            how = {"noise_multiplier": sigma, "rounds": rounds, "method": method}
            values.append(posterior_bound(k, **how, prior=prior).value)
        except CertificationError:
            return
    assert values[0] <= values[1] * (1 + 1e-3)
