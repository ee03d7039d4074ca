"""The n-gram experiment: the published numbers come out, and no leakage lies above the bounds."""

import math

import numpy as np
import pytest

from hush_core.accounting import Participation, posterior_bound
from lab.replications.ngram_leakage import best_guess, ngram_leakage, train_ngrams

ALWAYS = Participation.binomial(count=1, rate=1.0)


def test_the_published_numbers_are_those_of_one_step():
    """Stock et al., §3.3: at σ = 2.875 log p1 ≃ −22.5 with a standard deviation ≃ 1.5."""
    found = ngram_leakage(2.875)
    assert found.log_emitted == pytest.approx(-22.5, abs=0.05)
    assert found.deviation_log == pytest.approx(1.5, abs=0.05)
    assert ngram_leakage(2.875, steps=5, models=2000).deviation_log > 3


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0, 10.0])
def test_leakage_lies_below_the_bounds(sigma):
    """With 99 % confidence for what the models emit; exactly for the best guess."""
    found = ngram_leakage(sigma, models=4000)
    settings = {"noise_multiplier": sigma, "rounds": 1, "prior": math.exp(found.log_prior)}
    tight, loose = (
        math.log(posterior_bound(ALWAYS, method=m, **settings).value)
        for m in ("blow_up", "renyi_preservation")
    )
    assert found.log_prior < found.log_emitted_high < found.log_best < tight < loose
    # half of the noise leaks more than the bound of the whole allows
    assert best_guess(sigma / 2, 10) > tight


def test_the_best_guess_is_the_simulated_one():
    """2 positions at σ = 0.5: the likeliest digit of each after one step, 40,000 runs, within 5 standard errors."""
    generator, sigma, runs = np.random.default_rng(0), 0.5, 40_000
    aim = np.zeros(10)
    aim[0] = 1
    gradient = np.tile(0.1 - aim, (2, 1))
    gradient /= max(1.0, np.linalg.norm(gradient))
    steps = -(gradient + sigma * generator.standard_normal((runs, 2, 10)))
    share = (steps.argmax(2) == 0).all(1).mean()
    assert math.exp(best_guess(sigma, 2)) == pytest.approx(share, abs=5 * math.sqrt(share / runs))


def test_a_model_without_noise_learns_its_secret():
    logs = train_ngrams(1e-6, steps=200, learning_rate=1.0, models=2)
    assert logs.min() > -0.1
