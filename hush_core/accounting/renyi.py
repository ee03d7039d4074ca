"""Rényi certificates: cheap, one integral per order α, and nearly tight where r is tiny.

`renyi`: Lemma 3.2 of Hush! with f(y) = y^α − 1. `renyi_preservation`: eq. 2–3 of "Defending against
Reconstruction Attacks with Rényi Differential Privacy", which follows from it by leaving one positive term
out.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import log_ndtr

from hush_core.accounting.bernoulli import largest_posterior, log_ratios
from hush_core.accounting.mixture import TAIL, DominatingPair
from hush_core.errors import CertificationError

_REFINEMENTS = 3
_SEARCHED = 24
"""The best orders are searched for so many priors, twice; the others lie between two of them."""
_ROUND_OFF = 1e-9
_SMALL = 0.05


def log_gauge(loss: np.ndarray, order: np.ndarray | float) -> np.ndarray:
    """log of e^{αL} − 1 − α(e^L − 1) ≥ 0, whose mean under Q is E_Q[(P/Q)^α] − 1; never two numbers near
    1."""
    loss, order = np.broadcast_arrays(np.asarray(loss, np.float64), np.asarray(order, np.float64))
    scaled = order * loss
    small, large = np.abs(scaled) < _SMALL, scaled > 30
    result = np.empty(loss.shape)
    result[small] = _near_zero(loss[small], order[small])
    middle = ~(small | large)
    result[middle] = _direct(loss[middle], order[middle])
    result[large] = _far_out(loss[large], order[large], scaled[large])
    return result


def _near_zero(loss: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Σ_{n≥2} L^n (α^n − α)/n!, by Horner in L."""
    series, log_order = np.zeros_like(loss), np.log(order)
    factorial = 40320.0
    for n in range(8, 1, -1):
        series = series * loss + order * np.expm1((n - 1) * log_order) / factorial
        factorial /= n
    with np.errstate(divide="ignore"):
        return np.log(series) + 2 * np.log(np.abs(loss))


def _direct(loss: np.ndarray, order: np.ndarray) -> np.ndarray:
    loss, less = np.maximum(loss, -700.0), order - 1
    bounded = np.minimum(less * loss, 40.0)
    direct = np.exp(loss) * np.expm1(bounded) - less * np.expm1(loss)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(direct, 0.0))


def _far_out(loss: np.ndarray, order: np.ndarray, scaled: np.ndarray) -> np.ndarray:
    """e^{αL} − αe^L + α − 1 = e^L·(e^{(α−1)L} − 1 + (α−1)(e^{−L} − 1)), much as e^{αL} but for α near 1."""
    less = order - 1
    rest = np.expm1(np.minimum(less * loss, 40.0)) + less * np.expm1(-loss)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(less * loss < 40, loss + np.log(rest), scaled)


class RenyiMoments:
    """log E_Q[(P/Q)^α] of one round for many orders, on one table of losses."""

    def __init__(self, pair: DominatingPair, largest_order: float) -> None:
        self.pair = pair
        self.high = largest_order * pair.last + TAIL * pair.sigma
        low = -TAIL * pair.sigma
        x, loss = pair.uniform(low, self.high, pair.fine_step, np.zeros(1))
        self.loss = loss[:, 0]
        self.log_step = float(np.log((self.high - low) / len(x)))
        self.log_measure = pair.log_q(x[:, 0]) + self.log_step
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
        # the rule's own terms from there on: the first, and what a falling function's integral is above
        first = order * self.loss_at_high + float(pair.log_q(np.array([self.high]))[0]) + self.log_step
        below = np.log(order) + log_ndtr(-TAIL)
        log_excess = np.logaddexp.reduce([log_excess, first, above, below])
        return float(np.logaddexp(0.0, log_excess)) if log_excess > -30 else float(np.exp(log_excess))


class MomentCurve:
    """M(α) = Σ T·log E_Q[(P/Q)^α] in nats over the parts, from above, on tables only as wide as orders asked for.

    Errors: `CertificationError` for an order whose table would take more than `largest_table` points.
    """

    def __init__(self, parts: Sequence[tuple[DominatingPair, int]], largest_table: int = 500_000) -> None:
        self.parts, self.largest_table = parts, largest_table
        self._tables: list[tuple[float, list[RenyiMoments]]] = []

    def within_reach(self, order: float) -> bool:
        """Whether the table for this order is of a reasonable size."""
        return all(order * pair.last <= self.largest_table * pair.fine_step for pair, _ in self.parts)

    def __call__(self, orders: np.ndarray) -> np.ndarray:
        return np.array([self._log_moment(float(order)) for order in orders])

    def _log_moment(self, order: float) -> float:
        tables = zip(self.parts, self._tables_for(order), strict=True)
        return sum(rounds * table.log_moment(order) for (_, rounds), table in tables)

    def _tables_for(self, order: float) -> list[RenyiMoments]:
        for widest, tables in self._tables:
            if order <= widest:
                return tables
        widest = max(2.0, order)
        if not self.within_reach(widest):
            raise CertificationError(f"an order of {order:.3g} takes too wide a table")
        self._tables.append((widest, [RenyiMoments(pair, widest) for pair, _ in self.parts]))
        return self._tables[-1][1]


def rising_orders(moments: MomentCurve, priors: np.ndarray) -> np.ndarray:
    """Orders from just above 1 until the bound of every prior has become worse for good.

    log r by preservation is a convex function over a linear one, so it falls and then rises; the lemma's bound
    follows it.
    """
    orders: list[float] = []
    least, worse = np.zeros(len(priors)), 0
    for order in 1 + np.geomspace(1e-3, 1e9, 60):
        if worse == 3 or not moments.within_reach(max(order, 2.0)):
            break
        try:
            here = (moments(np.array([order])) + (order - 1) * np.log(priors)) / order
        except (
            CertificationError
        ):  # the losses take too large a table: do without this order and further ones
            break
        worse = worse + 1 if np.all(here >= least) and (least < 0).any() else 0
        least = np.minimum(least, here)
        orders.append(order)
    return np.array(orders)


def posterior_by_lemma(log_moments: np.ndarray, orders: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """q ≥ p with q^α p^{1−α} + (1−q)^α (1−p)^{1−α} = e^M for M = `log_moments` (all rounds), from above.

    The three arrays broadcast against each other.
    """
    with np.errstate(divide="ignore"):
        budget = log_moments + np.log(-np.expm1(-log_moments))  # log(e^M − 1)
    budget, orders, priors = np.broadcast_arrays(budget, orders, priors)

    def exceeds(gap: np.ndarray) -> np.ndarray:
        up, down = log_ratios(priors, gap)
        here = np.logaddexp(
            np.log(priors) + log_gauge(up, orders), np.log1p(-priors) + log_gauge(down, orders)
        )
        return here >= budget

    return largest_posterior(exceeds, priors)


def posterior_by_preservation(log_moments: np.ndarray, orders: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """log r ≤ ((α−1)/α)·(M/(α−1) + log p)."""
    return np.exp(np.minimum((log_moments + (orders - 1) * np.log(priors)) / orders, 0.0))


def renyi_posteriors(
    parts: Sequence[tuple[DominatingPair, int]], priors: np.ndarray, *, preservation: bool = False
) -> np.ndarray:
    """The posteriors that so many rounds of these pairs allow at most, for every prior (k,): the least over a grid
    of orders, refined around the best.

    M(α) is of the pairs, and every order is valid for every prior. Only a few priors get their own search; each
    other prior takes the best orders of its two neighbours among them.
    """
    if sum(rounds * pair.mean**2 / (2 * pair.sigma**2) for pair, rounds in parts) >= -np.log(priors.min()):
        return np.ones(len(priors))  # M(α) ≥ (α−1)·T·KL ≥ (α−1)·T·E[K]²/2σ², which already allows everything
    bound = posterior_by_preservation if preservation else posterior_by_lemma
    distinct, back = np.unique(priors, return_inverse=True)
    searched = np.unique(np.linspace(0, len(distinct) - 1, min(len(distinct), _SEARCHED)).astype(np.int64))
    if len(searched) < len(distinct):  # spread over the range, not over the priors
        even = np.geomspace(distinct[0], distinct[-1], _SEARCHED)
        searched = np.unique(np.append(searched, np.searchsorted(distinct, even * (1 - 1e-12))))
    orders, values, best = best_orders(MomentCurve(parts), distinct[searched], preservation)
    if not len(orders):
        return np.ones(len(priors))
    right = np.searchsorted(searched, np.arange(len(distinct)))
    near = np.stack([best[np.maximum(right - 1, 0)], best[right]], axis=1)
    found = bound(values[near], orders[near], distinct[:, None]).min(axis=1)
    return found[back]


def best_orders(
    moments: MomentCurve, priors: np.ndarray, preservation: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(orders, M at each, the place of the best one for every prior)."""
    orders = rising_orders(moments, priors)
    if not len(orders):
        return orders, orders, np.zeros(len(priors), dtype=np.int64)
    values = moments(orders)
    for _ in range(_REFINEMENTS):
        here = posterior_by_preservation(values, orders, priors[:, None])
        orders, values = _refined(moments, orders, values, here.argmin(axis=1))
    here = posterior_by_preservation(values, orders, priors[:, None])
    if not preservation:
        # the lemma is never worse; where r is not tiny its best order is another
        for _ in range(2):
            here = posterior_by_lemma(values, orders, priors[:, None])
            orders, values = _refined(moments, orders, values, here.argmin(axis=1))
        here = posterior_by_lemma(values, orders, priors[:, None])
    return orders, values, here.argmin(axis=1)


def _refined(
    moments: MomentCurve, orders: np.ndarray, values: np.ndarray, best: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The orders with three more in each interval beside a best one, for all priors together."""
    places = np.unique(best)
    gaps = np.unique(np.clip(np.concatenate([places - 1, places]), 0, max(len(orders) - 2, 0)))
    finer = [1 + np.geomspace(orders[i] - 1, orders[i + 1] - 1, 5)[1:-1] for i in gaps if i + 1 < len(orders)]
    new = np.setdiff1d(np.concatenate(finer), orders) if finer else np.empty(0)
    place = np.searchsorted(orders, new)
    return np.insert(orders, place, new), np.insert(values, place, moments(new))
