"""Every cut is paid for: each is made huge here, and the bound still has to be above what is exact.

As the constants are, a cut is some 1e-9 of the result, so that no other test would notice one that is free.
"""

import numpy as np
import pytest
from frames import frame_of
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

from hush_core.accounting import (
    Participation,
    attempts,
    blow_up,
    bounds,
    calibrate,
    composition,
    mixture,
    posterior_bound,
    renyi,
)
from hush_core.accounting import kl as kl_method
from hush_core.accounting.composition import TiltedLaw
from hush_core.accounting.discretise import cut_into_cells, on_grid
from hush_core.accounting.many_secrets import least_noise
from hush_core.accounting.mixture import DominatingPair
from hush_core.accounting.participation import CountDistribution
from hush_core.accounting.reading import bound_from_above, bound_from_below, grown
from hush_core.accounting.two_scales import PlainLaw

SURE = {"noise_multiplier": 20.0, "rounds": 100, "prior": 1e-8}
"""One example in every round: Φ(Φ⁻¹(p) + √T/σ)."""
EXACT = float(ndtr(ndtri(1e-8) + 0.5))


def sure(**options):
    return posterior_bound(Participation.binomial(1, 1.0), **SURE, method="blow_up", **options)


# --- the tail of K ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["blow_up", "kl", "renyi", "renyi_preservation"])
def test_the_tail_of_k_is_added(method, monkeypatch):
    """K = 2 and 3 are cut from every round, and it is they that find the secret: T·tail has to be in the bound."""
    k = Participation.binomial(3, 0.02)
    given = {"noise_multiplier": 0.4, "rounds": 5, "prior": 1e-8}
    exact = posterior_bound(k, **given, method="blow_up", lower=True).lower
    by_one = k.distribution.trimmed(2e-3)
    assert by_one.last == 1
    alone = posterior_bound(k, **given, method=method).value if method == "blow_up" else 0.0
    right = CountDistribution.trimmed
    monkeypatch.setattr(CountDistribution, "trimmed", lambda self, cut: right(self, 2e-3))
    found = posterior_bound(k, **given, method=method)
    # without the charge blow_up would be that of K ≤ 1
    assert found.value >= max(exact, alone) * (1 - 1e-9)
    assert found.value >= given["prior"] + 5 * by_one.tail and found.numerical_error >= 5 * by_one.tail
    pair = DominatingPair(by_one, 0.4)
    if method == "blow_up":
        free = blow_up.blow_up_posteriors([(pair, 5)], np.array([1e-8]), cut=1e-17).upper[0]
        assert free < exact / 2
    else:
        bound = kl_method.kl_posteriors if method == "kl" else renyi.renyi_posteriors
        options = {"preservation": True} if method == "renyi_preservation" else {}
        free = bound([(pair, 5)], np.array([1e-8]), **options)[0]
        assert found.value == pytest.approx(free + 5 * by_one.tail, rel=1e-9)


def test_small_k_that_were_raised_are_taken_off_the_lower_bound(monkeypatch):
    """K = 0 and 1 raised to 2 in three rounds of a hundred: the attack may not count what was raised."""
    k = Participation.binomial(2, 0.9)
    given = {"noise_multiplier": 3.0, "rounds": 2, "prior": 1e-2, "method": "blow_up"}
    exact = posterior_bound(k, **given, lower=True)
    monkeypatch.setattr(bounds, "CUT", 4.0)
    found = posterior_bound(k, **given, lower=True)
    assert found.lower <= exact.value and found.value >= exact.lower


# --- the loss of one round -------------------------------------------------------------------------


def test_losses_beyond_the_end_are_detection(monkeypatch):
    """All losses above log(1/p) − 14 count as found: the charge is all that stands for them."""
    exact = sure(lower=True)
    monkeypatch.setattr(attempts, "_BEYOND_PRIOR", -18.4)
    found = sure(lower=True)
    assert found.lower <= exact.value and found.value >= EXACT
    rare = {"noise_multiplier": 0.5, "rounds": 1000, "prior": 1e-10, "method": "blow_up"}
    with monkeypatch.context() as patch:
        patch.setattr(attempts, "_UNSEEN", 0.5)
        patch.setattr(attempts, "_BEYOND_THRESHOLD", 1.0)
        cut = posterior_bound(Participation.binomial(1, 1e-6), **rare, lower=True)
    assert cut.value >= 1.4425e-10 * (1 - 1e-4) and cut.lower <= 1.4428e-10


def test_the_width_of_the_grid_is_in_the_bound(monkeypatch):
    """Grids a hundred times too wide: both bounds show it, on their sides of the closed form."""
    monkeypatch.setattr(attempts, "_TOLERANCE", 0.5)
    monkeypatch.setattr(attempts, "_POINTS", (64,))
    found = sure(lower=True)
    assert found.lower <= EXACT <= found.value
    assert found.value > EXACT * 1.005


# --- the composition -------------------------------------------------------------------------------


def test_what_is_above_the_window_is_added(monkeypatch):
    """The window ends where a third of r may lie above it, under a tilt that puts the mass there."""
    monkeypatch.setattr(composition, "_WRAPPED", 0.2)
    monkeypatch.setattr(attempts, "_NEGLIGIBLE", 1e3)
    monkeypatch.setattr(attempts, "_TILTS", (0.0,))
    monkeypatch.setattr(attempts, "_POINTS", ())
    monkeypatch.setattr(blow_up, "_LARGEST_CUT", np.inf)
    found = sure(lower=True)
    assert found.lower <= EXACT <= found.value


def law_of_a_normal(tilt=1.0, step=0.002):
    """The loss of one sure example in 100 rounds, N(μ²/2, μ²) with μ = 1/2, without any error."""
    values = np.arange(-2000, 3000)
    mass = np.exp(-0.5 * ((values * step - 0.125) / 0.5) ** 2)
    return TiltedLaw.of(step, -2000, mass / mass.sum(), tilt), values * step


PRIORS = np.array([1e-8, 1e-3])


def upper(law, rounds=1, detected=0.0):
    return bound_from_above(law, PRIORS, rounds, detected=detected, shift=0.0)


def spoilt(law, masses=None, **fields):
    given = {"error": 0.0, "aliasing": 0.0, "truncated": 0.0} | fields
    return TiltedLaw(
        law.step, law.first, law.masses if masses is None else masses, law.tilt, law.scale, **given
    )


def test_round_off_of_the_fft_is_added():
    """Every mass too small by its error: the bound is still that of the right masses, and says what it added."""
    law, _ = law_of_a_normal()
    exact, error = upper(law)[0], 1e-9
    value, cut, _ = upper(spoilt(law, law.masses - error, error=error))
    assert np.all(value >= exact) and np.all(cut >= value - exact)


def test_lost_and_detected_mass_is_added():
    law, _ = law_of_a_normal()
    exact = upper(law)[0]
    value, cut, _ = upper(spoilt(law, truncated=1e-6), detected=1e-5)
    assert np.all(value >= exact + 1.1e-5) and np.all(cut >= 1e-6)


def test_the_growth_of_rounding_with_the_rounds_is_a_factor():
    """Masses too small by 1e-13 of themselves a round, ten million rounds."""
    rounds = 10**7
    law, _ = law_of_a_normal()
    exact = upper(law)[0]
    small = spoilt(law, law.masses * (1 - 1.9e-13 * rounds))
    assert np.all(upper(small, rounds)[0] >= exact)
    plain = PlainLaw(law.values, law.masses, growth=1e-4, truncated=0.0)
    assert grown(plain, rounds) >= 1 + 1e-4 + 1e-13 * rounds


def attack(law, reference, rounds=1, sure=(0.0, 0.0)):
    return bound_from_below(law, reference, PRIORS, rounds, sure=sure, shift=0.0)


@pytest.mark.parametrize("side", ["law", "reference"])
def test_what_is_astray_or_rounded_is_taken_off_the_attack(side):
    """A power too large, or a level too small, by as much as the errors allow."""
    law, values = law_of_a_normal()
    q = np.exp(-0.5 * ((values + 0.125) / 0.5) ** 2)
    reference = TiltedLaw.of(law.step, law.first, q / q.sum(), 2.0)
    exact = attack(law, reference)
    for fields, change in (({"error": 1e-7}, 1e-7), ({"aliasing": 1e-3}, 0.0)):
        if side == "law":
            wrong = law.masses + change
            if not change:  # a lump just above the thresholds
                wrong = law.masses + 0.99e-3 * (np.arange(len(values)) == np.searchsorted(values, 2.9))
            found = attack(spoilt(law, wrong, **fields), reference)
        else:
            wrong = np.maximum(reference.masses - change, 0.0)
            if not change:
                near = np.abs(values - 2.6) < 0.15
                wrong = reference.masses - np.where(near, np.minimum(reference.masses, 1e-5), 0.0)
            found = attack(law, spoilt(reference, wrong, **fields))
        assert np.all(found <= exact * (1 + 1e-9))


def test_rounding_is_taken_off_the_attack_at_many_rounds():
    rounds = 10**7
    law, values = law_of_a_normal()
    q = np.exp(-0.5 * ((values + 0.125) / 0.5) ** 2)
    reference = TiltedLaw.of(law.step, law.first, q / q.sum(), 2.0)
    exact = attack(law, reference)
    large = spoilt(law, law.masses * (1 + 1.9e-13 * rounds))
    small = spoilt(reference, reference.masses * (1 - 1.9e-13 * rounds))
    assert np.all(attack(large, small, rounds) <= exact)


def test_what_always_fires_is_charged_to_the_level():
    law, values = law_of_a_normal()
    q = np.exp(-0.5 * ((values + 0.125) / 0.5) ** 2)
    reference = TiltedLaw.of(law.step, law.first, q / q.sum(), 2.0)
    found = attack(law, reference, sure=(1e-3, 1e-6))
    assert found[0] <= 1e-3 * 1e-8 / 1e-6 * 1.01  # it may fire on a hundredth of them only


def test_what_wraps_around_can_only_add(monkeypatch):
    """A window that holds a sixth less than all: the circular convolution keeps every mass, and the bound holds."""
    monkeypatch.setattr(composition, "_WRAPPED", 0.08)
    monkeypatch.setattr(blow_up, "_LARGEST_CUT", np.inf)
    monkeypatch.setattr(attempts, "_POINTS", ())
    found = sure(lower=True)
    assert found.lower <= EXACT <= found.value
    pair = DominatingPair(Participation.binomial(1, 1.0).distribution, 20.0)
    loss = on_grid(cut_into_cells(pair, low=-180.0, high=181.0, cell=0.1), 1e-3)
    law = TiltedLaw.of(loss.step, loss.first, loss.mass, 0.0)
    window = composition.find_window([(law, 100)], -5.0)
    assert composition.convolve([(law, 100)], window).masses.sum() == pytest.approx(1, abs=1e-9)


# --- kl and renyi: what lies outside the table -------------------------------------------------------


@pytest.mark.parametrize("tail", [0.5, 1.5, 3.0])
def test_what_lies_outside_the_table_is_added(tail, monkeypatch):
    """The integrals end half a standard deviation out; the bounds on the rest make up for it."""
    pair = DominatingPair(Participation.binomial(2, 0.3).distribution, 1.2)

    def density(x):
        return np.exp(-0.5 * (x / 1.2) ** 2) / (1.2 * np.sqrt(2 * np.pi))

    def loss(x):
        return float(pair.loss(np.array([x]))[0])

    kl = quad(lambda x: density(x) * np.exp(loss(x)) * loss(x), -20, 25, limit=400)[0]
    moments = [
        quad(lambda x, a=a: density(x) * np.exp(a * loss(x)), -20, 40, limit=400)[0] for a in (1.5, 4.0)
    ]
    for module in (mixture, kl_method, renyi):
        monkeypatch.setattr(module, "TAIL", tail)
    assert kl_method.kl_divergence(pair) >= kl * (1 - 1e-9)
    table = renyi.RenyiMoments(pair, 4.0)
    for order, moment in zip((1.5, 4.0), moments, strict=True):
        assert table.log_moment(order) >= np.log(moment) * (1 - 1e-9)


# --- calibration ------------------------------------------------------------------------------------


def test_a_search_that_ends_too_low_is_noticed_by_the_last_certification(monkeypatch):
    """σ is what the search says only where every secret is certified at that very σ."""
    edges = frame_of(example_id=[0, 1, 2], secret_id=[0, 0, 1])
    secrets = frame_of(secret_id=np.arange(2), prior=[1e-6, 1e-5], posterior=[1e-3, 1e-2])
    right = least_noise._Search.noise

    def too_low(search):
        sigma, most = right(search)
        return sigma * (1 - 1e-4), most

    monkeypatch.setattr(least_noise._Search, "noise", too_low)
    found = calibrate(edges, np.array([0.02, 0.03, 0.04]), secrets, rounds=100)
    assert (found.table["bound"] <= found.table["posterior"]).all()
