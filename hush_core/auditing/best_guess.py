"""How often the best adversary names a secret that enters the rounds at gradients as bad as may be, by convolution.

>>> found = computed_success(Participation.binomial(3, 0.1), noise_multiplier=2.0, rounds=20, candidates=1000)
>>> 1e-3 < found < 0.1
True

The adversary, and why its success comes within Γ(1 + a) of the certificate and never above:
docs/mathematics.md, Proposition 10. `lab/statistical_audits/tight_attack.py` plays it. Of `hush_core.accounting`
only the list of rates is used: the attack is a second route to what the certificate bounds.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from hush_core.accounting.participation import Participation

_FINE = 10_000
_GRID = 1 << 18


@dataclass(frozen=True)
class Round:
    """What one coordinate shows of a round, rounded to bins: masses under P and Q, and log P/Q. Rounding what is
    released can only weaken the attack, and its law is exact."""

    p: np.ndarray
    q: np.ndarray
    loss: np.ndarray


def computed_success(
    participation: Participation, *, noise_multiplier: float, rounds: int, candidates: int
) -> float:
    """How often the best adversary names the secret, by convolution in a tenth of a second.

    Args:
        participation: how the secret's examples enter a round. noise_multiplier: σ. rounds: T.
        candidates: m ≥ 2 equally likely values, so that the prior is 1/m.

    Losses are rounded to a grid (an attack, too), with round-off of about 1e-13: no interval.
    """
    one = binned(counts_of(participation), noise_multiplier, _FINE)
    return _computed(one, rounds, candidates)


def wins(tail: np.ndarray, candidates: int) -> np.ndarray:
    """(1 − Q(Λ' > Λ))^{m−1}."""
    return np.exp((candidates - 1) * np.log1p(-np.minimum(tail, 1 - 1e-16)))


def counts_of(participation: Participation) -> np.ndarray:
    """(k + 1,) the law of K, by convolution of binomials."""
    pmf = np.ones(1)
    for rate, count in zip(participation.rates, participation.counts, strict=True):
        pmf = np.convolve(pmf, stats.binom.pmf(np.arange(count + 1), count, rate))
    last = len(pmf) - int(np.argmax(np.cumsum(pmf[::-1]) > 1e-18))  # beyond, P gives the attack nothing
    return pmf[:last]


def binned(counts: np.ndarray, sigma: float, bins: int) -> Round:
    k = np.arange(len(counts))
    edges = np.linspace(-9 * sigma, k[-1] + 9 * sigma, bins - 1)
    cdf = special.ndtr((edges[:, None] - k) / sigma)
    survival = special.ndtr((k - edges[:, None]) / sigma)
    left = np.diff(np.vstack([np.zeros(len(k)), cdf, np.ones(len(k))]), axis=0)
    right = -np.diff(np.vstack([np.ones(len(k)), survival, np.zeros(len(k))]), axis=0)
    masses = np.where(np.vstack([cdf, np.ones(len(k))]) < 0.5, left, right)  # the side without cancellation
    p, q = masses @ counts, masses[:, 0]
    seen = (p > 0) & (q > 0)
    return Round(p[seen], q[seen], np.log(p[seen]) - np.log(q[seen]))


def _computed(one: Round, rounds: int, candidates: int) -> float:
    """E_P[(1 − Q(Λ' ≥ Λ))^{m−1}], at least 1/m, for Λ a sum of losses rounded to a grid, by FFT.

    Q's masses are composed after multiplying them by e^Λ, and divided by it afterwards: their tail is accurate
    relative to itself, as P's is.
    """
    spread = math.sqrt(rounds * float(one.p @ (one.loss - one.p @ one.loss) ** 2))
    centre = rounds * float(one.p @ one.loss)
    reach = 12 * spread + 40
    step = max(2 * reach / _GRID, 1e-5)
    score = np.rint(one.loss / step).astype(np.int64)
    low = int((centre - reach) / step)
    p, q = (
        _power(np.bincount(score % _GRID, weights=w, minlength=_GRID), rounds, low)
        for w in (one.p, one.q * np.exp(score * step))
    )
    losses = step * (low + np.arange(_GRID))
    with np.errstate(over="ignore"):
        tail = np.cumsum((q * np.exp(-losses))[::-1])[::-1]
    return max(float(p @ wins(np.minimum(tail, 1.0), candidates)), 1 / candidates)


def _power(masses: np.ndarray, rounds: int, low: int) -> np.ndarray:
    """The law of a sum of `rounds`, places low, low + 1, … of the grid; what lies outside the window is dropped."""
    whole = np.fft.irfft(np.fft.rfft(masses) ** rounds, len(masses))
    return np.maximum(np.roll(whole, -(low % len(masses))), 0.0)
