"""The one-shot estimate recovers the analytical ε of a Gaussian sum; what is random is fixed by seeds."""

import numpy as np
import pytest

from hush_core.errors import InputError
from lab.statistical_audits.gaussian import epsilon_of_pair, epsilon_of_shift
from lab.statistical_audits.one_shot import (
    RandomCanaries,
    _largest_of,
    one_shot_all,
    one_shot_final,
    sum_of_rounds,
)

D, K, DELTA = 50_000, 250, 1e-6


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
    found = one_shot_final(cosines, dimension=D, delta=DELTA, confidence=0.999)
    true = epsilon_of_shift(1 / sigma, DELTA)
    bias = epsilon_of_shift(1 / np.sqrt(sigma**2 + K / D), DELTA)  # the other canaries are noise, too
    assert found.low < true < found.high < found.ceiling
    assert found.epsilon == pytest.approx(bias, rel=0.25 * max(sigma, 0.5))
    # noise of two thirds is told from it
    weak = one_shot_final(
        canaries.cosines(noisy(total, sigma * 0.5, 8)), dimension=D, delta=DELTA, confidence=0.999
    )
    assert weak.low > true


@pytest.mark.slow
def test_all_rounds_tell_more_than_one(summed):
    """The sum of eight rounds recovers the composed ε; the largest of eight tells less, as its authors say."""
    canaries, total = summed
    releases = np.array([noisy(total, 2.0, seed) for seed in range(8)])
    true = epsilon_of_shift(np.sqrt(8) / 2.0, DELTA)
    cosines = canaries.cosines(releases)
    assert cosines.shape == (K, 8)
    whole = one_shot_final(
        canaries.cosines(sum_of_rounds(releases)), dimension=D, delta=DELTA, confidence=0.999
    )
    largest = one_shot_all(cosines, dimension=D, delta=DELTA)
    once = one_shot_final(cosines[:, 0], dimension=D, delta=DELTA)
    assert whole.low < true < whole.high and whole.epsilon == pytest.approx(true, rel=0.15)
    assert once.epsilon < largest.epsilon < whole.epsilon


def test_canaries_that_were_not_used_show_nothing(summed):
    _, total = summed
    others = RandomCanaries(K, D, seed=5)
    releases = np.array([noisy(total, 1.0, seed) for seed in range(4)])
    cosines = others.cosines(releases)
    assert one_shot_final(cosines[:, 0], dimension=D, delta=DELTA).low == 0
    assert one_shot_all(cosines, dimension=D, delta=DELTA).low == 0
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
    common = {"dimension": d, "delta": DELTA}
    measured, known = one_shot_all(used, **common, unused=unused), one_shot_all(used, **common)
    largest = unused.max(1)
    assert largest.mean() < _largest_of(rounds, d)[0] and largest.std() > 1.1 * _largest_of(rounds, d)[1]
    assert measured.low < measured.epsilon < measured.high < known.epsilon  # wider: less told apart
    seen = used.max(1)
    law = (largest.mean(), largest.std(ddof=1), seen.mean(), seen.std(ddof=1))
    assert measured.epsilon == pytest.approx(epsilon_of_pair(*law, DELTA))
    apart = one_shot_all(unused[:150], **common, unused=unused[150:])
    assert apart.epsilon < 0.2 * measured.epsilon  # and not 0: two measured spreads differ by chance


def test_without_noise_the_ceiling_is_reached(summed):
    canaries, total = summed
    found = one_shot_final(canaries.cosines(total), dimension=D, delta=DELTA)
    assert found.epsilon == pytest.approx(found.ceiling, rel=0.1)
    assert found.ceiling == pytest.approx(epsilon_of_shift(np.sqrt(D / K), DELTA))


def test_directions_are_made_anew_and_alike():
    canaries = RandomCanaries(3, 1000, seed=1)
    assert np.array_equal(canaries.direction(2), canaries.direction(2))
    assert abs(float(canaries.direction(0) @ canaries.direction(1))) < 0.2
    one = np.zeros(1000)
    canaries.add_to(one, 2.0, which=np.array([1]))
    assert np.linalg.norm(one) == pytest.approx(2.0)


def test_what_is_no_cosine_is_refused():
    with pytest.raises(InputError, match="cosines"):
        one_shot_final(np.full(20, 1.5), dimension=10, delta=DELTA)
    with pytest.raises(InputError, match="ten canaries"):
        one_shot_final(np.zeros(3), dimension=10, delta=DELTA)
    with pytest.raises(InputError, match="releases"):
        RandomCanaries(10, 5, 0).cosines(np.zeros(5))
