"""Composition against powers in exact arithmetic, and the discretised round against closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr
from sizes import examples

from hush_core.accounting import Participation, composition
from hush_core.accounting import discretise as discretising
from hush_core.accounting.composition import (
    TiltedLaw,
    Window,
    WindowTooLong,
    compose,
    convolve,
    find_window,
    fitted,
)
from hush_core.accounting.discretise import connect_the_dots, discretise
from hush_core.accounting.mixture import DominatingPair
from hush_core.errors import CertificationError

LAWS = st.tuples(
    st.lists(st.floats(-6, 0).map(lambda e: 10.0**e), min_size=2, max_size=12),
    st.integers(-8, 4),
    st.floats(0.01, 0.5),
    st.floats(0.0, 6.0),
)


def law_of(masses, first, step, tilt):
    """(the law, its masses as they are)."""
    masses = np.array(masses) / np.sum(masses)
    return TiltedLaw.of(step, first, masses, tilt), masses


def power(masses, rounds):
    """By repeated np.convolve: only products and sums of non-negative numbers, so relatively accurate."""
    result, square = np.ones(1), masses
    while rounds:
        if rounds & 1:
            result = np.convolve(result, square)
        square, rounds = np.convolve(square, square), rounds >> 1
    return result


def tilted(masses, first, law):
    """Exact masses from index `first` on, under the law's tilt and scale."""
    with np.errstate(divide="ignore"):
        return np.exp(np.log(masses) + law.tilt * law.step * (first + np.arange(len(masses))) - law.scale)


def on_window(exact, first, law):
    """Exact tilted masses on the law's grid indices, and what lies elsewhere."""
    places = first + np.arange(len(exact)) - law.first
    inside = (places >= 0) & (places < len(law.masses))
    kept = np.zeros(len(law.masses))
    kept[places[inside]] = exact[inside]
    return kept, float(exact[~inside].sum())


def deltas(law, thresholds):
    """δ(t) = Σ_{v>t} (1 − e^{t−v})·mass(v), untilted."""
    masses = np.maximum(law.masses, 0) * np.exp(law.scale - law.tilt * law.values)
    gap = np.minimum(thresholds[:, None] - law.values[None, :], 0.0)
    return -np.expm1(gap) @ masses


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(LAWS)
def test_a_tilted_law_is_the_law(case):
    law, masses = law_of(*case)
    first = case[1]
    np.testing.assert_allclose(law.masses * np.exp(law.scale - law.tilt * law.values), masses, rtol=1e-12)
    assert law.masses.sum() == pytest.approx(1, abs=1e-14)
    assert law.first == first and law.last == first + len(masses) - 1
    np.testing.assert_allclose(law.values, (first + np.arange(len(masses))) * case[2])
    assert law.log_moment(0.7) == pytest.approx(np.log(law.masses @ np.exp(0.7 * law.values)), abs=1e-12)
    mean = law.masses @ law.values
    assert law.variance == pytest.approx(law.masses @ (law.values - mean) ** 2, rel=1e-9, abs=1e-15)


def test_zeros_at_the_ends_are_left_out():
    law = TiltedLaw.of(0.1, -2, np.array([0.0, 0.5, 0.0, 0.5, 0.0]), 1.0)
    assert law.first == -1 and len(law.masses) == 3 and law.masses[1] == 0


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(LAWS, st.integers(1, 200), st.sampled_from([-5.0, -20.0, -60.0]))
def test_powers_against_np_convolve(case, rounds, log_negligible):
    """Every mass on the window within `error`, all together within `aliasing`; `truncated` covers what is above."""
    law, masses = law_of(*case)
    window = find_window([(law, rounds)], log_negligible)
    found = convolve([(law, rounds)], window)
    plain = power(masses, rounds)
    exact = tilted(plain, rounds * law.first, found)
    kept, elsewhere = on_window(exact, rounds * law.first, found)
    deviation = np.abs(found.masses - kept)
    rounding = 1e-11 * kept  # of this test's own exponentials
    assert np.maximum(deviation - found.error - rounding, 0).sum() <= found.aliasing
    assert elsewhere <= found.aliasing + 1e-11
    # untilted: what lies above the window
    above = plain[max(window.last + 1 - rounds * law.first, 0) :].sum()
    assert above <= found.truncated * (1 + 1e-9) and window.above <= np.exp(log_negligible) * (1 + 1e-9)
    # and the errors are worth having
    assert found.aliasing < 1e-12 and found.error < 1e-14 * (rounds + 10)


@pytest.mark.parametrize("step", [1.0, 0.01, 1e-5])
def test_the_window_is_no_wider_than_it_needs_to_be(step):
    """Whatever the scale: at much noise losses are tiny, and only shifts of 1/spread see it."""
    law, masses = law_of(np.exp(-0.5 * np.linspace(-3, 3, 61) ** 2), -30, step, 0.0)
    rounds = 400
    window = find_window([(law, rounds)], -30.0)
    deviations = np.sqrt(law.variance * rounds) / law.step
    assert 12 * deviations < len(window) < 20 * deviations
    assert window.outside < 1e-12
    # one cut in half is not enough, and that is noticed
    half = fitted([(law, rounds)], Window(window.first, (window.first + window.last) // 2, 0.0, 0.0))
    found = convolve([(law, rounds)], half)
    assert found.aliasing > 0.1
    exact = tilted(power(masses, rounds), rounds * law.first, found)
    kept, elsewhere = on_window(exact, rounds * law.first, found)
    assert elsewhere <= found.aliasing and np.abs(found.masses - kept).sum() <= found.aliasing + 1e-9


def test_different_parts_are_added():
    a, mass_a = law_of([0.5, 0.3, 0.2], -1, 0.1, 2.0)
    b, mass_b = law_of([0.9, 0.0, 0.1], 0, 0.1, 2.0)
    parts = [(a, 20), (b, 7), (a, 0)]
    found = convolve(parts, find_window(parts, -40.0))
    exact = tilted(np.convolve(power(mass_a, 20), power(mass_b, 7)), -20, found)
    kept, _ = on_window(exact, -20, found)
    np.testing.assert_allclose(found.masses, kept, atol=found.error + found.aliasing)


def test_what_was_lost_and_astray_before_grows_with_the_rounds():
    law, _ = law_of([0.5, 0.5], 0, 0.1, 0.0)
    worse = TiltedLaw(law.step, law.first, law.masses, law.tilt, law.scale, aliasing=1e-6, truncated=1e-5)
    window = find_window([(law, 100)], -40.0)
    found = convolve([(worse, 100)], window)
    assert 100 * 1e-6 <= found.aliasing <= 1.01 * 100 * 1e-6
    assert 0.99 * 100 * 1e-5 <= found.truncated <= 1.01 * 100 * 1e-5


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(LAWS, st.integers(2, 9), st.integers(1, 30))
def test_coarser_is_pessimistic(case, factor, rounds):
    """δ of the coarse law is at least that of the fine one at every t, and both have P's and Q's mass."""
    law, masses = law_of(*case)
    fine = convolve([(law, rounds)], find_window([(law, rounds)], -60.0))
    coarse = fine.coarsened(factor)
    assert (
        coarse.step == fine.step * factor and coarse.tilt == fine.tilt and coarse.truncated == fine.truncated
    )
    thresholds = np.linspace(fine.values[0] - 2 * coarse.step, fine.values[-1] + 2 * coarse.step, 301)
    exact = power(masses, rounds)
    values = (rounds * law.first + np.arange(len(exact))) * law.step
    true = -np.expm1(np.minimum(thresholds[:, None] - values[None, :], 0.0)) @ exact
    weight = np.exp(
        coarse.scale - coarse.tilt * thresholds
    )  # far below the window `aliasing` may be all there is
    uncertain = (coarse.aliasing + coarse.error * len(coarse.masses)) * weight + coarse.truncated
    assert np.all(deltas(coarse, thresholds) + uncertain >= true * (1 - 1e-11) - 1e-300)
    assert coarse.masses.sum() == pytest.approx(1, abs=1e-12) and coarse.masses.min() >= 0


def test_coarser_keeps_account_of_what_is_uncertain():
    """Masses off by as much as `error` allows: the coarse law of the true ones is within `aliasing`, and not above
    where each was too small."""
    law, _ = law_of(np.linspace(1, 2, 40), -10, 0.1, 0.5)
    error, scale = 1e-6, law.scale
    true = law.coarsened(3)
    for sign in (1, -1):
        masses = law.masses + sign * error
        off = TiltedLaw(law.step, law.first, masses, law.tilt, scale, error, aliasing=1e-5).coarsened(3)
        excess = off.masses * np.exp(off.scale - true.scale) - true.masses
        assert excess.min() >= -1e-15
        assert excess.sum() + 1e-5 <= off.aliasing * 1.001 <= 1.2e-4


def test_connect_the_dots_keeps_both_masses():
    rng = np.random.default_rng(2)
    values, mass = np.sort(rng.uniform(-3, 3, 50)), rng.dirichlet(np.ones(50))
    tilt = 1.7
    first, (plain, with_tilt) = connect_the_dots(
        values, 0.25, (mass, mass * np.exp(tilt * values)), (0.0, tilt)
    )
    grid = (first + np.arange(len(plain))) * 0.25
    assert plain.sum() == pytest.approx(1, abs=1e-14) and plain.min() >= 0
    assert plain @ np.exp(-grid) == pytest.approx(mass @ np.exp(-values), rel=1e-13)
    np.testing.assert_allclose(with_tilt, plain * np.exp(tilt * grid), rtol=1e-12, atol=1e-300)


STAGED = {"rounds": 1100, "step": 0.002}


def staged_laws():
    """A round's loss of two scales, and Q's reference under its own tilt."""
    x = np.arange(-30, 31)
    masses = np.exp(-0.5 * (x / 7.5) ** 2)
    masses[-1] += 1e-4
    masses /= masses.sum()
    law = TiltedLaw.of(STAGED["step"], -30, masses, 0.4)
    reference = TiltedLaw.of(STAGED["step"], -30, masses * np.exp(-law.values), 1.4)
    return law, reference, masses


def test_two_stages_are_pessimistic_and_close(monkeypatch):
    law, reference, masses = staged_laws()
    rounds = STAGED["rounds"]
    once = compose([[(law, rounds)], [(reference, rounds)]], -40.0)
    monkeypatch.setattr(composition, "_STAGED", 0)
    twice = compose([[(law, rounds)], [(reference, rounds)]], -40.0)
    assert twice[0].step > once[0].step == law.step and len(twice[0].masses) < len(once[0].masses)
    exact = power(masses, rounds)
    values = (rounds * law.first + np.arange(len(exact))) * law.step
    middle = rounds * float(masses @ (law.first + np.arange(len(masses)))) * law.step
    spread = np.sqrt(rounds * law.variance)
    thresholds = middle + np.linspace(-3, 9, 101) * spread
    true = -np.expm1(np.minimum(thresholds[:, None] - values[None, :], 0.0)) @ exact
    # so short a law has few coarse points; where stages are used in earnest it has thousands
    for composed, loose in ((once[0], 1e-6), (twice[0], 0.1)):
        found = deltas(composed, thresholds)
        weight = np.exp(composed.scale - composed.tilt * thresholds)
        uncertain = (composed.aliasing + composed.error * len(composed.masses)) * weight + composed.truncated
        assert np.all(found + uncertain >= true * (1 - 1e-9))
        large = true > 1e-9
        excess = found[large] / true[large] - 1
        assert large.sum() > 30 and excess.max() < loose
    # Q's masses, each composed by itself: at every grid point e^{−v} times P's, roughly, and 1 in all
    for p, q in (once, twice):
        total = float(np.maximum(q.masses, 0) @ np.exp(q.scale - q.tilt * q.values))
        assert total == pytest.approx(float((masses @ np.exp(-law.values)) ** rounds), rel=1e-6)
        assert p.first == q.first and p.step == q.step


@pytest.mark.parametrize("rounds", [256, 1000, 1024, 1100, 3000])
def test_the_stages_make_up_all_rounds(monkeypatch, rounds):
    """The mean of the composed law under P, which connect-the-dots raises a little, for any number of rounds."""
    law, _, masses = staged_laws()
    monkeypatch.setattr(composition, "_STAGED", 0)
    (found,) = compose([[(law, rounds)]], -40.0)
    untilted = np.maximum(found.masses, 0) * np.exp(found.scale - found.tilt * found.values)
    assert untilted.sum() == pytest.approx(1, abs=1e-6)
    mean = rounds * float(masses @ law.values)
    spread = np.sqrt(rounds * float(masses @ law.values**2))
    assert mean - 1e-4 * spread <= untilted @ found.values <= mean + 0.05 * spread


@pytest.mark.parametrize("rounds", [1, 60])
def test_few_rounds_are_not_staged_and_one_is_left_alone(monkeypatch, rounds):
    monkeypatch.setattr(composition, "_STAGED", 0)
    law, _, _ = staged_laws()
    (found,) = compose([[(law, rounds)]], -40.0)
    assert found.step == law.step and (found is law) == (rounds == 1)


def test_a_window_beyond_the_longest_fft_is_refused(monkeypatch):
    law, _, _ = staged_laws()
    needed = len(find_window([(law, 100)], -40.0))
    monkeypatch.setattr(composition, "LONGEST_FFT", needed // 2)
    with pytest.raises(WindowTooLong) as refused:
        compose([[(law, 100)]], -40.0)
    assert refused.value.excess == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize(
    ("changed", "rounds", "said"),
    [
        *(
            (lambda mass, scale=scale: (0, mass * scale), 500, "sum to")
            for scale in (1 + 1e-9, 1 - 1e-9, 1.1)
        ),
        (lambda mass: (-1e-3, mass + 1e-3), 2, "below 0"),
    ],
    ids=["a little more", "a little less", "a tenth more", "one negative"],
)
def test_a_wrong_or_negative_mass_is_noticed(changed, rounds, said):
    law, _, _ = staged_laws()
    masses = law.masses.copy()
    less, masses[30] = changed(masses[30])
    masses[0] += less
    wrong = TiltedLaw(law.step, law.first, masses, law.tilt, law.scale)
    with pytest.raises(CertificationError, match=said):
        convolve([(wrong, rounds)], find_window([(law, rounds)], -40.0))


# --- one round on the grid -------------------------------------------------------------------------

ROUND = {"low": -9.0, "high": 12.0, "cell": 0.02, "step": 0.01}


@pytest.fixture(scope="module", params=[[0.3, 0.05, 0.5], [1e-3] * 5, [1.0, 0.2]])
def pair(request):
    return DominatingPair(Participation.from_rates(request.param).distribution, 1.0)


def true_delta(pair, t):
    """P(L > t) − e^t·Q(L > t) by scipy: the threshold by bisection, the integral by quadrature."""

    def loss(x):
        return np.log(pair.weights @ np.exp(pair.k * x - pair.k**2 / 2))

    if loss(-30.0) >= t:
        return -np.expm1(t)
    x = brentq(lambda y: loss(y) - t, -30, 60, xtol=1e-13)

    def excess(y):
        return (np.exp(loss(y)) - np.exp(t)) * np.exp(-(y**2) / 2) / np.sqrt(2 * np.pi)

    return quad(excess, x, max(x, 0) + 15, epsabs=1e-14, epsrel=1e-11, limit=200)[0]


def delta_of(values, mass, reference, infinity, t):
    return float(np.maximum(mass - np.exp(t) * reference, 0).sum()) + infinity


THRESHOLDS = np.concatenate([np.linspace(-1.0, 3.0, 14), [1e-4, 0.0123, 5.0]])


def test_masses_of_both_sum_to_1(pair):
    found = discretise(pair, **ROUND)
    assert found.mass.sum() + found.infinity == pytest.approx(1, abs=1e-12)
    assert found.infinity == pytest.approx(pair.weights @ ndtr(pair.k - ROUND["high"]), rel=1e-9)
    under_q = np.exp(-found.values) @ found.mass
    # what P has below −9 is raised; Q's own 1e-19 there is nowhere
    assert 1 - 1e-9 <= under_q <= 1 + 1e-12
    assert found.reference.sum() + found.infinity_reference == pytest.approx(1, abs=1e-9)
    assert found.moved_up == pytest.approx(pair.weights @ ndtr(-9.0 - pair.k), rel=1e-9)
    assert np.all(found.mass >= 0) and np.all(found.reference >= 0)
    np.testing.assert_array_equal(found.values, (found.first + np.arange(len(found.mass))) * ROUND["step"])


@pytest.mark.parametrize("coarser", [1, 20])
def test_from_above_and_from_below(pair, coarser):
    """The grid's δ is at least the true one; the binned pair's δ is at most that: binning cannot tell more."""
    found = discretise(pair, **{**ROUND, "cell": ROUND["cell"] * coarser, "step": ROUND["step"] * coarser})
    for t in THRESHOLDS:
        true = true_delta(pair, t)
        upper = delta_of(found.values, found.mass, found.mass * np.exp(-found.values), found.infinity, t)
        lower = delta_of(
            found.values, found.mass, found.reference,
            max(found.infinity - np.exp(t) * found.infinity_reference, 0.0), t,
        )  # fmt: skip
        assert upper >= true * (1 - 1e-9) - 1e-13
        assert lower <= true * (1 + 1e-9) + 1e-13 + found.moved_up
        assert upper - lower <= 5e-4 * coarser**2


def test_what_is_cut_above_is_mass_at_infinity(pair):
    near = discretise(pair, **{**ROUND, "high": 1.5})
    assert near.infinity > 1e-3
    for t in THRESHOLDS[THRESHOLDS > 0]:
        upper = delta_of(near.values, near.mass, near.mass * np.exp(-near.values), near.infinity, t)
        assert upper >= true_delta(pair, t) - 1e-13


def test_what_is_cut_below_is_raised(pair):
    """To the loss at the lower end, with P's mass only: still from above; off the lower bound it is `moved_up`."""
    near = discretise(pair, **{**ROUND, "low": -1.0})
    assert near.moved_up == pytest.approx(pair.weights @ ndtr(-1.0 - pair.k), rel=1e-9)
    assert near.moved_up > 1e-3 or pair.k[0] > 0
    for t in THRESHOLDS:
        upper = delta_of(near.values, near.mass, near.mass * np.exp(-near.values), near.infinity, t)
        lower = delta_of(near.values, near.mass, near.reference, 0.0, t)
        assert lower - near.moved_up <= true_delta(pair, t) + 1e-12 <= upper + 2e-12


def test_too_large_a_table_is_refused(pair):
    with pytest.raises(CertificationError, match="cells"):
        discretise(pair, **{**ROUND, "cell": 1e-7})
    with pytest.raises(CertificationError, match="cells"):
        pair.uniform(-9.0, 9.0, 1e-6, np.linspace(0, 1, 6))


def test_a_wrong_law_is_noticed(pair, monkeypatch):
    """Densities a millionth too large, and a loss that is not log P/Q."""
    right = DominatingPair.log_q
    monkeypatch.setattr(DominatingPair, "log_q", lambda self, x: right(self, x) + 1e-6)
    with pytest.raises(CertificationError, match="under P"):
        discretise(pair, **ROUND)
    monkeypatch.setattr(DominatingPair, "log_q", right)
    binned = discretising.connect_the_dots
    monkeypatch.setattr(
        discretising, "connect_the_dots", lambda values, *rest: binned(values * (1 + 1e-4), *rest)
    )
    with pytest.raises(CertificationError, match="under Q"):
        discretise(pair, **ROUND)


def test_cells_share_exponentials_only_as_far_as_they_do_not_overflow():
    """At little noise e^{k·y/σ²} leaves float64 within a few cells: the table is that of each point by itself."""
    pair = DominatingPair(Participation.binomial(10, 0.2).distribution, 0.05)
    points, table = pair.uniform(-0.5, 11.5, 0.05, np.array([0.25, 0.75]))
    assert points.shape == table.shape == (240, 2) and np.isfinite(table).all()
    np.testing.assert_allclose(table, pair.loss(points), rtol=1e-9, atol=1e-9)
