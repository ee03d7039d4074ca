"""Estimates of ε from one run: public reference values, the ε of a Gaussian sum; wrong claims are refuted."""

import numpy as np
import pytest
from scipy import stats
from sizes import WHOLE

from hush_core.errors import InputError
from lab.statistical_audits import best_of_counts, guess_counts, one_run, one_run_f_dp
from lab.statistical_audits.gaussian import epsilon_of_pair, epsilon_of_shift
from lab.statistical_audits.one_run import one_run_p_value
from lab.statistical_audits.one_run_f_dp import gaussian_curve_refuted
from lab.statistical_audits.one_shot import (
    RandomCanaries,
    _largest_of,
    one_shot_all,
    one_shot_final,
    sum_of_rounds,
)

N, DELTA, ALPHA = 10_000, 1e-6, 0.05


def normal_quantiles(count):
    return stats.norm.ppf((np.arange(count) + 0.5) / count)


def hull_counts(shift):
    """(right, guesses) at every threshold on the hull of the ROC curve of N scores each, at normal quantiles."""
    out, inside = normal_quantiles(N), normal_quantiles(N) + shift
    at = np.append(np.union1d(out, inside), np.inf)
    points = np.stack([np.searchsorted(inside, at), np.searchsorted(out, at)], 1)
    while True:
        step = np.diff(points, axis=0)
        flat = step[:-1, 1] * step[1:, 0] - step[1:, 1] * step[:-1, 0] <= 0
        if not flat.any():
            break
        points = points[np.r_[True, ~flat, True]]
    right = N - points[:, 0]
    return right, right + N - points[:, 1], len(points)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("shift", "one", "f_dp"), [(1, 1.13346, 2.164749), (2, 2.311945, 4.7218075), (4, 4.395568, 9.133752)]
)
def test_public_reference_values(shift, one, f_dp):
    """JAX Privacy's: 10,000 canaries in and 10,000 out, scores at the quantiles of N(0, 1) and N(shift, 1), only
    guesses of "in", every threshold on the hull of the ROC curve, α divided by how many those are."""
    right, guesses, tests = hull_counts(shift)
    some = [(int(v), int(r)) for v, r in zip(right, guesses, strict=True) if r]

    def curve_refuted(epsilon):
        mu = mu_of(epsilon)
        return any(gaussian_curve_refuted(v, r, 2 * N, mu, ALPHA / tests) for v, r in some)

    def epsilon_refuted(epsilon):
        return any(
            one_run_p_value(v, r, 2 * N, epsilon, DELTA) <= ALPHA / tests for v, r in some if 2 * v > r
        )

    assert curve_refuted(f_dp * (1 - 1e-5)) and not curve_refuted(f_dp * (1 + 1e-5))
    assert epsilon_refuted(one * (1 - 1e-5)) and not epsilon_refuted(one * (1 + 1e-5))


def mu_of(epsilon):
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of_shift(middle, DELTA) < epsilon else (low, middle)
    return low


@pytest.mark.slow
@pytest.mark.parametrize("bound", [one_run, one_run_f_dp])
@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_valid_on_independent_gaussian_canaries(bound, mu):
    """Each of 30 audits may err with probability 0.05, so more than 7 fail with probability below 4e-4; so do more
    than 3 of 8. Scored by the likelihood ratio, 400 canaries."""
    audits, most = (30, 7) if WHOLE else (8, 3)
    true, failed, found = epsilon_of_shift(mu, 1e-5), 0, []
    for seed in range(audits):
        generator = np.random.default_rng(seed)
        inside = generator.random(400) < 0.5
        scores = generator.standard_normal(400) + mu * inside
        found.append(best_of_counts(scores, inside, bound, delta=1e-5).value)
        failed += found[-1] > true
    assert failed <= most and np.median(found) > 0
    # the same audits refute a claim that is too good: a sixth of the ε
    assert mu < 2 or np.mean(np.array(found) > true / 6) > 0.9


@pytest.mark.slow
def test_valid_on_randomised_response():
    """The worst case of pure DP: every guess is right with probability e^ε/(1+e^ε), exactly."""
    generator, epsilon = np.random.default_rng(3), 1.5
    right = generator.binomial(500, np.exp(epsilon) / (1 + np.exp(epsilon)), size=400)
    found = np.array([one_run(right=int(v), guesses=500, canaries=500).value for v in right])
    assert 0.01 < (found > epsilon).mean() <= 0.09  # α = 0.05: an implementation that adds slack fails low
    assert np.median(found) > 1.2


def test_delta_is_paid_for():
    """A mechanism that tells everything once in 1/δ runs is (0, δ)-DP: right guesses alone must not refute it."""
    small = one_run(right=90, guesses=100, canaries=1000, delta=1e-9).value
    assert one_run(right=90, guesses=100, canaries=1000, delta=1e-3).value < 0.9 * small
    assert one_run(right=100, guesses=100, canaries=1000, delta=0.01).value == 0


def test_numbers_of_guesses_depend_on_no_score():
    assert guess_counts(100) == [8, 11, 16, 23, 32, 45, 64, 91, 100]
    found = best_of_counts(np.zeros(64), np.ones(64, dtype=bool), one_run, delta=0.0)
    assert found.value == found.ceiling < one_run(right=64, guesses=64, canaries=64).value


def test_epsilon_of_two_gaussians():
    """Against dp_accounting for equal deviations, and by quadrature for others."""
    from dp_accounting import get_epsilon_gaussian

    for mu in (0.1, 1.0, 7.0, 30.0):
        assert epsilon_of_shift(mu, 1e-6) == pytest.approx(get_epsilon_gaussian(1 / mu, 1e-6), rel=1e-6)
    x = np.linspace(-30, 30, 400_001)

    def density(mean, deviation):
        return np.exp(-0.5 * ((x - mean) / deviation) ** 2) / deviation / np.sqrt(2 * np.pi)

    for mean, deviation in ((1.0, 1.4), (1.0, 0.6), (0.0, 1.3), (2.0, 1.0001)):
        one, other = density(0, 1), density(mean, deviation)
        epsilon = epsilon_of_pair(0, 1, mean, deviation, 1e-4)
        gaps = [
            np.trapezoid(np.maximum(a - np.exp(epsilon) * b, 0), x) for a, b in ((one, other), (other, one))
        ]
        assert max(gaps) == pytest.approx(1e-4, rel=2e-3)


D, K, TOLD = 50_000, 250, 1e-6


@pytest.fixture(scope="module")
def summed():
    canaries = RandomCanaries(K, D, seed=4)
    total = np.zeros(D)
    canaries.add_to(total, 1.0)
    return canaries, total


def noisy(total, sigma, seed):
    return total + sigma * np.random.default_rng(seed).standard_normal(len(total))


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0])
def test_the_epsilon_of_a_gaussian_sum_comes_out(summed, sigma):
    """μ̂√d has a standard error of 1/√250 = 6 % of 1: within four of them, and in its own interval at 99.9 %."""
    canaries, total = summed
    cosines = canaries.cosines(noisy(total, sigma, seed=8))
    found = one_shot_final(cosines, dimension=D, delta=TOLD, confidence=0.999)
    true = epsilon_of_shift(1 / sigma, TOLD)
    bias = epsilon_of_shift(1 / np.sqrt(sigma**2 + K / D), TOLD)  # the other canaries are noise, too
    assert found.low < true < found.high < found.ceiling
    assert found.epsilon == pytest.approx(bias, rel=0.25 * max(sigma, 0.5))
    # noise of two thirds is told from it
    halved = canaries.cosines(noisy(total, sigma * 0.5, 8))
    weak = one_shot_final(halved, dimension=D, delta=TOLD, confidence=0.999)
    assert weak.low > true


@pytest.mark.slow
def test_all_rounds_tell_more_than_one(summed):
    """The sum of eight rounds recovers the composed ε; the largest of eight tells less, as its authors say."""
    canaries, total = summed
    releases = np.array([noisy(total, 2.0, seed) for seed in range(8)])
    true = epsilon_of_shift(np.sqrt(8) / 2.0, TOLD)
    cosines = canaries.cosines(releases)
    assert cosines.shape == (K, 8)
    whole = one_shot_final(
        canaries.cosines(sum_of_rounds(releases)), dimension=D, delta=TOLD, confidence=0.999
    )
    largest = one_shot_all(cosines, dimension=D, delta=TOLD)
    once = one_shot_final(cosines[:, 0], dimension=D, delta=TOLD)
    assert whole.low < true < whole.high and whole.epsilon == pytest.approx(true, rel=0.15)
    assert once.epsilon < largest.epsilon < whole.epsilon


def test_canaries_that_were_not_used_show_nothing(summed):
    _, total = summed
    others = RandomCanaries(K, D, seed=5)
    releases = np.array([noisy(total, 1.0, seed) for seed in range(4)])
    cosines = others.cosines(releases)
    assert one_shot_final(cosines[:, 0], dimension=D, delta=TOLD).low == 0
    assert one_shot_all(cosines, dimension=D, delta=TOLD).low == 0
    # the closed form: deviation 1/√d of one, and of the largest of four by simulation
    assert cosines.std() * np.sqrt(D) == pytest.approx(1, abs=5 / np.sqrt(2 * cosines.size))
    mean, deviation = _largest_of(4, D)
    largest = np.random.default_rng(0).standard_normal((200_000, 4)).max(1) / np.sqrt(D)
    assert mean == pytest.approx(largest.mean(), rel=0.01) and deviation == pytest.approx(
        largest.std(), rel=0.01
    )


def test_with_momentum_the_law_of_unused_canaries_is_measured():
    """Steps of an optimizer with momentum 0.9 over 60 rounds, each canary in one: the closed form takes them for
    independent; unused canaries show what the largest of such steps is."""
    d, rounds = 4000, 60
    canaries, others = RandomCanaries(60, d, seed=2), RandomCanaries(300, d, seed=3)
    generator, step, steps = np.random.default_rng(4), np.zeros(d), np.empty((rounds, d))
    for t in range(rounds):
        total = 0.1 * generator.standard_normal(d)
        canaries.add_to(total, 1.0, which=np.array([t]))
        step = 0.9 * step + total
        steps[t] = step
    used, unused = canaries.cosines(steps), others.cosines(steps)
    common = {"dimension": d, "delta": TOLD}
    measured, known = one_shot_all(used, **common, unused=unused), one_shot_all(used, **common)
    largest = unused.max(1)
    assert largest.mean() < _largest_of(rounds, d)[0] and largest.std() > 1.1 * _largest_of(rounds, d)[1]
    assert measured.low < measured.epsilon < measured.high < known.epsilon  # wider: less told apart
    seen = used.max(1)
    law = (largest.mean(), largest.std(ddof=1), seen.mean(), seen.std(ddof=1))
    assert measured.epsilon == pytest.approx(epsilon_of_pair(*law, TOLD))
    apart = one_shot_all(unused[:150], **common, unused=unused[150:])
    assert apart.epsilon < 0.2 * measured.epsilon  # and not 0: two measured spreads differ by chance


def test_without_noise_the_ceiling_is_reached(summed):
    canaries, total = summed
    found = one_shot_final(canaries.cosines(total), dimension=D, delta=TOLD)
    assert found.epsilon == pytest.approx(found.ceiling, rel=0.1)
    assert found.ceiling == pytest.approx(epsilon_of_shift(np.sqrt(D / K), TOLD))


def test_directions_are_made_again_and_alike():
    canaries = RandomCanaries(3, 1000, seed=1)
    assert np.array_equal(canaries.direction(2), canaries.direction(2))
    assert abs(float(canaries.direction(0) @ canaries.direction(1))) < 0.2
    one = np.zeros(1000)
    canaries.add_to(one, 2.0, which=np.array([1]))
    assert np.linalg.norm(one) == pytest.approx(2.0)


def test_what_is_no_cosine_is_refused():
    with pytest.raises(InputError, match="cosines"):
        one_shot_final(np.full(20, 1.5), dimension=10, delta=TOLD)
    with pytest.raises(InputError, match="ten canaries"):
        one_shot_final(np.zeros(3), dimension=10, delta=TOLD)
    with pytest.raises(InputError, match="releases"):
        RandomCanaries(10, 5, 0).cosines(np.zeros(5))
