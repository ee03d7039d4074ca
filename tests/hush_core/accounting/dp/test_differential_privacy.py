"""(ε, δ), the trade-off curve and the second route against closed forms, quadrature and our own tight bound."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import binom

from hush_core.accounting import Participation, posterior_bound
from hush_core.accounting.dp import hockey_stick as sticks
from hush_core.accounting.dp.differential_privacy import privacy_profile
from hush_core.errors import CertificationError, InputError

ALPHAS = np.concatenate([[0.0], np.geomspace(1e-7, 1, 60)])


def gaussian_delta(mu, epsilon):
    """Balle and Wang 2018, theorem 8."""
    return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))


@pytest.fixture(
    scope="module",
    params=[pytest.param((20.0, 100), marks=pytest.mark.slow), (0.8, 1), (300.0, 2000)],
    ids=str,
)
def gaussian(request):
    """One example in every batch: the Gaussian mechanism, and its μ."""
    sigma, rounds = request.param
    sure = Participation.binomial(1, 1.0)
    profile = privacy_profile(sure, noise_multiplier=sigma, rounds=rounds, resolution=1e-7)
    return profile, math.sqrt(rounds) / sigma


def test_delta_of_the_gaussian_mechanism(gaussian):
    profile, mu = gaussian
    epsilons = np.linspace(-3 * mu, 5 * mu + mu**2 / 2, 80)
    exact = gaussian_delta(mu, epsilons)
    shown = exact > 1e-6
    found = profile.delta(epsilons)
    assert np.all(found >= exact)
    assert np.all(found[shown] <= exact[shown] * 1.01) and shown.sum() > 60
    assert profile.delta(float(epsilons[-1])) == found[-1]


def test_epsilon_of_the_gaussian_mechanism(gaussian):
    profile, mu = gaussian
    for delta in (1e-6, 1e-3):
        found = profile.epsilon(delta)
        assert gaussian_delta(mu, found) <= delta <= gaussian_delta(mu, found * 0.995)
    assert profile.epsilon(0.99999) == 0.0


@pytest.mark.parametrize("null", ["reference", "real", "either"])
def test_trade_off_of_the_gaussian_mechanism(gaussian, null):
    profile, mu = gaussian
    exact = ndtr(-(ndtri(ALPHAS) + mu))  # Φ(Φ⁻¹(1 − α) − μ)
    found = profile.trade_off(ALPHAS, null=null)
    assert np.all(found <= exact + 1e-15) and np.all(found >= 0)
    assert np.all(1 - found[1:] <= (1 - exact[1:]) * 1.01)
    assert np.all(found[1:] >= exact[1:] * 0.99 - 1e-5)
    assert np.all(np.diff(found) <= 0)


def test_the_trade_off_of_many_rates_is_that_of_each(gaussian):
    """They are taken in pieces: none may be left at 0, where nothing would be said to be protected."""
    profile, _ = gaussian
    alphas = np.linspace(0, 1, 1201)
    np.testing.assert_array_equal(profile.trade_off(alphas)[::100], profile.trade_off(alphas[::100]))
    assert np.all(profile.trade_off(alphas)[:-1] > 0)


def test_a_test_that_never_rejects_misses_whatever_the_loss():
    """e^ε overflows here, and 0·inf is no number: f(0) is 1 for Gaussians all the same."""
    profile = privacy_profile(Participation.binomial(1, 1.0), noise_multiplier=0.1, rounds=20)
    assert profile.real_over_reference.last_loss > 710
    assert profile.trade_off([0.0]) == pytest.approx(1.0, abs=1e-6)


def by_quadrature(count, rate, sigma):
    """(δ_{P‖Q}, δ_{Q‖P}) of TWO rounds: the second round's closed form, integrated over the first's output."""
    k = np.arange(count + 1)
    law = binom.pmf(k, count, rate)
    x = np.linspace(-14 * sigma, count + 14 * sigma, 200_001)
    width = x[1] - x[0]
    q = np.exp(-(x**2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
    ratio = np.exp((k * x[:, None] - k**2 / 2) / sigma**2) @ law
    loss = np.log(ratio)

    def once(epsilon, upper):
        """By the definition itself: the sum of the positive part of A − e^ε·B."""
        a, b = (q * ratio, q) if upper else (q, q * ratio)
        return np.maximum(a - np.exp(epsilon) * b, 0).sum() * width

    def twice(epsilon, upper):
        left = loss if upper else -loss
        table = np.linspace(epsilon - left.max() - 0.01, epsilon - left.min() + 0.01, 1500)
        deltas = np.array([once(e, upper) for e in table])
        outer = q * ratio if upper else q
        return float((outer * np.interp(epsilon - left, table, deltas)).sum() * width)

    return once, twice


@pytest.mark.slow
def test_two_rounds_of_a_mixture_by_quadrature():
    count, rate, sigma = 3, 0.3, 1.5
    once, twice = by_quadrature(count, rate, sigma)
    k = Participation.binomial(count, rate)
    one = privacy_profile(k, noise_multiplier=sigma, rounds=1, resolution=1e-5)
    two = privacy_profile(k, noise_multiplier=sigma, rounds=2, resolution=1e-5)
    for upper, name in ((True, "real_over_reference"), (False, "reference_over_real")):
        for epsilon in (0.0, 0.7):
            assert getattr(one, name)(epsilon) == pytest.approx(once(epsilon, upper), rel=2e-3)
            assert getattr(two, name)(epsilon) == pytest.approx(twice(epsilon, upper), rel=2e-3)
            assert getattr(one, name)(epsilon) >= once(epsilon, upper) * (1 - 1e-6)
    # the orders do differ, and DP takes the worse
    assert two.delta(0.7) == max(two.real_over_reference(0.7), two.reference_over_real(0.7))
    assert two.real_over_reference(0.7) > 1.2 * two.reference_over_real(0.7)
    # below 0 by the definition
    for epsilon in (-0.2, -1.0):
        exact = max(once(epsilon, True), once(epsilon, False))
        assert exact * (1 - 1e-6) <= one.delta(epsilon) <= exact * 1.002


@pytest.mark.parametrize("mixture_is_upper", [True, False])
def test_closed_form_of_one_round_is_the_integral(mixture_is_upper):
    once, _ = by_quadrature(4, 0.2, 0.9)
    epsilons = np.array([-2.0, -0.5, 0.0, 0.1, 0.5, 2.0, 5.0])
    law = binom.pmf(np.arange(5), 4, 0.2)
    found = sticks.one_round_delta(np.arange(5.0), law, 0.9, epsilons, mixture_is_upper=mixture_is_upper)
    exact = [once(e, mixture_is_upper) for e in epsilons]
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-9)


@pytest.fixture(scope="module")
def paper():
    """The paper's setting at about the noise that blow_up asks for."""
    k = Participation.binomial(100, 2048 / 1.2e6)
    return k, privacy_profile(k, noise_multiplier=3.0, rounds=2000, resolution=1e-8)


@pytest.mark.slow
def test_trade_off_is_the_tight_bound(paper):
    """1 − f(p) with the reference as null is the posterior: dp_accounting's and, by other numerics, ours."""
    k, profile = paper
    priors = np.array([1e-8, 1e-5, 1e-3, 0.1, 0.5])
    powers = 1 - profile.trade_off(priors, null="reference")
    for prior, power in zip(priors, powers, strict=True):
        ours = posterior_bound(k, noise_multiplier=3.0, rounds=2000, prior=prior, method="blow_up").value
        assert power == pytest.approx(ours, rel=2e-3)
        assert power == pytest.approx(profile.posterior(prior).value, rel=2e-4)
        assert power >= ours * (1 - 1e-3)


@pytest.mark.slow
def test_the_orders_of_the_trade_off(paper):
    _, profile = paper
    forward, backward, both = (profile.trade_off(ALPHAS, null=n) for n in ("reference", "real", "either"))
    # exchanging the hypotheses inverts the function: f_real(f_reference(α)) = α
    inside = (forward > 1e-6) & (ALPHAS > 1e-6) & (ALPHAS < 0.9)
    again = profile.trade_off(forward[inside], null="real")
    np.testing.assert_allclose(again, ALPHAS[inside], rtol=0.02)
    assert inside.sum() > 20 and np.abs(forward - backward).max() > 0.01
    assert np.all(both <= np.minimum(forward, backward) + 1e-12)
    for f in (forward, backward, both):
        slopes = np.diff(f) / np.diff(ALPHAS)
        assert np.all(np.diff(f) <= 1e-12) and np.all(np.diff(slopes) >= -1e-6 * np.abs(slopes[1:]))
        assert np.all(f <= 1 - ALPHAS)


def test_epsilon_and_delta_are_inverse(paper):
    _, profile = paper
    for delta in (1e-7, 1e-5, 1e-2):
        epsilon = profile.epsilon(delta)
        assert profile.delta(epsilon) <= delta < profile.delta(epsilon * 0.999)
    assert profile.epsilon(1e-5) == pytest.approx(14.271, abs=0.01)
    cut = max(stick.cut + stick.slack for stick in (profile.real_over_reference, profile.reference_over_real))
    assert 0 < cut < 1e-10 and profile.epsilon(cut / 2) == math.inf
    assert profile.delta(1e6) >= cut


def test_no_participation_reveals_nothing():
    profile = privacy_profile(Participation.from_rates([0.0]), noise_multiplier=1.0, rounds=10)
    assert profile.delta(0.0) == 0 and profile.epsilon(1e-9) == 0
    assert profile.delta(-1.0) == pytest.approx(1 - math.exp(-1))
    np.testing.assert_allclose(profile.trade_off([0, 0.3, 1]), [1, 0.7, 0], atol=1e-8)
    assert profile.posterior(0.1).value == 0.1


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "count, rate, sigma, rounds, prior",
    [
        (7, 0.02, 4.0, 300, 1e-3),
        (50, 1e-3, 2.0, 500, 1e-4),
        (100, 2048 / 1.2e6, 3.0, 2000, 1e-10),
        (1, 1.0, 20.0, 100, 1e-8),
        (3, 0.1, 50.0, 100_000, 1e-6),
    ],
)
def test_the_tight_bound_agrees_with_dp_accounting(count, rate, sigma, rounds, prior):
    k = Participation.binomial(count, rate)
    ours = posterior_bound(k, noise_multiplier=sigma, rounds=rounds, prior=prior, method="blow_up").value
    theirs = privacy_profile(k, noise_multiplier=sigma, rounds=rounds, resolution=prior).posterior(prior)
    assert theirs.method == "dp_accounting" and 0 < theirs.numerical_error < 1e-5 * theirs.value
    assert theirs.value == pytest.approx(ours, rel=0.002)


def test_what_dp_accounting_cannot_do_is_refused():
    how = {"rounds": 10, "resolution": 1e-6}
    with pytest.raises(CertificationError, match="reach"):
        privacy_profile(Participation.binomial(100_000, 0.5), noise_multiplier=1e4, **how)
    with pytest.raises(CertificationError, match="reach"):
        privacy_profile(Participation.binomial(3, 0.5), noise_multiplier=1.0, **how, step=1e-9)


@pytest.mark.slow
def test_many_rounds_take_a_coarser_step_and_stay_above(monkeypatch):
    k = Participation.binomial(7, 0.02)
    mechanism = {"noise_multiplier": 4.0, "rounds": 300, "resolution": 1e-3}
    fine = privacy_profile(k, **mechanism).real_over_reference
    monkeypatch.setattr(sticks, "MOST_POINTS", 2000)
    coarse = privacy_profile(k, **mechanism).real_over_reference
    assert coarse.step > 2 * fine.step and len(coarse.deltas) < 0.5 * len(fine.deltas)
    epsilons = np.linspace(0, 2, 9)
    ratio = coarse(epsilons) / fine(epsilons)
    assert np.all((ratio >= 1 - 1e-9) & (ratio < 1.05)) and ratio.max() > 1 + 1e-6
    with pytest.raises(CertificationError, match="reach"):
        privacy_profile(k, **mechanism, step=fine.step)


def test_a_number_below_the_truth_is_refused(monkeypatch):
    """Without connect-the-dots dp_accounting is below the closed form of one round, and that is seen."""
    name = "_create_pld_pmf_from_monotone_privacy_loss"
    original = getattr(pld, name)
    monkeypatch.setattr(pld, name, lambda *a, **k: original(*a, **{**k, "use_connect_dots": False}))
    k = Participation.binomial(100, 2048 / 1.2e6)
    profile = privacy_profile(k, noise_multiplier=3.0, rounds=2000, resolution=1e-6, step=2e-3)
    with pytest.raises(CertificationError, match="shortfall"):
        profile.posterior(1e-6)
    assert profile.real_over_reference(0.1) == 1


def test_composition_is_checked(monkeypatch):
    """A composed mass that is lost, or moved downwards, is found against extended precision."""
    original = pld.pld_pmf.DensePLDPmf.self_compose

    def spoilt(self, *arguments, **named):
        result = original(self, *arguments, **named)
        result._probs[:-50] += 1e-7 * result._probs[50:]
        result._probs[50:] -= 1e-7 * result._probs[50:]
        return result

    k = Participation.binomial(7, 0.02)
    sound = privacy_profile(k, noise_multiplier=3.0, rounds=300, resolution=1e-6).real_over_reference
    monkeypatch.setattr(pld.pld_pmf.DensePLDPmf, "self_compose", spoilt)
    found = privacy_profile(k, noise_multiplier=3.0, rounds=300, resolution=1e-6).real_over_reference
    assert sound.slack < 1e-11 < 1e-10 < found.slack < 1e-7


def test_rare_examples_on_which_connect_the_dots_fails_too():
    """Losses within 1e-8 of the least count as the least: at rate 1e-9 δ(0) of a round comes out as 0."""
    k = Participation.binomial(1, 1e-9)
    profile = privacy_profile(k, noise_multiplier=1.0, rounds=2000, resolution=1e-10)
    exact = 2000 * 1e-9 * (2 * ndtr(0.5) - 1)  # subadditive in the rounds, and nearly equal to it here
    assert profile.real_over_reference.composed(0.0) < 0.01 * exact
    assert exact * 0.99 <= profile.delta(0.0) <= 2 * exact
    with pytest.raises(CertificationError, match="shortfall"):
        profile.posterior(1e-10)


@pytest.mark.parametrize(
    "change, named",
    [
        ({"noise_multiplier": 0.0}, "noise_multiplier"),
        ({"rounds": 1.5}, "rounds"),
        ({"resolution": 0.0}, "resolution"),
        ({"resolution": float("nan")}, "resolution"),
        ({"step": -1.0}, "step"),
    ],
)
def test_a_wrong_mechanism_is_named(change, named):
    with pytest.raises(InputError, match=named):
        privacy_profile(Participation.binomial(3, 0.1), **{"noise_multiplier": 1.0, "rounds": 10, **change})


@pytest.mark.parametrize(
    "ask, named",
    [
        (lambda p: p.posterior(1.0), "prior"),
        (lambda p: p.delta(float("inf")), "epsilon"),
        (lambda p: p.delta([0.0, float("nan")]), "epsilon"),
        (lambda p: p.epsilon(0.0), "delta"),
        (lambda p: p.epsilon(1.0), "delta"),
        (lambda p: p.trade_off([0.1, 1.1]), "false_positive_rates"),
        (lambda p: p.trade_off([float("nan")]), "false_positive_rates"),
        (lambda p: p.trade_off([0.1], null="both"), "null"),
    ],
)
def test_a_wrong_question_is_named(gaussian, ask, named):
    with pytest.raises(InputError, match=named):
        ask(gaussian[0])
