"""How many examples of a secret enter a batch, from the weights alone: the law of K = Σ_i Bern(B·w_i/Σw).

Every sum here is of positive numbers, so that each probability is accurate relative to itself. Only the far upper
tail is left out; `Counts.cut` bounds it.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

MOST_COUNTS = 20_000
"""More values of K than this are refused."""


class NotConfirmed(Exception):
    """The second route is not accurate here, and says nothing."""


@dataclass(frozen=True, eq=False)
class Counts:
    """P(K = first + i) = probability[i], (k,), sum 1; left out: at most `cut`."""

    first: int
    probability: np.ndarray
    cut: float


def rates_of(weights: np.ndarray, expected_batch: float) -> np.ndarray:
    """ρ_i = B·w_i/Σw, (n,)."""
    return np.asarray(weights, np.float64) / (math.fsum(weights) or 1.0) * expected_batch


def count_law(rates: np.ndarray, times: np.ndarray, *, cut: float) -> Counts:
    """The Poisson-binomial of `times[i]` independent draws of probability `rates[i]`; at most `cut` is left out.

    Args:
        rates: (d,), in (0, 1]. times: (d,) whole numbers.
    """
    sure = int(times[rates >= 1].sum())
    rates, times = rates[rates < 1], times[rates < 1]
    mean = float(rates @ times)
    most = min(_chernoff(mean, cut), int(times.sum()))
    if most > MOST_COUNTS:
        raise NotConfirmed(f"more than {MOST_COUNTS} examples in a batch")
    alone = rates[times == 1]
    factors = [_binomial(int(n), float(rate), most) for rate, n in zip(rates, times, strict=True) if n > 1]
    rows = np.stack([1 - alone, alone], axis=1)
    while len(rows) > 1:  # neighbours multiplied as polynomials, all pairs at once
        if len(rows) % 2:
            rows = np.vstack([rows, np.eye(1, rows.shape[1])])
        left, right = rows[::2], rows[1::2]
        size = min(2 * rows.shape[1] - 1, most + 1)
        rows = np.zeros((len(left), size))
        for j in range(min(right.shape[1], size)):
            width = min(left.shape[1], size - j)
            rows[:, j : j + width] += left[:, :width] * right[:, j : j + 1]
    law = np.ones(1)
    for factor in [*rows, *factors]:
        law = np.convolve(law, factor)[: most + 1]
    total = math.fsum(law)
    if not 1 - 1e-8 < total < 1 + 1e-8:
        raise NotConfirmed("the law of the count does not sum to 1")
    significant = np.flatnonzero(law > cut * 1e-3 / len(law))
    first, last = significant[0], significant[-1] + 1
    kept = law[first:last]
    return Counts(sure + int(first), kept / math.fsum(kept), 1.01 * cut)


def _chernoff(mean: float, cut: float) -> int:
    """The least k found with P(K > k) ≤ cut, as P(K ≥ k) ≤ exp(k − mean − k·log(k/mean))."""
    k = mean
    step = max(1.0, math.sqrt(mean))
    while mean and k - mean - k * math.log(k / mean) > math.log(cut):
        k += step
    return math.ceil(k)


def _binomial(n: int, rate: float, most: int) -> np.ndarray:
    k = np.arange(min(n, most) + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.exp(ways + k * math.log(rate) + (n - k) * math.log1p(-rate))
