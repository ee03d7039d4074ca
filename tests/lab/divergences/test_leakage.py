"""Leakage in bits: closed forms, an independent quadrature, the paper's lemmas and the facts it reads off."""

from itertools import pairwise

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri
from scipy.stats import binom
from sizes import examples

from hush_core.accounting import Participation, posterior_bound
from hush_core.errors import CertificationError, InputError
from lab.divergences import leakage
from lab.divergences.leakage import absolute_leakage_bits, epsilon_from_renyi, leakage_bits

pytestmark = pytest.mark.slow

PAPER = Participation.binomial(1, 2.81e-4)
ROUNDS = 186_000
"""The setting of the paper's figures 1 and 2 (its §4.3), with σ from 0.3 to 0.5."""


@pytest.mark.parametrize("sigma, rounds", [(20.0, 100), (0.3, 2), (1e3, 7), (3.0, 10**5), (1e6, 1)])
def test_closed_form_for_one_sure_example(sigma, rounds):
    """d_α = αg with g = T/2σ²: l = (α − 1)g + c/α is least at α = √(c/g), h = αg + c/(α − 1) at 1 + √(c/g)."""
    bits = np.array([1e-3, 0.3, 1.0, 7.0, 40.0, 1000.0])
    c, g = bits * np.log(2), rounds / (2 * sigma**2)
    exact = np.where(c > g, 2 * np.sqrt(g * c) - g, c) / np.log(2)
    arguments = {"noise_multiplier": sigma, "rounds": rounds, "secret_bits": bits}
    got = leakage_bits(Participation.binomial(1, 1.0), **arguments)
    assert np.all(got >= exact * (1 - 1e-12)) and np.all(got <= exact * (1 + 1e-3) + 1e-6 * bits)
    got, exact = absolute_leakage_bits(Participation.binomial(1, 1.0), **arguments), g + 2 * np.sqrt(g * c)
    exact = exact / np.log(2)
    assert np.all(got >= exact * (1 - 1e-12)) and np.all(got <= exact * (1 + 1e-3) + 1e-6 * bits)
    # and neither is below what the best test reaches (Φ(Φ⁻¹(p) + √T/σ))
    p = 2.0 ** -bits[:-1]
    tight = bits[:-1] + np.log2(ndtr(ndtri(p) + np.sqrt(rounds) / sigma))
    assert np.all(leakage_bits(Participation.binomial(1, 1.0), **arguments)[:-1] >= tight - 1e-12)


@pytest.mark.parametrize(
    "m, rho, sigma, rounds, bits",
    [
        (1, 2.81e-4, 0.4, ROUNDS, 40.0),
        (1, 2.81e-4, 0.3, ROUNDS, 300.0),
        (5, 1e-3, 1.0, 1000, 20.0),
        (4, 3.4e-7, 0.908, 638, 80.0),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value", "ignore:divide by zero")
def test_against_a_plain_quadrature(m, rho, sigma, rounds, bits):
    """Moments by scipy's binomial and the trapezoid rule, minimised by Brent's method from many starts."""
    k = np.arange(m + 1)
    x = np.linspace(-12 * sigma, 60 * m + 12 * sigma, 400_001)
    exponents = (2 * k * x[:, None] - k**2) / (2 * sigma**2) + binom.logpmf(k, m, rho)
    loss = np.logaddexp.reduce(exponents, axis=1)
    log_q = -(x**2) / (2 * sigma**2) - np.log(sigma * np.sqrt(2 * np.pi))

    def moment(order):
        terms = order * loss + log_q
        return rounds * (terms.max() + np.log(np.trapezoid(np.exp(terms - terms.max()), x)))

    def least(pole):
        def ratio(log_less):
            order = 1 + np.exp(log_less)
            return (moment(order) + bits * np.log(2)) / (order - pole)

        starts = np.linspace(-4, 4, 9)  # orders up to 56, whose integrands end before the last x
        found = [
            minimize_scalar(ratio, bounds=pair, method="bounded", options={"xatol": 1e-6})
            for pair in pairwise(starts)
        ]
        return min(each.fun for each in found) / np.log(2)

    arguments = {"noise_multiplier": sigma, "rounds": rounds, "secret_bits": bits}
    for function, pole in ((leakage_bits, 0), (absolute_leakage_bits, 1)):
        exact, got = least(pole), function(Participation.binomial(m, rho), **arguments)
        assert exact * (1 - 1e-6) <= got <= exact * (1 + 1e-3)


CASES = st.fixed_dictionaries(
    {
        "participation": st.lists(st.floats(1e-6, 0.3), min_size=1, max_size=12).map(
            Participation.from_rates
        ),
        "noise_multiplier": st.floats(0.3, 50.0),
        "rounds": st.integers(1, 200_000),
    }
)


@settings(max_examples=examples(25), deadline=None, derandomize=True)
@given(CASES)
def test_the_lemmas_of_appendix_a2(case):
    """L2 is non-decreasing and concave in b, and so is b − L2 non-decreasing; l < h at every order."""
    bits = np.linspace(0.5, 90, 180)
    leak = leakage_bits(**case, secret_bits=bits)
    usual = absolute_leakage_bits(**case, secret_bits=bits)
    slack = 2e-5 * leak[1:] + 2e-6 * bits[1:]  # the precision of a value
    rise = np.diff(leak)
    assert np.all(leak > 0) and np.all(leak <= bits)
    assert np.all(rise >= -slack)
    assert np.all(np.diff(rise) <= 2 * slack[1:])
    assert np.all(np.diff(bits - leak) >= -slack)
    assert np.all(leak < usual * (1 + 1e-3) + 1e-6 * bits)


@settings(max_examples=examples(15), deadline=None, derandomize=True)
@given(CASES)
def test_noise_helps_and_rounds_hurt(case):
    bits = np.array([2.0, 20.0, 60.0])
    for function in (leakage_bits, absolute_leakage_bits):
        here = function(**case, secret_bits=bits)
        more_noise = {**case, "noise_multiplier": 1.2 * case["noise_multiplier"]}
        assert np.all(function(**more_noise, secret_bits=bits) <= here * (1 + 1e-3) + 1e-6 * bits)
        more_rounds = {**case, "rounds": 2 * case["rounds"]}
        assert np.all(function(**more_rounds, secret_bits=bits) * (1 + 1e-3) + 1e-6 * bits >= here)


@pytest.mark.parametrize(
    "participation, sigma, rounds",
    [
        (PAPER, 0.3, ROUNDS),
        (PAPER, 0.4, ROUNDS),
        (PAPER, 0.5, ROUNDS),
        (Participation.binomial(7, 0.02), 4.0, 300),
        (Participation.binomial(100, 2048 / 1.2e6), 3.0, 2000),
        (Participation.binomial(20_000, 1e-4), 6.0, 500),
    ],
)
def test_it_is_the_bound_of_probability_preservation(participation, sigma, rounds):
    bits = np.array([5.0, 10.0, 33.2])
    leak = leakage_bits(participation, noise_multiplier=sigma, rounds=rounds, secret_bits=bits)
    for length, own in zip(bits, leak, strict=True):
        mechanism = {"noise_multiplier": sigma, "rounds": rounds, "method": "renyi_preservation"}
        bound = posterior_bound(participation, **mechanism, prior=2.0**-length)
        assert 2.0 ** (own - length) == pytest.approx(bound.value, rel=5e-3)


@pytest.mark.parametrize("sigma", [0.3, 0.4, 0.5])
@pytest.mark.parametrize("bits", [3.0, 30.0, 90.0])
def test_the_tight_certificate_is_below_it(sigma, bits):
    tight = posterior_bound(
        PAPER, noise_multiplier=sigma, rounds=ROUNDS, prior=2.0**-bits, method="blow_up"
    ).value
    leak = leakage_bits(PAPER, noise_multiplier=sigma, rounds=ROUNDS, secret_bits=bits)
    assert bits + np.log2(tight) <= leak + 2e-3  # its own excess, 0.1 % of the posterior


def test_figure_1_partial_leakage_where_the_usual_bound_says_total():
    bits = np.arange(1.0, 101.0)
    ratio = []
    for sigma in (0.3, 0.4, 0.5):
        arguments = {"noise_multiplier": sigma, "rounds": ROUNDS, "secret_bits": bits}
        leak, usual = leakage_bits(PAPER, **arguments), absolute_leakage_bits(PAPER, **arguments)
        assert leak[52] < 53  # the paper's canary, 16 digits, 53.15 bits: "not able to fully reconstruct"
        ratio.append(usual[39] / leak[39])
    assert ratio[0] > ratio[1] > ratio[2]  # "our bound is comparatively better for lower levels of σ"
    assert ratio == pytest.approx([4.457, 1.932, 1.411], rel=2e-3)


def test_figure_2_stays_below_40_bits_where_the_usual_bound_is_vacuous():
    def at(rounds, function):
        return function(PAPER, noise_multiplier=0.4, rounds=rounds, secret_bits=40.0)

    assert at(ROUNDS, leakage_bits) == pytest.approx(25.435, abs=0.02)
    assert at(ROUNDS, absolute_leakage_bits) == pytest.approx(49.135, abs=0.05)
    assert at(80_000, absolute_leakage_bits) < 40 < at(93_000, absolute_leakage_bits)
    assert at(2_500_000, leakage_bits) < 40 == at(3_000_000, leakage_bits)


@pytest.mark.parametrize(
    "sigma, rounds, rate, delta",
    [(0.4, ROUNDS, 2.81e-4, 3e-7), (0.5, ROUNDS, 2.81e-4, 3e-7), (1.1, 5000, 0.01, 1e-5), (5.0, 1, 1.0, 0.2)],
)
def test_epsilon_is_that_of_dp_accounting(sigma, rounds, rate, delta):
    accountant = RdpAccountant(1 + np.geomspace(1e-2, 100, 1500))
    event = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
    accountant.compose(dp_accounting.SelfComposedDpEvent(event, rounds))
    got = epsilon_from_renyi(
        Participation.binomial(1, rate), noise_multiplier=sigma, rounds=rounds, delta=delta
    )
    assert got == pytest.approx(accountant.get_epsilon(delta), rel=1e-3, abs=1e-6)


def test_epsilon_is_never_negative():
    nearly_nothing = {"noise_multiplier": 1e4, "rounds": 1, "delta": 0.9}
    assert epsilon_from_renyi(Participation.binomial(1, 1e-3), **nearly_nothing) == 0


def test_shapes_and_values_do_not_depend_on_the_company():
    k = Participation.binomial(2000, 5e-4)  # its tails are cut elsewhere for every length
    arguments = {"noise_multiplier": 1.5, "rounds": 300}
    together = leakage_bits(k, **arguments, secret_bits=[[10.0, 60.0], [150.0, 1000.0]])
    assert together.shape == (2, 2)
    alone = leakage_bits(k, **arguments, secret_bits=60.0)
    assert isinstance(alone, float) and alone == pytest.approx(together[0, 1], rel=2e-5)
    assert leakage_bits(k, **arguments, secret_bits=[]).shape == (0,)


def test_what_is_cut_of_the_count_is_paid_for():
    """Of 5,000 examples K's tail ends at 1e-80 (266 bits): a longer secret is certified no better than that."""
    k = Participation.binomial(5000, 1e-3)
    tail = k.distribution.tail
    assert tail > 0
    leak = leakage_bits(k, noise_multiplier=1e3, rounds=10, secret_bits=1000.0)
    assert leak >= 1000 + np.log2(10 * tail)
    assert leak == pytest.approx(1000 + np.log2(10 * tail), abs=1e-3)


def test_no_participation_leaks_nothing():
    k = Participation.from_rates([0.0, 0.0])
    assert leakage_bits(k, noise_multiplier=1.0, rounds=10, secret_bits=7.0) == 0
    assert absolute_leakage_bits(k, noise_multiplier=1.0, rounds=10, secret_bits=7.0) == 0
    assert epsilon_from_renyi(k, noise_multiplier=1.0, rounds=10, delta=1e-5) == 0


@pytest.mark.parametrize("function", [leakage_bits, absolute_leakage_bits])
@pytest.mark.parametrize(
    "change, named",
    [
        ({"secret_bits": 0.0}, "secret_bits"),
        ({"secret_bits": [3.0, -1.0]}, "secret_bits"),
        ({"secret_bits": float("nan")}, "secret_bits"),
        ({"secret_bits": float("inf")}, "secret_bits"),
        ({"noise_multiplier": 0.0}, "noise_multiplier"),
        ({"rounds": 0}, "rounds"),
    ],
)
def test_wrong_arguments_are_named(function, change, named):
    good = {"noise_multiplier": 1.0, "rounds": 10, "secret_bits": 20.0}
    with pytest.raises(InputError, match=named):
        function(PAPER, **{**good, **change})


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, float("nan")])
def test_delta_is_a_probability(delta):
    with pytest.raises(InputError, match="delta"):
        epsilon_from_renyi(PAPER, noise_multiplier=1.0, rounds=10, delta=delta)


@pytest.mark.parametrize("change", [{"noise_multiplier": 1e-3}, {"noise_multiplier": 1e9}, {"rounds": 10**9}])
def test_beyond_the_numerics_it_refuses(change):
    with pytest.raises(CertificationError):
        leakage_bits(PAPER, **{"noise_multiplier": 1.0, "rounds": 10, "secret_bits": 20.0, **change})


def test_a_minimum_that_is_not_bracketed_is_refused(monkeypatch):
    monkeypatch.setattr(leakage, "_STEPS", 3)
    with pytest.raises(CertificationError, match="not found"):
        leakage_bits(PAPER, noise_multiplier=0.4, rounds=ROUNDS, secret_bits=40.0)
