"""The certificates over the whole range of mechanisms: in order, monotone, and never on the wrong side of the
truth where it is known. Outside a method's reach it refuses; `best` always answers.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from sizes import examples

from hush_core.accounting import Bound, Participation, Run, bounds, curve_of_runs, posterior_bound
from hush_core.accounting.bounds import CUT, DIVERGENCE_CUT
from hush_core.errors import CertificationError

SINGLE = ("blow_up", "renyi", "kl", "renyi_preservation")
SLACK = 1e-3

# m, ρ, σ, T, p, blow_up: docs/mathematics.md, printed to five digits


class Case(NamedTuple):
    """counts[i] examples at rates[i]; σ, T and p."""

    counts: tuple[int, ...]
    rates: tuple[float, ...]
    sigma: float
    rounds: int
    prior: float

    def bound(self, method: str, **options) -> Bound:
        own = Participation.from_rates(np.repeat(self.rates, self.counts))
        given = {"noise_multiplier": self.sigma, "rounds": self.rounds, "prior": self.prior}
        return posterior_bound(own, method=method, **given, **options)

    def close(self, usual: float) -> float:
        """How near the two bounds are to be. Few wide losses and a large prior show the grid, up to 2 %."""
        return 3e-2 if self.sigma < 0.6 and self.rounds < 30 and self.prior > 0.01 else usual


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(np.log10(low), np.log10(high)).map(lambda e: float(np.clip(10.0**e, low, high)))


SIGMAS = log_uniform(0.3, 1e4)
ROUNDS = log_uniform(1, 1e6).map(int)
PRIORS = log_uniform(1e-30, 0.5)


@st.composite
def cases(draw, most_examples: int = 10**5) -> Case:
    """Binomials and mixtures of up to four rates. In a third of the cases Σρ is near σ/√T: neither p nor 1."""
    sigma, rounds, prior = draw(SIGMAS), draw(ROUNDS), draw(PRIORS)
    groups = draw(st.sampled_from([1, 1, 1, 2, 4]))
    examples = draw(log_uniform(groups, most_examples).map(int))
    counts = np.maximum(1, examples // np.array([1, 2, 3, 5])[:groups]) if groups > 1 else [examples]
    counts = tuple(int(c) for c in counts)
    rates = draw(st.lists(log_uniform(1e-8, 1.0), min_size=groups, max_size=groups))
    kind = draw(st.integers(0, 9))
    if kind < 4:
        mean = sigma / np.sqrt(rounds) * draw(log_uniform(0.05, 10))
        rates = [r * mean / np.dot(rates, counts) for r in rates]
    elif kind == 9:
        rates[0] = 1.0
    return Case(counts, tuple(min(r, 1.0) for r in rates), sigma, rounds, prior)


def or_none(case: Case, method: str, **options) -> Bound | None:
    """None where the method refuses; any other error is a failure."""
    try:
        return case.bound(method, **options)
    except CertificationError:
        return None


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(cases())
def test_in_order(case):
    """p ≤ lower ≤ blow_up ≤ renyi ≤ kl, up to what the orders' grid and the declared errors leave open."""
    tight = or_none(case, "blow_up", lower=True)
    renyi, kl, preservation = (or_none(case, m) for m in ("renyi", "kl", "renyi_preservation"))
    if tight:
        assert case.prior <= tight.lower <= tight.value <= 1
        assert 0 <= tight.numerical_error <= 0.1 * tight.value
        if tight.numerical_error <= 1e-4 * tight.value:
            assert tight.lower >= (1 - case.close(1e-2)) * tight.value
        for other in filter(None, (renyi, kl, preservation)):
            assert tight.value <= other.value * (1 + SLACK)
    if renyi and kl:
        assert renyi.value <= kl.value * (1 + 5e-3)
    if renyi and preservation:
        assert renyi.value <= preservation.value * (1 + 1e-6)


@settings(max_examples=examples(80), deadline=None, derandomize=True)
@given(cases())
def test_best_always_answers(case):
    best = case.bound("best", lower=True)
    assert case.prior <= best.value <= 1 and best.method in SINGLE
    if best.lower is not None:
        assert case.prior <= best.lower <= best.value
    found = {method: or_none(case, method) for method in SINGLE}
    for single in filter(None, found.values()):
        assert best.value <= single.value * (1 + 2e-3)
    if best.method != "blow_up":
        assert best.note or found["blow_up"].numerical_error > 1e-3 * found["blow_up"].value


@pytest.mark.few(1)
@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(cases(most_examples=3000), st.floats(1.05, 3.0))
@pytest.mark.parametrize("method", ["kl", "renyi", "blow_up"])
def test_monotone(method, case, factor):
    here = or_none(case, method)
    assume(here is not None)
    more = [
        case._replace(rounds=min(int(np.ceil(case.rounds * factor)), 10**6)),
        case._replace(rates=tuple(min(r * factor, 1.0) for r in case.rates)),
    ]
    # for priors so small that the cut of K's tail follows them, renyi gains from the larger cut
    if method != "renyi" or CUT * case.prior / case.rounds >= DIVERGENCE_CUT:
        more.append(case._replace(prior=min(case.prior * factor, 0.5)))
    less = [case._replace(sigma=case.sigma * factor)]
    if len(case.rates) > 1:
        less.append(case._replace(counts=case.counts[1:], rates=case.rates[1:]))
    for other in filter(None, (or_none(c, method) for c in more)):
        assert other.value * (1 + SLACK) >= here.value
    for other in filter(None, (or_none(c, method) for c in less)):
        assert other.value <= here.value * (1 + SLACK)


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(cases(most_examples=3000), st.floats(1.01, 3.0))
def test_monotone_within_the_gap(case, factor):
    """A bound exceeds that of a dominating mechanism by its own upper/lower at most; a lower one never."""
    here = case.bound("best", lower=True)
    more = [
        case._replace(rounds=min(int(np.ceil(case.rounds * factor)), 10**7)),
        case._replace(rates=tuple(min(r * factor, 1.0) for r in case.rates)),
        case._replace(prior=min(case.prior * factor, 0.5)),
        case._replace(sigma=max(case.sigma / factor, 0.05)),
    ]
    for other in (c.bound("best", lower=True) for c in more):
        assert here.lower <= other.value


@pytest.mark.parametrize(
    "m, drawn, sigma, rounds, prior",
    [
        (2342, 2.241e-10, 2.186, 92_382, 5.97e-26),
        (29, 2.152e-10, 2.17, 810_544, 5.554e-26),
        (739, 2.136e-11, 2.837, 19_911, 1.858e-28),
        (2, 3.578e-13, 3.385, 13_174, 8.204e-30),
    ],
)
def test_hardly_ever_drawn_at_tiny_priors(m, drawn, sigma, rounds, prior):
    """Many rounds of tiny losses, of which the sum counts: the two grids must reach far above a single one."""
    case = Case((m,), (drawn / rounds / m,), sigma, rounds, prior)
    bound = case.bound("best", lower=True)
    assert bound.method == "blow_up" and bound.value <= bound.lower * (1 + SLACK)


def test_a_curve_never_falls_in_the_prior(monkeypatch):
    """By construction, whatever the numerics leave: a bound at a larger prior holds at a smaller one."""
    runs, priors = [Run(Participation.binomial(50, 1e-3), 2.0, 500)], np.array([1e-3, 1e-6, 1e-4])
    whole = curve_of_runs(runs, priors=priors, lower=True)
    by = bounds._by

    def uneven(*arguments):
        curve = by(*arguments)
        return replace(
            curve,
            values=curve.values * np.array([1.0, 1e6, 1.0]),
            lower=curve.lower * np.array([1e-6, 1.0, 1.0]),
        )

    monkeypatch.setattr(bounds, "_by", uneven)
    mended = curve_of_runs(runs, priors=priors, method="blow_up", lower=True)
    np.testing.assert_allclose(mended.values, whole.values[[0, 2, 2]], rtol=1e-3)
    np.testing.assert_allclose(mended.lower, whole.lower[[2, 1, 2]], rtol=1e-3)


def check_against(exact: float, bound: Bound, *, close: float = SLACK) -> None:
    """Each on its side of the truth, and close to it."""
    assert exact * (1 - close) <= bound.lower <= exact * (1 + 1e-9)
    assert exact * (1 - 1e-9) <= bound.value <= exact * (1 + close)


@settings(max_examples=examples(160), deadline=None, derandomize=True)
@given(SIGMAS, PRIORS, st.one_of(ROUNDS, st.floats(0.05, 20.0)))
def test_one_sure_example_by_the_closed_form(sigma, prior, rounds):
    """A fraction is a shift √T/σ: most results are then neither the prior nor 1."""
    if isinstance(rounds, float):
        rounds = int(np.clip((rounds * sigma) ** 2, 1, 1e6))
    exact = float(ndtr(ndtri(prior) + np.sqrt(rounds) / sigma))
    check_against(exact, Case((1,), (1.0,), sigma, rounds, prior).bound("blow_up", lower=True))


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(cases())
def test_one_round_by_the_likelihood_ratio_test(case):
    """T = 1: the loss increases in x, so the best event is {x > σ·Φ⁻¹(1−p)}."""
    case = case._replace(rounds=1)
    law = Participation.from_rates(np.repeat(case.rates, case.counts)).distribution
    counts = np.arange(law.first, law.last + 1)
    exact = float(law.pmf @ ndtr(counts / case.sigma + ndtri(case.prior)))
    found = or_none(case, "blow_up", lower=True)
    assume(found is not None)
    check_against(exact, found, close=case.close(SLACK))
