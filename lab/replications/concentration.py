"""The concentration filter: less noise where the units' gradients lie close together, and a halt where they do not.

    threshold = AboveThreshold(epsilon / 2, units=N, generator=secret)
    mean = filtered_mean(gradients, tau, threshold, generator=secret)          # None: halted, nothing is released
    mean + noise_scale(tau, units=N, rounds=T, epsilon=epsilon, delta=delta) * normal

Source: Asi and Liu 2024, as Algorithm 3 of Chua et al. 2024 (`user_level_dp.txt`, appendix A) has it: full batches,
one averaged gradient a unit; (ε, δ) of a unit, half for the threshold, half for the Gaussian rounds. That the kept
mean of neighbouring data sets moves by at most `mean_sensitivity`, rare draws apart, is their theorem; it is not
proved here, and no certificate rests on it: the filter is here to be compared with.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from hush_core.errors import InputError


def pairwise_distances(gradients: np.ndarray) -> np.ndarray:
    """(N, N) ‖g_i − g_j‖ of (N, d) float64 gradients; exactly 0 on the diagonal."""
    g = np.asarray(gradients, dtype=np.float64)
    squares = np.einsum("ij,ij->i", g, g)
    found = squares[:, None] + squares[None] - 2 * g @ g.T
    np.fill_diagonal(found, 0.0)
    return np.sqrt(np.maximum(found, 0.0))


def concentration_score(distances: np.ndarray, tau: float) -> float:
    """(1/N)·#{(i, j): ‖g_i − g_j‖ ≤ τ}, from 1 (each near itself alone) to N; one unit's gradient moves it by 2."""
    return float((distances <= tau).sum() / len(distances))


class AboveThreshold:
    """The sparse vector technique with one answer below: passes while scores lie above 4N/5, then halts for good.

    Args:
        epsilon: spent once, however many scores are asked. units: N. generator: SECRET; threshold and noise are
            drawn from it.

    Source: Dwork and Roth 2014, Algorithm 1, for queries of sensitivity 2: threshold noise Laplace(4/ε), score
    noise Laplace(8/ε).
    """

    SENSITIVITY = 2.0

    def __init__(self, epsilon: float, *, units: int, generator: np.random.Generator) -> None:
        if not epsilon > 0 or units < 1:
            raise InputError("the concentration filter", "needs ε > 0 and at least one unit", "give both")
        self._epsilon, self._generator = epsilon, generator
        self._threshold = 4 * units / 5 + generator.laplace(scale=2 * self.SENSITIVITY / epsilon)
        self.halted = False

    def __repr__(self) -> str:
        return f"AboveThreshold(halted={self.halted})"

    def passes(self, score: float) -> bool:
        """Whether the noisy score lies above; False from the first that does not."""
        if not self.halted:
            noise = self._generator.laplace(scale=4 * self.SENSITIVITY / self._epsilon)
            self.halted = bool(score + noise < self._threshold)
        return not self.halted


def keep_probabilities(distances: np.ndarray, tau: float) -> np.ndarray:
    """(N,): with f_i the units within 2τ of unit i: 0 below N/2, 1 from 2N/3 on, linear between."""
    units = len(distances)
    near = (distances <= 2 * tau).sum(axis=1)
    return np.clip((near - units / 2) / (units / 6), 0.0, 1.0)


def filtered_mean(
    gradients: np.ndarray, tau: float, threshold: AboveThreshold, *, generator: np.random.Generator
) -> np.ndarray | None:
    """(d,) the mean of the units that are kept (0 where none is), before noise; None once the filter has halted.

    Args:
        gradients: (N, d) one averaged gradient a unit, of ALL units. generator: SECRET.
    """
    distances = pairwise_distances(gradients)
    if not threshold.passes(concentration_score(distances, tau)):
        return None
    kept = generator.random(len(distances)) < keep_probabilities(distances, tau)
    return gradients[kept].mean(axis=0) if kept.any() else np.zeros(gradients.shape[1])


def mean_sensitivity(tau: float, *, units: int, rounds: int, epsilon: float, delta: float) -> float:
    """√(8·log(e^ε·T/δ))·τ/N: what the kept mean is taken to move by at most (Algorithm 3, line 14)."""
    return math.sqrt(8 * (epsilon + math.log(rounds / delta))) * tau / units


def gaussian_delta(epsilon: float, shift: float) -> float:
    """The least δ of N(μ, 1) against N(0, 1): Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) (Balle and Wang 2018)."""
    below = epsilon + log_ndtr(-shift / 2 - epsilon / shift)
    return float(ndtr(shift / 2 - epsilon / shift) - math.exp(below))


def gaussian_multiplier(epsilon: float, delta: float, rounds: int) -> float:
    """The noise over the sensitivity with which T Gaussian rounds of whole batches are (ε, δ)-DP together."""
    shift = brentq(lambda log: gaussian_delta(epsilon, math.exp(log)) - delta, math.log(1e-9), math.log(1e3))
    return math.sqrt(rounds) / math.exp(shift)


def noise_scale(tau: float, *, units: int, rounds: int, epsilon: float, delta: float) -> float:
    """The standard deviation of a coordinate's noise on the mean, for (ε, δ) of a unit over T rounds."""
    moved = mean_sensitivity(tau, units=units, rounds=rounds, epsilon=epsilon, delta=delta)
    return moved * gaussian_multiplier(epsilon / 2, delta / 2, rounds)


def break_even(
    user_wise_noise: float, *, units: int, rounds: int, epsilon: float, delta: float, clip_norm: float = 1.0
) -> float:
    """τ/C below which the filter's noise on the mean is less than `user_wise_noise`, that of user-wise DP-SGD at
    the same (ε, δ) (σ·C over the expected batch; Figures 3 and 7)."""
    return user_wise_noise / noise_scale(clip_norm, units=units, rounds=rounds, epsilon=epsilon, delta=delta)
