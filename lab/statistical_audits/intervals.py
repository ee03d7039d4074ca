"""Intervals for the mean of numbers in [0, 1], by Chernoff's bound: they hold for every number of trials."""

from __future__ import annotations

import math

from scipy import optimize


def mean_at_least(mean: float, trials: int, alpha: float) -> float:
    """The expectation of independent equal numbers in [0, 1] is at least this, but for a chance of at most α.

    Hoeffding (1963), Theorem 1: Pr[mean ≥ x] ≤ e^{−n·kl(x, q)} where the expectation is q < x. So the least q that
    is not excluded solves n·kl(mean, q) = log 1/α.
    """
    return 1 - mean_at_most(1 - mean, trials, alpha)


def mean_at_most(mean: float, trials: int, alpha: float) -> float:
    """The same from above."""
    mean = min(max(mean, 0.0), 1.0)
    room = math.log(1 / alpha) / trials
    if mean == 1 or _kl(mean, 1 - 1e-16) <= room:
        return 1.0
    return float(optimize.brentq(lambda q: _kl(mean, q) - room, mean, 1 - 1e-16, xtol=1e-300, rtol=1e-12))


def _kl(x: float, q: float) -> float:
    """The divergence of two coins, in relative accuracy for small x and q."""
    if q <= 0:
        return 0.0 if x <= 0 else math.inf
    first = x * math.log(x / q) if x > 0 else 0.0
    second = (1 - x) * (math.log1p(-x) - math.log1p(-q)) if x < 1 else 0.0
    return max(first + second, 0.0)
