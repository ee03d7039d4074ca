"""Rényi certificates: cheap, one integral per order α, and nearly tight where r is tiny.

`renyi`: Lemma 3.2 of Hush! with f(y) = y^α − 1. `renyi_preservation`: eq. 2–3 of "Defending against
Reconstruction Attacks with Rényi Differential Privacy", which follows from it by leaving one positive term
out.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from hush_core.accounting.bernoulli import largest_posterior, log_ratios
from hush_core.accounting.mixture import TAIL, DominatingPair

_POINTS = 20_000
_ROUND_OFF = 1e-9
_SMALL = 0.05


def log_gauge(loss: np.ndarray, order: np.ndarray | float) -> np.ndarray:
    """log of e^{αL} − 1 − α(e^L − 1) ≥ 0, whose mean under Q is E_Q[(P/Q)^α] − 1; never two numbers near
    1."""
    loss, order = np.broadcast_arrays(np.asarray(loss, np.float64), np.asarray(order, np.float64))
    scaled = order * loss
    small, large = np.abs(scaled) < _SMALL, scaled > 30
    z = np.where(small, loss, 0.0)
    # Σ_{n≥2} L^n (α^n − α)/n!, by Horner in L
    series = np.zeros_like(z)
    factorial = 40320.0
    for n in range(8, 1, -1):
        series = series * z + order * np.expm1((n - 1) * np.log(order)) / factorial
        factorial /= n
    middle = np.where(small | large, 1.0, np.maximum(loss, -700.0))
    less = order - 1
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        bounded = np.minimum(less * middle, 40.0)
        direct = np.exp(middle) * np.expm1(bounded) - less * np.expm1(middle)
        result = np.where(small, np.log(series) + 2 * np.log(np.abs(z)), np.log(np.maximum(direct, 0.0)))
    return np.where(large, scaled, result)


class RenyiMoments:
    """log E_Q[(P/Q)^α] of one round for many orders, on one table of losses."""

    def __init__(self, pair: DominatingPair, largest_order: float) -> None:
        self.pair = pair
        self.high = largest_order * pair.last + TAIL * pair.sigma
        low = -TAIL * pair.sigma
        x, loss = pair.uniform(low, self.high, pair.fine_step, np.zeros(1))
        self.loss = loss[:, 0]
        self.log_measure = pair.log_q(x[:, 0]) + np.log((self.high - low) / len(x))
        self.loss_at_high = float(pair.loss(np.array([self.high]))[0])

    def log_moment(self, order: float) -> float:
        """From above; what lies outside the table is bounded and added."""
        pair = self.pair
        terms = self.log_measure + log_gauge(self.loss, order)
        top = terms.max()
        log_excess = top + np.log(np.exp(terms - top).sum()) + _ROUND_OFF
        # above: L(x) ≤ L(high) + (x − high)·k/σ², a Gaussian integral; below: the gauge is at most α
        reach = order * pair.last
        above = (
            order * self.loss_at_high
            + (reach**2 / 2 - reach * self.high) / pair.sigma**2
            + log_ndtr((reach - self.high) / pair.sigma)
        )
        below = np.log(order) + log_ndtr(-TAIL)
        log_excess = np.logaddexp(log_excess, np.logaddexp(above, below))
        return float(np.logaddexp(0.0, log_excess)) if log_excess > -30 else float(np.exp(log_excess))


def useful_orders(pair: DominatingPair, rounds: int, prior: float) -> np.ndarray:
    """A grid of orders without those at which even one component, w_k·N(k, σ²), allows a posterior of 1."""
    widest = (_POINTS * pair.fine_step - 2 * TAIL * pair.sigma) / max(pair.last, 1.0)
    grid = 1 + np.geomspace(1e-3, 1e9, 121)
    grid = grid[grid <= max(widest, 1.01)]
    growth = (pair.k**2 / (2 * pair.sigma**2))[None, :]
    least = grid[:, None] * (pair.log_weights[None, :] + (grid[:, None] - 1) * growth)
    useful = rounds * least.max(axis=1) < -(grid - 1) * np.log(prior)
    # one order more: the best may lie between the last useful one and the next
    return grid[useful | np.append(False, useful[:-1])] if useful.any() else grid[:0]


def posterior_by_lemma(log_moments: np.ndarray, orders: np.ndarray, prior: float) -> np.ndarray:
    """q ≥ p with q^α p^{1−α} + (1−q)^α (1−p)^{1−α} = e^M for M = `log_moments` (all rounds), from above."""
    with np.errstate(divide="ignore"):
        budget = log_moments + np.log(-np.expm1(-log_moments))  # log(e^M − 1)

    def exceeds(gap: np.ndarray) -> np.ndarray:
        up, down = log_ratios(prior, gap)
        here = np.logaddexp(np.log(prior) + log_gauge(up, orders), np.log1p(-prior) + log_gauge(down, orders))
        return here >= budget

    return largest_posterior(exceeds, prior, orders.shape)


def posterior_by_preservation(log_moments: np.ndarray, orders: np.ndarray, prior: float) -> np.ndarray:
    """log r ≤ ((α−1)/α)·(M/(α−1) + log p)."""
    return np.exp(np.minimum((log_moments + (orders - 1) * np.log(prior)) / orders, 0.0))


def renyi_posterior(pair: DominatingPair, rounds: int, prior: float, *, preservation: bool = False) -> float:
    """The posterior that T rounds of this pair allow at most: the least over a grid of orders, refined
    twice."""
    orders = useful_orders(pair, rounds, prior)
    if not len(orders):
        return 1.0
    moments = RenyiMoments(pair, float(orders[-1]))
    convert = posterior_by_preservation if preservation else posterior_by_lemma

    def at(some: np.ndarray) -> np.ndarray:
        return convert(rounds * np.array([moments.log_moment(a) for a in some]), some, prior)

    orders = orders[:: max(1, len(orders) // 40)]
    values = at(orders)
    best = float(values.min())
    for _ in range(2):  # within about 0.1 % of the least over all orders
        i = int(values.argmin())
        low, high = orders[max(i - 1, 0)], orders[min(i + 1, len(orders) - 1)]
        if not high > low:
            break
        orders = 1 + np.geomspace(low - 1, high - 1, 9)
        values = at(orders)
        best = min(best, float(values.min()))
    return min(best, 1.0)
