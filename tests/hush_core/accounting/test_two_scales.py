"""Composition on two grids: from above and below against exact powers, whatever the grids, the cap and the cuts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.accounting import Participation, posterior_bound, two_scales
from hush_core.accounting.discretise import Cells
from hush_core.accounting.reading import bound_from_above, bound_from_below
from hush_core.accounting.two_scales import compose_on_two_scales
from hush_core.errors import CertificationError

STEP = 0.01
CASES = st.tuples(
    st.lists(st.floats(-7, 0).map(lambda e: 10.0**e), min_size=3, max_size=9),
    st.lists(st.integers(1, 120), min_size=8, max_size=8),
    st.integers(1, 60),
)
THRESHOLDS = np.linspace(-2, 12, 57)


def one_round(masses, gaps):
    """Losses that are multiples of STEP, P's masses, and Q's: e^{−v}·P, scaled to 1 by a shift of the losses."""
    p = np.array(masses) / np.sum(masses)
    places = np.concatenate([[0], np.cumsum(gaps[: len(p) - 1])])
    shift = np.log(p @ np.exp(-places * STEP))
    losses = places * STEP + shift
    return Cells(losses, p, 0.0, p * np.exp(-losses), 0.0, 0.0, 0.0), places


def exact_tails(cells, places, rounds):
    """Losses of `rounds` rounds, and P's and Q's exact masses there: np.convolve of non-negative numbers only."""
    laws = []
    for mass in (cells.mass, cells.reference):
        law = np.zeros(places[-1] + 1)
        law[places] = mass
        power = np.ones(1)
        for _ in range(rounds):
            power = np.convolve(power, law)
        laws.append(power)
    return rounds * cells.ends[0] + np.arange(len(laws[0])) * STEP, *laws


def blow_up(p, q, prior):
    """The power of the best test of level `prior`: losses ascending, so from the top."""
    level, power = np.cumsum(q[::-1]), np.cumsum(p[::-1])
    return float(np.interp(prior, np.append(0.0, level), np.append(0.0, power)))


def read(cells, rounds, priors, **options):
    options = {
        "cap": 25.0,
        "prior": float(priors.min()),
        "points": 256,
    } | options
    law, reference = compose_on_two_scales([(cells, rounds, float(cells.ends[0]))], **options)
    upper = bound_from_above(law, priors, rounds, detected=0.0, shift=0.0)[0]
    sure = law.fires, reference.fires
    return upper, bound_from_below(law, reference, priors, rounds, sure=sure, shift=0.0)


PRIORS = np.array([1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9])


def check_between(cells, places, rounds, close=None, **options):
    """Both bounds on their sides of the truth; with `close`, within it of each other."""
    _, p, q = exact_tails(cells, places, rounds)
    exact = np.array([blow_up(p, q, prior) for prior in PRIORS])
    upper, lower = read(cells, rounds, PRIORS, **options)
    assert np.all(upper >= np.minimum(exact, 1) * (1 - 1e-9))
    assert np.all(lower <= exact * (1 + 1e-9))
    if close is not None:
        assert np.all(upper <= lower * (1 + close))
    return upper, lower, exact


@settings(max_examples=examples(80), deadline=None, derandomize=True)
@given(CASES)
def test_both_bounds_are_on_their_sides(case):
    masses, gaps, rounds = case
    check_between(*one_round(masses, gaps), rounds)


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(CASES, st.floats(-0.5, 6.0))
def test_a_low_cap_costs_tightness_and_not_validity(case, cap):
    """What is above the cap counts as detection in the bound, and its level is charged in the test."""
    masses, gaps, rounds = case
    check_between(*one_round(masses, gaps), rounds, cap=cap)


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(CASES, st.sampled_from([1e-6, 1.0, 1e3]))
def test_whatever_counts_as_bulk(case, jumps):
    masses, gaps, rounds = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(two_scales, "_JUMPS", jumps)
        check_between(*one_round(masses, gaps), rounds, points=32)


@pytest.mark.parametrize("share", [1e-9, 1e-4, 0.3])
@pytest.mark.parametrize("masses", [[0.9, 0.05, 0.05], [0.2] * 5, [1e-3] * 3 + [0.997]])
def test_what_is_raised_is_raised_under_both_laws(masses, share, monkeypatch):
    """Up to a third of P's mass is merged at the bottom: the bound stays above. So does the test's level: were Q's
    mass dropped, or left where it was, the attack would be stronger than any."""
    monkeypatch.setattr(two_scales, "_RAISED", share / 1e-9)
    monkeypatch.setattr(two_scales, "_JUMPS", 1e3)
    cells, places = one_round(masses, [40, 40, 30, 60])
    merged = 0.0
    for rounds in (3, 30):
        losses, p, q = exact_tails(cells, places, rounds)
        options = {"cap": 25.0, "prior": 1e-9, "points": 64}
        law, reference = compose_on_two_scales([(cells, rounds, float(cells.ends[0]))], **options)
        for found, exact in ((law, p), (reference, q)):
            assert found.masses.sum() + found.fires == pytest.approx(exact.sum(), rel=1e-9)
        merged += p[losses < law.values[law.masses > 0][0] - STEP].sum()
        check_between(cells, places, rounds, prior=1e-9, points=64)
    assert merged > 1e-3 or share < 0.3


@pytest.mark.few(4)
@pytest.mark.parametrize("prior", [0.2, 1e-3, 1e-20, 1e-30])
@pytest.mark.parametrize("sigma", [0.06, 0.4, 3.0])
def test_hardly_ever_drawn(sigma, prior):
    """No more is gained than how often the secret is drawn at all; nothing is refused. Where K is 0 but for the
    tail that is cut, all losses are 0, and no grid fits."""
    for rate in 10.0 ** np.arange(-45.0, -6.0, 3.0):
        given = {"noise_multiplier": sigma, "rounds": 4, "prior": prior}
        found = posterior_bound(Participation.binomial(2, rate), lower=True, **given)
        assert found.method == "blow_up"
        assert prior <= found.lower <= found.value <= (prior + 8 * rate) * (1 + 1e-2)


def test_rare_large_losses_are_tight_on_few_points():
    """200 losses up to 10, each in one round of a million, beside a sure one."""
    cells, places = one_round([1 - 2e-4] + [1e-6] * 200, [5] * 200)
    for rounds in (7, 60):
        check_between(cells, places, rounds, close=5e-3, points=1024)


def test_a_grid_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(two_scales, "_LONGEST", 10)
    cells, _ = one_round([0.5, 0.3, 0.2], [40, 40])
    with pytest.raises(CertificationError, match="too wide"):
        read(cells, 20, PRIORS)


def test_a_mass_too_much_is_noticed():
    cells, _ = one_round([0.5, 0.3, 0.2], [40, 40])
    wrong = Cells(cells.ends, cells.mass * (1 + 1e-8), 0.0, cells.reference, 0.0, 0.0, 0.0)
    with pytest.raises(CertificationError, match="sum to"):
        read(wrong, 20, PRIORS)


# m, ρ, σ, T, p and what can be proved: the cases of issue 13, the values by lab/benchmarks/independent_bound.py
RARE = [
    (1, 1e-6, 0.5, 1000, 1e-10, 1.4425e-10),
    (2595, 1.5e-11, 0.391, 6831, 4.3e-17, 2.0235e-15),
    (1, 1e-6, 0.7, 1000, 1e-10, 1.01615e-10),
    (1, 1e-6, 0.7, 10_000, 1e-10, 1.02452e-10),
    (2, 6.07e-6, 0.888, 975, 3.2e-26, 1.0698e-25),
    (1, 1e-20, 0.05, 1000, 1e-30, 1.00000e-17),
]


@pytest.mark.parametrize("m, rho, sigma, rounds, prior, known", RARE)
def test_rare_events_are_tight(m, rho, sigma, rounds, prior, known):
    """Before the two grids: 4.58e-10, 1.57e-13, 1.97e-10, 1.06e-10, 3.6e-21 and 5.0e-17."""
    given = {"noise_multiplier": sigma, "rounds": rounds, "prior": prior}
    found = posterior_bound(Participation.binomial(m, rho), lower=True, **given)
    assert found.method == "blow_up" and found.lower <= found.value <= found.lower * 1.002
    assert found.lower <= known * 1.0005 and found.value >= known * 0.9995
