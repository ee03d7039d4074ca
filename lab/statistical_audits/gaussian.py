"""The ε, at a δ, of telling two Gaussians apart."""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize
from scipy.special import log_ndtr

from hush_core.errors import InputError

_MOST = 1e7


def epsilon_of_shift(mu: float, delta: float) -> float:
    """The least ε ≥ 0 at which N(0, 1) and N(μ, 1) are (ε, δ)-close (Balle and Wang 2018, Theorem 8).

    Raises:
        InputError: δ is not in (0, 1).
    """
    _check(delta)
    return epsilon_of_pair(0.0, 1.0, mu, 1.0, delta)


def epsilon_of_pair(mean0: float, deviation0: float, mean1: float, deviation1: float, delta: float) -> float:
    """The least ε at which N(mean0, deviation0²) and N(mean1, deviation1²) are (ε, δ)-close, both ways."""
    _check(delta)
    pairs = ((mean0, deviation0, mean1, deviation1), (mean1, deviation1, mean0, deviation0))
    return max(_one_way(*pair, math.log(delta)) for pair in pairs)


def _one_way(mean0: float, deviation0: float, mean1: float, deviation1: float, log_delta: float) -> float:
    def over(epsilon: float) -> float:
        return _log_delta(epsilon, mean0, deviation0, mean1, deviation1) - log_delta

    if over(0.0) <= 0:
        return 0.0
    high = 1.0
    while over(high) > 0:
        if high > _MOST:
            return math.inf
        high *= 2
    return float(optimize.brentq(over, 0.0, high, xtol=1e-9, rtol=1e-12))


def _log_delta(epsilon: float, mean0: float, deviation0: float, mean1: float, deviation1: float) -> float:
    """log of Pr₁[A] − e^ε·Pr₀[A] for A = {log N₁/N₀ > ε}, an interval, its outside, or a half line."""
    a, b, r = (
        (mean1 - mean0) / deviation0,
        deviation1 / deviation0,
        epsilon + math.log(deviation1 / deviation0),
    )
    # with x = (y − mean0)/deviation0: x²/2 − (x − a)²/(2b²) > r
    quadratic, linear, constant = 0.5 - 0.5 / b**2, a / b**2, -0.5 * (a / b) ** 2 - r
    if abs(quadratic) < 1e-12:
        if a == 0:
            return -math.inf
        edge = -constant / linear
        first, second = _log_side(a, b, edge, a > 0), _log_side(0.0, 1.0, edge, a > 0)
    else:
        root = linear**2 - 4 * quadratic * constant
        if root <= 0:
            if quadratic < 0:
                return -math.inf
            return math.log(-math.expm1(epsilon)) if epsilon < 0 else -math.inf
        ends = sorted((-linear + sign * math.sqrt(root)) / (2 * quadratic) for sign in (-1, 1))
        first, second = (_log_between(m, s, *ends, quadratic < 0) for m, s in ((a, b), (0.0, 1.0)))
    gap = epsilon + second - first
    return first + math.log(-math.expm1(gap)) if gap < 0 else -math.inf


def _log_side(mean: float, deviation: float, edge: float, above: bool) -> float:
    z = (mean - edge) / deviation
    return float(log_ndtr(z if above else -z))


def _log_between(mean: float, deviation: float, low: float, high: float, inside: bool) -> float:
    below, above = log_ndtr((low - mean) / deviation), log_ndtr((mean - high) / deviation)
    if not inside:
        return float(np.logaddexp(below, above))
    # the side on which the interval lies, so that no two numbers near 1 are subtracted
    if low > mean:
        far, near = above, log_ndtr((mean - low) / deviation)
    else:
        far, near = below, log_ndtr((high - mean) / deviation)
    gap = float(far - near)
    return float(near) + math.log(-math.expm1(gap)) if gap < 0 else -math.inf


def _check(delta: float) -> None:
    if not 0 < delta < 1:
        raise InputError(
            "delta", f"must lie between 0 and 1, got {delta:g}", "give one below 1/(number of people)"
        )
