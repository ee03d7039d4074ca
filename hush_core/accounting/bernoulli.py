"""From a divergence to a posterior: the largest r with F(Bern(r), Bern(p)) ≤ budget (Hush! Lemma 3.2).

All divergences here are written with a gauge g ≥ 0 of the log ratio, F(P, Q) = E_Q[g(log P/Q)], so that
nothing is lost when P and Q are nearly equal.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from hush_core.errors import InputError


def log_kl_gauge(loss: np.ndarray) -> np.ndarray:
    """log of e^L·L − e^L + 1 ≥ 0, whose mean under Q is KL(P‖Q); a series where L is small."""
    loss = np.asarray(loss, dtype=np.float64)
    small, large = np.abs(loss) < 0.05, loss > 30
    z = np.where(small, loss, 0.0)
    # Σ_{n≥2} L^(n−2) (n−1)/n!
    series = 1 / 2 + z * (1 / 3 + z * (1 / 8 + z * (1 / 30 + z * (1 / 144 + z * (1 / 840 + z / 5760)))))
    middle = np.where(small | large, 1.0, np.maximum(loss, -700.0))
    with np.errstate(divide="ignore"):
        near = np.log(series) + 2 * np.log(np.abs(z))
    far = np.where(large, loss, 31.0)
    direct = np.log(middle * np.exp(middle) - np.expm1(middle))
    return np.where(small, near, np.where(large, far + np.log(far - 1 + np.exp(-far)), direct))


def log_ratios(prior: np.ndarray, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log r/p and log (1−r)/(1−p) for r = p + gap, accurate however small the gap."""
    with np.errstate(divide="ignore"):
        return np.log1p(gap / prior), np.log1p(-np.minimum(gap / (1 - prior), 1.0))


def target_kl(prior: ArrayLike, target: ArrayLike) -> np.ndarray | float:
    """μ = KL(Bern(r)‖Bern(p)) in nats, vectorised (Hush! §4).

    Errors: `InputError` unless 0 < p ≤ r ≤ 1.
    """
    p, r = np.broadcast_arrays(np.asarray(prior, np.float64), np.asarray(target, np.float64))
    if not np.all((p > 0) & (p < 1) & (r >= p) & (r <= 1)):
        raise InputError("prior and target", "0 < prior ≤ target ≤ 1 does not hold", "correct the targets")
    up, down = log_ratios(p, r - p)
    mu = p * np.exp(log_kl_gauge(up)) + (1 - p) * np.exp(log_kl_gauge(down))
    return float(mu) if mu.ndim == 0 else mu


def largest_posterior(exceeds: Callable[[np.ndarray], np.ndarray], prior: np.ndarray) -> np.ndarray:
    """p + the gap at which `exceeds(gap)` turns true, from above (so never below the root); 1 where it
    never does. Shape of `prior`.

    `exceeds` is monotone in the gap. Bisection on log gap to one part in 1e10.
    """
    low, high = np.log(prior) - 46.0, np.log1p(-prior)
    for _ in range(42):
        middle = 0.5 * (low + high)
        too_far = exceeds(np.exp(middle))
        high = np.where(too_far, middle, high)
        low = np.where(too_far, low, middle)
    return np.minimum(prior + np.exp(high) * (1 + 1e-12), 1.0)
