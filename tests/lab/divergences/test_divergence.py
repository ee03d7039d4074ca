"""Divergences by name or by function: closed forms, quadrature, the other methods, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import binom
from sizes import examples

from hush_core.accounting import Participation, posterior_bound
from hush_core.accounting.bernoulli import target_kl
from hush_core.accounting.kl import kl_divergence, posteriors_from_kl
from hush_core.accounting.mixture import DominatingPair
from hush_core.accounting.renyi import RenyiMoments, posterior_by_lemma
from hush_core.errors import CertificationError, InputError
from lab.divergences import composed as composed_divergence
from lab.divergences.bound import (
    f_divergence,
    posterior_by_divergence,
    posterior_from_divergence,
)
from lab.divergences.divergence import (
    CHI_SQUARED,
    KL,
    SQUARED_HELLINGER,
    TOTAL_VARIATION,
    Divergence,
    hockey_stick,
)

pytestmark = pytest.mark.slow

SURE = Participation.binomial(1, 1.0)
# given as a user would, without a gauge
GIVEN_CHI = Divergence("chi squared, as given", lambda y: y**2 - 1, np.inf, -1.0)
GIVEN_KL = Divergence("KL, as given", lambda y: y * np.log(y), np.inf, 0.0)
REVERSE_KL = Divergence("reverse KL", lambda y: -np.log(y), 0.0, np.inf)
HALFWAY = Divergence(
    "Jensen–Shannon", lambda y: y * np.log(y) - (y + 1) * np.log((y + 1) / 2), np.log(2), np.log(2)
)
BUILT_IN = [KL, CHI_SQUARED, TOTAL_VARIATION, SQUARED_HELLINGER]
ALL = [*BUILT_IN, GIVEN_CHI, GIVEN_KL, REVERSE_KL, HALFWAY, hockey_stick(0.3), hockey_stick(-0.2)]


def name(divergence):
    return divergence.name


@pytest.mark.parametrize("cut", [1e-6, 1e-12])
def test_no_more_is_cut_than_was_allowed(cut):
    """So much in K's tail over all rounds, in a round's loss and in the composed loss: three times `cut`."""
    mechanism = {"noise_multiplier": 5.0, "rounds": 100, "divergence": KL}
    found = f_divergence(Participation.binomial(50, 0.02), cut=cut, **mechanism)
    assert 0 < found.cut <= 3 * cut


def gaussian_delta(mu, epsilon):
    return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize(
    "sigma, rounds", [(20.0, 100), (1.0, 1), (1e4, 1000), (10.0, 900), (0.5, 4), (900.0, 10**5)]
)
def test_closed_forms_for_one_sure_example(sigma, rounds):
    """N(μ, 1) against N(0, 1) with μ = √T/σ, from 3e-3 to 4: F from 1e-9 up to 1e7."""
    mu = np.sqrt(rounds) / sigma
    tail = 3 * mu + mu**2 / 2
    for divergence, exact in [
        (TOTAL_VARIATION, 2 * ndtr(mu / 2) - 1),
        (KL, mu**2 / 2),
        (GIVEN_KL, mu**2 / 2),
        (REVERSE_KL, mu**2 / 2),
        (CHI_SQUARED, np.expm1(mu**2)),
        (GIVEN_CHI, np.expm1(mu**2)),
        (SQUARED_HELLINGER, -2 * np.expm1(-(mu**2) / 8)),
        (hockey_stick(mu), gaussian_delta(mu, mu)),
        (hockey_stick(tail), gaussian_delta(mu, tail)),
        (hockey_stick(-mu), gaussian_delta(mu, -mu) + np.expm1(-mu)),
    ]:
        if exact < 1e-7 and divergence in (GIVEN_KL, GIVEN_CHI, REVERSE_KL):
            continue  # without a gauge the round-off of f itself shows
        found = f_divergence(SURE, noise_multiplier=sigma, rounds=rounds, divergence=divergence)
        # subtracting numbers near 1 costs the closed form of δ(ε) its last digits
        assert exact * (1 - 1e-9) - 2e-16 <= found.value <= exact * (1 + 5e-4)
        assert found.numerical_error <= 1e-3 * found.value
        assert found.cut <= 1e-19 and found.reference_cut <= 1e-13
        assert (found.cut > 0) == (divergence in (KL, GIVEN_KL, GIVEN_CHI))
        assert (found.reference_cut > 0) == (divergence is REVERSE_KL)


def by_quadrature(f, count, rate, sigma, rounds):
    """∫ Q·f(P/Q) of one round or of two, by the trapezoid rule on the densities themselves."""
    k = np.arange(count + 1)
    points = 40_001 if rounds == 1 else 1_501
    x = np.linspace(-9 * sigma, 2 * count + 10 * sigma, points)
    q = np.exp(-(x**2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi)) * (x[1] - x[0])
    ratio = np.exp((k * x[:, None] - k**2 / 2) / sigma**2) @ binom.pmf(k, count, rate)
    if rounds == 2:
        q, ratio = np.multiply.outer(q, q), np.multiply.outer(ratio, ratio)
    return float((q * f(ratio)).sum())


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("count, rate, sigma", [(3, 0.3, 1.5), (5, 0.05, 0.9)])
@pytest.mark.parametrize("divergence", ALL, ids=name)
def test_one_and_two_rounds_by_quadrature(divergence, count, rate, sigma, rounds):
    exact = by_quadrature(divergence.f, count, rate, sigma, rounds)
    k = Participation.binomial(count, rate)
    found = f_divergence(k, noise_multiplier=sigma, rounds=rounds, divergence=divergence, cut=1e-40).value
    # the trapezoid rule has an error of its own where f has a kink
    assert exact * (1 - 1e-4) <= found <= exact * (1 + 1e-3)


@pytest.mark.parametrize(
    "m, rho, sigma, rounds",
    [
        (1, 1e-3, 1.0, 1000),
        (10, 1e-3, 1.0, 1000),
        (50, 1e-3, 2.0, 500),
        (7, 0.02, 4.0, 300),
        (100, 2048 / 1.2e6, 3.0, 2000),
        (3, 1e-4, 50.0, 10),  # KL of 5e-10
    ],
)
def test_the_generic_route_against_kl_and_renyi(m, rho, sigma, rounds):
    k = Participation.binomial(m, rho)
    pair = DominatingPair(k.distribution, sigma)
    kl = rounds * kl_divergence(pair)
    chi = np.expm1(rounds * RenyiMoments(pair, 2.0).log_moment(2.0))
    arguments = {"noise_multiplier": sigma, "rounds": rounds}
    assert kl * (1 - 1e-8) <= f_divergence(k, **arguments, divergence=KL).value <= kl * (1 + 3e-4)
    assert f_divergence(k, **arguments, divergence=CHI_SQUARED).value == pytest.approx(chi, rel=1e-9)
    if chi > 1e-6:
        generic = f_divergence(k, **arguments, divergence=GIVEN_CHI).value
        assert chi * (1 - 1e-6) <= generic <= chi * (1 + 1e-3)
    # and so the posteriors
    prior = 1e-8
    for divergence in (KL, GIVEN_KL) if kl > 1e-6 else (KL,):
        found = posterior_by_divergence(k, **arguments, prior=prior, divergence=divergence)
        reference = posterior_bound(k, **arguments, prior=prior, method="kl").value
        assert found.value == pytest.approx(reference, rel=1e-3) and found.method == divergence.name
    lemma = posterior_by_lemma(np.log1p(chi), np.array([2.0]), np.array([prior]))[0]
    for divergence in (CHI_SQUARED, GIVEN_CHI) if kl > 1e-6 else (CHI_SQUARED,):
        found = posterior_by_divergence(k, **arguments, prior=prior, divergence=divergence)
        assert found.value == pytest.approx(lemma, rel=1e-3)


CASES = st.tuples(
    st.integers(1, 60),
    st.floats(-6.0, -0.3).map(lambda e: 10.0**e),
    st.floats(-0.7, 2.0).map(lambda e: 10.0**e),
    st.integers(1, 2000),
    st.floats(-12.0, -0.3).map(lambda e: 10.0**e),
)


@settings(max_examples=examples(25), deadline=None, derandomize=True)
@given(CASES)
def test_no_divergence_is_below_the_blow_up(case):
    m, rho, sigma, rounds, prior = case
    k = Participation.binomial(m, rho)
    arguments = {"noise_multiplier": sigma, "rounds": rounds, "prior": prior}
    tight = posterior_bound(k, **arguments, method="blow_up", lower=True)
    corner = float(np.clip(0.8 * np.log(tight.value / prior), 0, 100))
    for divergence in [*BUILT_IN, HALFWAY, REVERSE_KL, hockey_stick(corner)]:
        found = posterior_by_divergence(k, **arguments, divergence=divergence)
        # the lower bound is the power of a test; where draws are rarest the upper one is not tight to 1e-3
        assert tight.lower <= found.value <= 1
        if tight.value - tight.lower <= 1e-3 * tight.value:
            assert found.value >= tight.value * (1 - 1e-3)
        assert found.numerical_error <= 0.1 * found.value


@pytest.mark.parametrize(
    "m, rho, sigma, rounds, prior",
    [
        (10, 1e-3, 1.0, 1000, 1e-6),
        (7, 0.02, 4.0, 300, 1e-3),
        (1, 1.0, 20.0, 100, 1e-8),
        (100, 2048 / 1.2e6, 3.0, 2000, 1e-10),
        (4, 0.1, 1.2, 8, 0.3),  # here the best ε is below 0
        (1, 2.81e-4, 0.1, 100, 1e-9),  # most of the bound is losses beyond the grid
    ],
)
def test_the_best_hockey_stick_is_the_blow_up(m, rho, sigma, rounds, prior):
    k = Participation.binomial(m, rho)
    arguments = {"noise_multiplier": sigma, "rounds": rounds, "prior": prior}
    tight = posterior_bound(k, **arguments, method="blow_up").value

    def bound(epsilon):
        return posterior_by_divergence(k, **arguments, divergence=hockey_stick(epsilon)).value

    best = minimize_scalar(
        bound, bounds=(-2, np.log(tight / prior) + 2), method="bounded", options={"xatol": 5e-3}
    )
    assert tight * (1 - 1e-3) <= best.fun <= tight * (1 + 1e-3)
    # in its own terms, where T·δ's cut is small
    if sigma > 0.5 and best.x > 0:
        delta = f_divergence(k, noise_multiplier=sigma, rounds=rounds, divergence=hockey_stick(best.x)).value
        assert best.fun == pytest.approx(np.exp(best.x) * prior + delta, rel=5e-4)


@pytest.mark.parametrize("prior", [1e-30, 1e-10, 0.01, 0.6])
@pytest.mark.parametrize("budget", [1e-33, 1e-20, 1e-9, 1e-3, 0.2])
def test_posteriors_in_closed_form(prior, budget):
    rest = np.sqrt(budget * prior * (1 - prior))
    for divergence, exact in [
        (TOTAL_VARIATION, prior + budget),
        (CHI_SQUARED, prior + rest),
        (hockey_stick(1.5), np.exp(1.5) * prior + budget),
        (hockey_stick(0.0), prior + budget),
        (KL, posteriors_from_kl(budget, np.array([prior]))[0]),
    ]:
        found, exact = posterior_from_divergence(divergence, budget, prior), min(exact, 1.0)
        assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-8)
        # relative to what the adversary gains, too
        if prior < exact < 1 and divergence is not KL:
            assert found - prior == pytest.approx(exact - prior, rel=1e-8, abs=1e-14 * prior)
    found = posterior_from_divergence(GIVEN_KL, budget, prior)
    assert found >= posterior_from_divergence(KL, budget, prior) * (1 - 1e-12)
    if found < 1 and budget > 1e-12 * prior:
        assert target_kl(prior, found) == pytest.approx(budget, rel=1e-3)


def test_where_every_posterior_has_it_the_bound_is_one():
    assert posterior_from_divergence(HALFWAY, 2.0, 0.1) == 1  # its largest value is 2·log 2
    assert posterior_from_divergence(TOTAL_VARIATION, 0.95, 0.1) == 1
    sure = {"noise_multiplier": 9.0, "rounds": 9, "prior": 1 - 1e-16}
    assert posterior_by_divergence(SURE, **sure, divergence=KL).value == 1
    arguments = {"noise_multiplier": 0.1, "rounds": 1000, "prior": 1e-9}
    for divergence in (KL, TOTAL_VARIATION, HALFWAY, CHI_SQUARED):
        assert posterior_by_divergence(SURE, **arguments, divergence=divergence).value == 1


def test_rare_certain_detection_is_paid_for_once():
    """σ small: a draw shows for sure. KL's own integral counts it with all its loss."""
    k, arguments = Participation.binomial(3, 1e-6), {"noise_multiplier": 0.05, "rounds": 100, "prior": 1e-9}
    seen = -np.expm1(300 * np.log1p(-1e-6))
    found = posterior_by_divergence(k, **arguments, divergence=KL).value
    assert seen <= found <= seen * 1.001
    assert posterior_bound(k, **arguments, method="kl").value > 10 * seen


def test_what_is_cut_is_left_out_or_added():
    """One round of N(1, 1), of which a hundredth is cut: KL is that of the rest, TV that of the whole."""
    arguments = {"noise_multiplier": 1.0, "rounds": 1, "cut": 0.01}
    end = 1 + ndtri(0.99)
    x = np.linspace(-12, end, 400_001)
    density = np.exp(-((x - 1) ** 2) / 2) / np.sqrt(2 * np.pi)
    rest = np.trapezoid(density * (x - 0.5 - np.log(0.99)), x) / 0.99
    found = f_divergence(SURE, **arguments, divergence=KL)
    assert found.cut == pytest.approx(0.01, rel=1e-6) and found.reference_cut == 0
    assert rest * (1 - 1e-9) <= found.value <= rest + 1e-3  # Q's mass where P was cut counts, too
    found = f_divergence(SURE, **arguments, divergence=TOTAL_VARIATION)
    whole = 2 * ndtr(0.5) - 1
    assert found.cut == 0 and whole <= found.value <= whole + 0.01


def test_a_coarse_grid_is_loose_and_still_above_the_truth(monkeypatch):
    monkeypatch.setattr(composed_divergence, "LONGEST_FFT", 128)
    for divergence, exact in ((KL, 0.125), (TOTAL_VARIATION, 2 * ndtr(0.25) - 1)):
        found = f_divergence(SURE, noise_multiplier=20.0, rounds=100, divergence=divergence).value
        assert exact * 1.001 < found < 3 * exact


def test_round_off_that_is_not_small_is_refused(monkeypatch):
    mu, arguments = 0.5, {"noise_multiplier": 20.0, "rounds": 100}
    far = hockey_stick(2.8)
    sound = f_divergence(SURE, **arguments, divergence=far).value
    # the closed form by quadrature of the normal density: it is 1e-9 and below
    x = np.linspace(2.8 / mu + mu / 2, 30, 400_001)
    excess = (np.exp(mu * x - mu**2 / 2) - np.exp(2.8)) * np.exp(-(x**2) / 2)
    exact = np.trapezoid(excess, x) / np.sqrt(2 * np.pi)
    assert exact < 1e-8 and exact * (1 - 1e-6) <= sound <= exact * (1 + 1e-3)
    farther = hockey_stick(4.5)
    assert f_divergence(SURE, **arguments, divergence=farther, cut=1e-30).value < 1e-18
    monkeypatch.setattr(composed_divergence, "_MOST_TILTS", 1)
    with pytest.raises(CertificationError, match="round-off"):
        f_divergence(SURE, **arguments, divergence=farther, cut=1e-30)


def test_one_round_alone_has_no_round_off():
    k = Participation.binomial(3, 0.3)
    assert f_divergence(k, noise_multiplier=1.5, rounds=1, divergence=KL).numerical_error < 1e-17


def test_no_participation_leaves_the_prior():
    silent = Participation.from_rates([0.0])
    for divergence in ALL:
        found = posterior_by_divergence(
            silent, noise_multiplier=1.0, rounds=9, prior=1e-7, divergence=divergence
        )
        assert found.value == 1e-7 and found.method == divergence.name
        assert f_divergence(silent, noise_multiplier=1.0, rounds=9, divergence=divergence).value == 0


@pytest.mark.parametrize(
    "f, slope, zero, said",
    [
        (lambda y: np.sqrt(y) - 1, 0.0, -1.0, "not convex"),
        (lambda y: y * np.log(y) + 0.3 * np.sin(4 * (y - 1)), np.inf, 0.3, "not convex"),
        (lambda y: y**2, np.inf, 0.0, r"f\(1\) is 1"),
        (lambda y: np.where(y > 50, np.nan, (y - 1) ** 2), np.inf, 1.0, "no finite"),
        (lambda y: np.where(y < 1e-3, np.inf, (y - 1) ** 2), np.inf, 1.0, "no finite"),
        (lambda y: max(y - 1, 0), 1.0, 0.0, "array"),
        (lambda y: (y - 1)[:3] ** 2, np.inf, 1.0, "array"),
        (lambda y: (y - 1) ** 2, 100.0, 1.0, "slope_at_infinity"),
        (lambda y: (y - 1) ** 2, float("nan"), 1.0, "slope_at_infinity"),
        (lambda y: (y - 1) ** 2, np.inf, 0.5, "value_at_zero"),
        (lambda y: -np.log(y), 0.0, 100.0, "value_at_zero"),
        (lambda y: 3 * (y - 1), 3.0, -3.0, "straight line"),
    ],
)
def test_a_wrong_function_is_refused_by_name(f, slope, zero, said):
    with pytest.raises(InputError, match=f"divergence mine: .*{said}"):
        Divergence("mine", f, slope, zero)


@pytest.mark.parametrize("gauge", [lambda v: np.exp(v) * v, lambda v: v**2 / 2, lambda v: 1.0])
def test_a_wrong_gauge_is_refused_by_name(gauge):
    with pytest.raises(InputError, match="divergence mine: gauge"):
        Divergence("mine", KL.f, np.inf, 0.0, gauge)


def test_functions_that_are_right_are_taken():
    for f, slope, zero in [
        (np.expm1, np.inf, 0.0),  # f(1) is not 0 before it is moved, and it overflows early
        (lambda y: np.exp(y) - np.e, np.inf, 1 - np.e),
        (lambda y: 1e6 * (y - 1) ** 4, np.inf, 1e6),
        (lambda y: 1 / y - 1, 0.0, np.inf),
        (lambda y: np.maximum(y - 3, 0) + np.maximum(0.2 - y, 0), 1.0, 0.2),
    ]:
        if f is np.expm1:
            with pytest.raises(InputError, match="f\\(1\\)"):
                Divergence("mine", f, slope, zero)
            continue
        mechanism = {"noise_multiplier": 4.0, "rounds": 300, "prior": 1e-3}
        mine = Divergence("mine", f, slope, zero)
        found = posterior_by_divergence(Participation.binomial(7, 0.02), **mechanism, divergence=mine)
        assert 6.87e-3 <= found.value <= 1 and found.method == "mine"


@pytest.mark.parametrize(
    "change, named",
    [
        ({"noise_multiplier": 0.0}, "noise_multiplier"),
        ({"rounds": 1.5}, "rounds"),
        ({"prior": 0.0}, "prior"),
        ({"prior": 1.0}, "prior"),
        ({"prior": float("nan")}, "prior"),
    ],
)
def test_wrong_arguments_are_named(change, named):
    good = {"noise_multiplier": 1.0, "rounds": 10, "prior": 1e-3, "divergence": KL}
    with pytest.raises(InputError, match=named):
        posterior_by_divergence(Participation.binomial(3, 0.1), **{**good, **change})


@pytest.mark.parametrize("epsilon", [float("nan"), 101.0, -21.0])
def test_an_epsilon_out_of_range_is_named(epsilon):
    with pytest.raises(InputError, match="epsilon"):
        hockey_stick(epsilon)


@pytest.mark.parametrize("change", [{"noise_multiplier": 1e-3}, {"noise_multiplier": 1e9}, {"rounds": 10**9}])
def test_beyond_the_numerics_it_refuses(change):
    good = {"noise_multiplier": 1.0, "rounds": 10, "divergence": KL}
    with pytest.raises(CertificationError):
        f_divergence(Participation.binomial(3, 0.1), **{**good, **change})
    with pytest.raises(CertificationError):
        posterior_by_divergence(Participation.binomial(3, 0.1), prior=1e-3, **{**good, **change})
    with pytest.raises(CertificationError):
        posterior_by_divergence(Participation.binomial(3, 0.1), prior=1e-40, **good)
    for cut in (0.0, 1.0):  # nothing may be cut, or everything
        with pytest.raises(InputError, match="cut"):
            f_divergence(Participation.binomial(3, 0.1), cut=cut, **good)
    with pytest.raises(CertificationError, match="float64"):
        f_divergence(SURE, noise_multiplier=0.1, rounds=100, divergence=CHI_SQUARED)
