"""Where the tight bound is the prior itself, or 1, to 2e-5: shown by an inequality, without inversion.

*Hardly moved.* With W = P/Q of one round and n = ‖W − 1‖_α under Q, the triangle inequality over the rounds, which
are independent, gives ‖W_1⋯W_T − 1‖_α ≤ (1 + n)^T − 1. Hölder's, for a test φ with Q(φ) ≤ p: P(φ) − Q(φ) =
E_Q[φ·(W_1⋯W_T − 1)] ≤ p^{1−1/α}·‖W_1⋯W_T − 1‖_α. So p ≤ B(p) ≤ p·(1 + p^{−1/α}·((1 + n)^T − 1)), for every α.

*Sure.* "The rounds' sum exceeds √T·σ·Φ⁻¹(1−p)" is a test of level p. The count of draws in all rounds is a sum of
independent Bernoullis of mean M, below (1−a)M with probability e^{−a²M/2} at most (Chernoff); at least that many
add as much to the sum. So B(p) ≥ 1 − e^{−a²M/2} − Φ(Φ⁻¹(1−p) − (1−a)M/(√T·σ)), for every a.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri

from hush_core.certificate.recheck.loss import RoundLoss

_ORDERS = 2 * np.unique(np.geomspace(1, 128, 15).astype(int))
"""Even, so that (W − 1)^α is a sum of Gaussians under Q, for which the trapezoid rule is exact to e^{−300}."""
_STEP = 0.25
"""Of the rule, in σ."""
_MOST = 4_000_000
_SHARES = (0.1, 0.2, 0.35, 0.5, 0.7)


def excess_over_prior(one: RoundLoss, rounds: int, prior: float) -> float:
    """ε with B(p) ≤ p·(1 + ε); infinite where no order says anything."""
    least = math.inf
    for order in _ORDERS:
        low, high = -12 * one.sigma, order * one.k[-1] + 12 * one.sigma
        size = math.ceil((high - low) / (_STEP * one.sigma)) + 1
        if size * len(one.k) > _MOST:
            break
        x = np.linspace(low, high, size)
        loss = one.loss(x)
        with np.errstate(divide="ignore"):
            moved = np.where(loss < 1, np.log(np.abs(np.expm1(np.minimum(loss, 1.0)))), loss)
        terms = order * moved - (x / one.sigma) ** 2 / 2
        top = float(terms.max())
        step = math.log((x[1] - x[0]) / (one.sigma * math.sqrt(2 * math.pi)))
        log_norm = (top + math.log(np.exp(terms - top).sum()) + step) / order
        growth = rounds * math.log1p(math.exp(log_norm)) if log_norm < 300 else math.inf
        if growth < 1:
            least = min(least, math.expm1(growth) * math.exp(min(-math.log(prior) / order, 700.0)))
    return least


def shortfall_from_one(mean: float, sigma: float, rounds: int, prior: float) -> float:
    """How far below 1 the bound can be at most. `mean`: of the examples that a round draws."""
    draws = mean * rounds
    return min(
        math.exp(-(a**2) * draws / 2)
        + float(ndtr(-ndtri(prior) - (1 - a) * draws / (math.sqrt(rounds) * sigma)))
        for a in _SHARES
    )
