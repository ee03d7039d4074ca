"""One run: public reference values, valid on mechanisms whose ε is known, and refuted ones are refuted."""

import numpy as np
import pytest
from scipy import stats
from sizes import WHOLE

from lab.statistical_audits import best_of_counts, guess_counts, one_run, one_run_f_dp
from lab.statistical_audits.gaussian import epsilon_of_pair, epsilon_of_shift
from lab.statistical_audits.one_run import one_run_p_value
from lab.statistical_audits.one_run_f_dp import gaussian_curve_refuted

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
        one, other, epsilon = (
            density(0, 1),
            density(mean, deviation),
            epsilon_of_pair(0, 1, mean, deviation, 1e-4),
        )
        gaps = [
            np.trapezoid(np.maximum(a - np.exp(epsilon) * b, 0), x) for a, b in ((one, other), (other, one))
        ]
        assert max(gaps) == pytest.approx(1e-4, rel=2e-3)
