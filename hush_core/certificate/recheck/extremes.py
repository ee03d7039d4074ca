"""Where the tight bound is the prior itself, or 1, to 2e-5: shown by an inequality, without inversion.

*Hardly moved.* With W_t = P/Q of round t and n_t = ‖W_t − 1‖_α under Q, the triangle inequality over the rounds,
which are independent, gives ‖W_1⋯W_T − 1‖_α ≤ Π(1 + n_t) − 1. Hölder's, for a test φ with Q(φ) ≤ p: P(φ) − Q(φ) =
E_Q[φ·(W_1⋯W_T − 1)] ≤ p^{1−1/α}·‖W_1⋯W_T − 1‖_α. So p ≤ B(p) ≤ p·(1 + p^{−1/α}·(Π(1 + n_t) − 1)), for every α.

*Sure.* Let round t count w_t in (0, 1], and S = √(Σ w_t²·σ_t²). "The weighted sum exceeds S·Φ⁻¹(1−p)" is a test of
level p. The draws of all rounds are independent Bernoullis, weighted w_t. By Chernoff's bound, for terms in [0, 1],
their sum, of mean M, is below (1−a)M with probability at most e^{−a²M/2}. This sum is added to the weighted sum.
So B(p) ≥ 1 − e^{−a²M/2} − Φ(Φ⁻¹(1−p) − (1−a)M/S), for every a; w_t is E[K_t]/σ_t² over the largest.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from hush_core.certificate.recheck.loss import RoundLoss

_ORDERS = 2 * np.unique(np.geomspace(1, 128, 15).astype(int))
"""Even, so that (W − 1)^α is a sum of Gaussians under Q, for which the trapezoid rule is exact to e^{−300}."""
_STEP = 0.25
"""Of the rule, in σ."""
_MOST = 4_000_000
_SHARES = (0.1, 0.2, 0.35, 0.5, 0.7)


def excess_over_prior(parts: Sequence[tuple[RoundLoss, int]], prior: float) -> float:
    """ε with B(p) ≤ p·(1 + ε) after so many rounds of each; infinite where no order says anything."""
    least = math.inf
    for order in _ORDERS:
        growth = sum(_growth(one, rounds, int(order)) for one, rounds in parts)
        if growth == math.inf:
            break
        if growth < 1:
            least = min(least, math.expm1(growth) * math.exp(min(-math.log(prior) / order, 700.0)))
    return least


def _growth(one: RoundLoss, rounds: int, order: int) -> float:
    """T·log(1 + n)."""
    low, high = -12 * one.sigma, order * one.k[-1] + 12 * one.sigma
    size = math.ceil((high - low) / (_STEP * one.sigma)) + 1
    if size * len(one.k) > _MOST:
        return math.inf
    x = np.linspace(low, high, size)
    loss = one.loss(x)
    with np.errstate(divide="ignore"):
        moved = np.where(loss < 1, np.log(np.abs(np.expm1(np.minimum(loss, 1.0)))), loss)
    terms = order * moved - (x / one.sigma) ** 2 / 2
    top = float(terms.max())
    step = math.log((x[1] - x[0]) / (one.sigma * math.sqrt(2 * math.pi)))
    log_norm = (top + math.log(np.exp(terms - top).sum()) + step) / order
    return rounds * math.log1p(math.exp(log_norm)) if log_norm < 300 else math.inf


def shortfall_from_one(parts: Sequence[tuple[float, float, int]], prior: float) -> float:
    """How far below 1 the bound can be at most. `parts`: (mean of the examples that a round draws, σ, rounds)."""
    largest = max(mean / sigma**2 for mean, sigma, _ in parts)
    weighted = [(mean / sigma**2 / largest, mean, sigma, rounds) for mean, sigma, rounds in parts]
    draws = sum(w * mean * rounds for w, mean, _, rounds in weighted)
    noise = math.sqrt(sum(rounds * (w * sigma) ** 2 for w, _, sigma, rounds in weighted))
    return min(
        math.exp(-(a**2) * draws / 2) + float(ndtr(-ndtri(prior) - (1 - a) * draws / noise)) for a in _SHARES
    )
