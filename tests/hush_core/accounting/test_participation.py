"""The Poisson-binomial against brute force in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sizes import examples

from hush_core.accounting import Participation
from hush_core.errors import InputError


def exact(rates):
    pmf = [Fraction(1)]
    for rate in map(Fraction, rates):
        lower = [*pmf, Fraction(0)]
        upper = [Fraction(0), *pmf]
        pmf = [a * (1 - rate) + b * rate for a, b in zip(lower, upper, strict=True)]
    return np.array([float(x) for x in pmf])


def dense(participation, size):
    d = participation.distribution
    out = np.zeros(size)
    out[d.first : d.last + 1] = d.pmf
    return out


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=12))
def test_every_probability_is_relatively_accurate(rates):
    np.testing.assert_allclose(
        dense(Participation.from_rates(rates), len(rates) + 1), exact(rates), rtol=1e-12
    )


@pytest.mark.parametrize("count, rate", [(10, 1e-3), (300, 0.3), (100, 2048 / 1.2e6)])
def test_binomial_agrees_with_the_recurrence(count, rate):
    k = Participation.binomial(count, rate).distribution
    reference = binom.pmf(np.arange(k.first, k.last + 1), count, rate)
    large = reference > 1e-60
    np.testing.assert_allclose(k.pmf[large], reference[large], rtol=1e-9)


@pytest.mark.parametrize("rates", [np.full(1000, 0.01), np.linspace(1e-4, 0.2, 1000)])
def test_many_distinct_rates(rates):
    k = Participation.from_rates(rates)
    slow = np.ones(1)
    for rate in rates:
        slow = np.convolve(slow, [1 - rate, rate])
    d = k.distribution
    reference = slow[d.first : d.last + 1]
    large = reference > 1e-60
    np.testing.assert_allclose(d.pmf[large], reference[large], rtol=1e-9)
    assert d.pmf.sum() + d.tail == pytest.approx(1, abs=1e-12)


def test_a_hundred_thousand_examples():
    rates = np.random.default_rng(0).uniform(0, 1, 100_000)
    d = Participation.from_rates(rates).distribution
    k = np.arange(d.first, d.last + 1)
    assert d.tail < 1e-70
    assert d.pmf @ k == pytest.approx(rates.sum(), rel=1e-10)
    variance = d.pmf @ (k - rates.sum()) ** 2
    assert variance == pytest.approx((rates * (1 - rates)).sum(), rel=1e-8)


def test_trimming_accounts_for_everything():
    whole = Participation.binomial(50, 0.1).distribution
    cut = whole.trimmed(1e-6)
    assert 0 < cut.tail <= 1e-6
    assert cut.first > whole.first or cut.last < whole.last
    assert cut.pmf.sum() + cut.tail == pytest.approx(1, abs=1e-14)
    # raised, never lowered: the survival function with the tail on top dominates
    above = [whole.pmf[whole.first + i :].sum() for i in range(len(whole.pmf))]
    for k in range(len(whole.pmf)):
        kept = cut.pmf[max(k - cut.first, 0) :].sum() if k <= cut.last else 0.0
        assert kept + cut.tail >= above[k] - 1e-15


def test_equal_profiles_are_one_key():
    a = Participation.from_rates([0.1, 0.0, 0.2, 0.1])
    b = Participation.from_rates([0.2, 0.1, 0.1])
    assert a == b and hash(a) == hash(b) and len({a, b}) == 1
    assert a != Participation.from_rates([0.2, 0.1])
    assert Participation.binomial(3, 0.5) == Participation.from_rates([0.5] * 3)
    assert a.examples == 3 and a.mean == pytest.approx(0.4)


def test_sure_examples():
    d = Participation.from_rates([1.0, 1.0, 0.5]).distribution
    assert d.first == 2
    np.testing.assert_allclose(d.pmf, [0.5, 0.5])


@pytest.mark.parametrize("bad", [[0.1, np.nan], [-0.1], [1.1]])
def test_a_rate_is_a_probability(bad):
    with pytest.raises(InputError, match="rates"):
        Participation.from_rates(bad)
    with pytest.raises(InputError, match="rate"):
        Participation.binomial(3, bad[-1])


def test_a_count_is_a_whole_number():
    with pytest.raises(InputError, match="count"):
        Participation.binomial(-1, 0.1)
