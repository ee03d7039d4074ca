"""The n-gram experiment of Stock et al. 2022, §4.1: a model of one secret, trained with DP-SGD, and what it leaks.

A full n-gram model of digits has 10^T parameters; those on the secret's own path decide its probability, and only
they are trained: θ (T, 10), position t gives digit d the probability softmax(θ_t)_d. The secret is one example in
every round (rate 1), its loss the sum of −log softmax over positions, its gradient clipped to C = 1, the noise
N(0, σ²), the learning rate 0.5/σ. The text does not say how many steps; its log p1 of −22.5 with a standard
deviation of 1.5 at σ = 2.875 are those of one step (tests), which is the default.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

DIGITS = 10


@dataclass(frozen=True)
class NgramLeakage:
    """What N trained models tell of the secret; probabilities as natural logarithms.

    Attributes:
        log_prior: log p0 = −T·log 10.
        log_emitted: log of the mean probability that a model emits the secret (their eq. 4), with its interval at
            99 % (normal, of the mean over models): log_emitted_low, log_emitted_high.
        mean_log, deviation_log: of log f_θ(secret) over models.
        log_best: log of the chance that the best guess after ONE step, the likeliest digit of every position, is
            the secret: the Bayes-optimal adversary, exact up to quadrature; NaN for more steps.
    """

    log_prior: float
    log_emitted: float
    log_emitted_low: float
    log_emitted_high: float
    mean_log: float
    deviation_log: float
    log_best: float


def train_ngrams(
    noise_multiplier: float,
    *,
    length: int = 10,
    steps: int = 1,
    learning_rate: float | None = None,
    models: int = 10_000,
    seed: int = 0,
) -> np.ndarray:
    """(models,) log f_θ(secret) of models trained on the secret, from θ = 0.

    Which secret it is does not matter: digits may be renamed, so it is 0 at every position.
    """
    generator = np.random.default_rng(seed)
    rate = 0.5 / noise_multiplier if learning_rate is None else learning_rate
    theta = np.zeros((models, length, DIGITS))
    aim = np.zeros(DIGITS)
    aim[0] = 1.0
    for _ in range(steps):
        gradient = special.softmax(theta, axis=2) - aim
        norms = np.sqrt((gradient**2).sum((1, 2), keepdims=True))
        noise = noise_multiplier * generator.standard_normal(theta.shape)
        theta -= rate * (gradient / np.maximum(norms, 1.0) + noise)
    return special.log_softmax(theta, axis=2)[:, :, 0].sum(1)


def ngram_leakage(
    noise_multiplier: float, *, length: int = 10, steps: int = 1, models: int = 10_000, seed: int = 0
) -> NgramLeakage:
    """Train the models of one σ, and sum them up."""
    logs = train_ngrams(noise_multiplier, length=length, steps=steps, models=models, seed=seed)
    top = float(logs.max())
    shares = np.exp(logs - top)
    mean, reach = float(shares.mean()), 2.576 * float(shares.std(ddof=1)) / math.sqrt(models)
    return NgramLeakage(
        -length * math.log(DIGITS),
        top + math.log(mean),
        top + math.log(mean - reach) if mean > reach else -math.inf,
        top + math.log(mean + reach),
        float(logs.mean()),
        float(logs.std(ddof=1)),
        best_guess(noise_multiplier, length) if steps == 1 else math.nan,
    )


def best_guess(noise_multiplier: float, length: int) -> float:
    """log of the chance that the likeliest digit is right at every position, after one noisy step.

    The first gradient is −(1 − 1/10) at the secret's digit and 1/10 at the nine others; clipped to length 1 over
    all positions, the digit stands out by shift = 1/√(T·(1 − 1/10)) against noise σ, independently at each one:
    ∫ φ(z − shift/σ)·Φ(z)^9 dz to the power T.
    """
    unclipped = math.sqrt(length * (1 - 1 / DIGITS))
    shift = min(1.0, 1 / unclipped) / noise_multiplier
    z, weights = np.polynomial.hermite_e.hermegauss(200)
    right = float(weights @ special.ndtr(z + shift) ** (DIGITS - 1)) / math.sqrt(2 * math.pi)
    return length * math.log(right)
