"""The dominating pair of one round: P = N(K, σ²), a mixture of Gaussians, against Q = N(0, σ²).

P is the run on the real data; in Q the gradients of the secret's examples are zero (docs/mathematics.md §2).
The loss L = log P/Q increases in x and is analytic up to |Im x| = πσ². For Σ w_k u^k is real-rooted for a
Poisson-binomial, the factors e^{−k²/2σ²} keep it so (a multiplier sequence), and u = e^{x/σ²}. Hence the
trapezoid rule with the step `fine_step` errs by less than e^{−45} of the integral of the absolute value.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import log_ndtr, ndtr

from hush_core.accounting.participation import CountDistribution
from hush_core.errors import CertificationError

_LARGEST_TABLE = 20_000_000
"""Points, or counts times their exponentials, that one table of losses may take (about a gigabyte); beyond it we
refuse."""
TAIL = 14.0
"""Standard deviations beyond the outermost mean where integrals end; Φ(−14) = 8e-45, and the rest is
bounded."""


class DominatingPair:
    """P = Σ w_k N(k, σ²) and Q = N(0, σ²), with the loss L(x) = log P(x)/Q(x) in relative accuracy.

    Args:
        counts: the distribution of K; its `tail` is NOT part of P here (the caller adds it at
            infinity), so P sums to 1.
        sigma: the noise multiplier (clip norm 1).

    moved_up: mass of K that P holds above its true place (taken off a lower bound).
    """

    def __init__(self, counts: CountDistribution, sigma: float) -> None:
        self.sigma = float(sigma)
        self.k = np.arange(counts.first, counts.last + 1, dtype=np.float64)
        self.weights = counts.pmf / counts.pmf.sum()
        self.mean = float(self.weights @ self.k)
        self.moved_up = counts.moved_up + counts.tail
        with np.errstate(divide="ignore"):
            self.log_weights = np.log(self.weights)

    @property
    def last(self) -> float:
        return float(self.k[-1])

    @property
    def lowest_loss(self) -> float:
        """inf L = log P(K = 0)."""
        return float(self.log_weights[0]) if self.k[0] == 0 else -np.inf

    @property
    def drawn(self) -> float:
        """P(K > 0), relative accuracy."""
        return float(self.weights[self.k > 0].sum())

    @property
    def fine_step(self) -> float:
        return self.sigma * min(1.0, self.sigma) / 4

    def log_q(self, x: np.ndarray) -> np.ndarray:
        return -0.5 * (x / self.sigma) ** 2 - np.log(self.sigma * np.sqrt(2 * np.pi))

    def p_above(self, x: float) -> float:
        """P(X > x), relative accuracy."""
        return float(self.weights @ ndtr((self.k - x) / self.sigma))

    def q_above(self, x: float) -> float:
        """Q(X > x), relative accuracy."""
        return float(np.exp(log_ndtr(-x / self.sigma)))

    def loss(self, x: np.ndarray) -> np.ndarray:
        """L at any points, shape of `x`."""
        x = np.asarray(x, dtype=np.float64)
        return self.loss_table(x.ravel(), np.zeros(1)).reshape(x.shape)

    def uniform(
        self, low: float, high: float, step: float, inner: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Cells of equal width ≤ `step` from `low` to `high`: points (cells, inner) and L there.

        `inner` are places within a cell in [0, 1].
        """
        cells = max(1, int(np.ceil((high - low) / step)))
        if cells * len(inner) > _LARGEST_TABLE:
            raise CertificationError(f"the privacy loss needs {cells} cells; raise the noise multiplier")
        width = (high - low) / cells
        spread = max(self.last - self.k[0], 1.0) / self.sigma**2
        # a block of cells shares one vector of exponentials, as long as e^{k·y/σ²} stays far from overflow
        block = int(np.clip(min(np.sqrt(cells / len(inner)), 200.0 / (spread * width)), 1, cells))
        blocks = -(-cells // block)
        offsets = (np.arange(block)[:, None] + inner[None, :]).ravel() * width
        starts = low + np.arange(blocks) * (block * width)
        table = self.loss_table(starts, offsets).reshape(blocks * block, len(inner))[:cells]
        points = (starts[:, None] + offsets[None, :]).reshape(blocks * block, len(inner))[:cells]
        return points, table

    def loss_table(self, starts: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """L(starts[b] + offsets[o]), shape (b, o), by one matrix product of exponentials.

        The sum of the exponentials' positive products is relatively accurate; where L is small, Σ
        w_k·expm1(·) is summed instead, so that L is relatively accurate there too.
        """
        points = len(starts) * len(offsets)
        if max(points, (len(starts) + len(offsets)) * len(self.k)) > _LARGEST_TABLE:
            raise CertificationError(
                f"the privacy loss needs {points} points for {len(self.k)} participation counts; "
                "raise the noise multiplier or the number of rounds it is spread over"
            )
        s2 = self.sigma**2
        centre = self.k[len(self.k) // 2]
        slope = (self.k - centre) / s2  # centred, so that the factors do not overflow when K is far from 0
        inner = np.exp(offsets[:, None] * slope[None, :])
        inner_minus_1 = None
        out = np.empty((len(starts), len(offsets)))
        chunk = max(1, 4_000_000 // len(self.k))
        for first in range(0, len(starts), chunk):
            x = starts[first : first + chunk]
            exponent = (x[:, None] - self.k[None, :] / 2) * (self.k[None, :] / s2)
            with_weight = exponent + self.log_weights[None, :]
            top = with_weight.max(axis=1)
            total = np.exp(with_weight - top[:, None]) @ inner.T
            with np.errstate(divide="ignore"):
                loss = top[:, None] + np.log(total) + offsets[None, :] * (centre / s2)
            near = np.flatnonzero((np.abs(loss).min(axis=1) < 0.5) & (exponent.max(axis=1) < 50))
            if len(near):
                growth = offsets[:, None] * (self.k[None, :] / s2)
                if growth.max() < 50:
                    if inner_minus_1 is None:
                        inner_minus_1 = np.expm1(growth)
                    small = (self.weights * np.expm1(exponent[near])) @ (inner_minus_1 + 1).T
                    small += inner_minus_1 @ self.weights
                    close = np.abs(small) < 0.5
                    loss[near] = np.where(close, np.log1p(np.where(close, small, 0.0)), loss[near])
            out[first : first + chunk] = loss
        return out

    def inverse_loss(self, loss: float, low: float, high: float) -> float:
        """The smallest point of a fine bisection in [low, high] with L ≥ `loss`; `high` if no point has it."""
        if float(self.loss(np.array([high]))[0]) <= loss:
            return high
        return _bisected(lambda x: float(self.loss(np.array([x]))[0]) < loss, low, high)

    def upper_end(self, cut: float) -> float:
        """A point x with P(X > x) ≤ `cut`, by bisection."""
        return _bisected(lambda x: self.p_above(x) > cut, 0.0, self.last + 40 * self.sigma)


def _bisected(below: Callable[[float], bool], low: float, high: float) -> float:
    """The end from above of a fine bisection for where `below`, true at first, is so no longer."""
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if below(middle) else (low, middle)
    return high
