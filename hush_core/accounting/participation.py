"""How many examples of one secret enter a batch: K_j = Σ_{i∋j} Bern(ρ_i), a Poisson-binomial.

>>> k = Participation.binomial(count=100, rate=2048 / 1.2e6)
>>> round(k.mean, 4)
0.1707

Probabilities are sums and products of non-negative numbers only, so each is accurate relative to itself.
Far tails are never dropped. The far upper tail is reported as `tail`, which the accountants add to the posterior as
mass at infinity. The far lower tail is raised to the smallest count kept, which can only raise a bound: the bound
grows with K in stochastic order (docs/mathematics.md §4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from hush_core.errors import CertificationError, InputError

_CUT = 1e-80
"""Mass that a single trimming may cut from one side; far below every prior times every number of rounds."""
_BLOCK = 64
_MANY = 16
"""From this many equal rates on, the binomial's own formula is quicker than the recurrence."""


@dataclass(frozen=True)
class CountDistribution:
    """P(K = first + i) = pmf[i]; P(K > first + len(pmf) − 1) ≤ tail; what lay below `first` is in pmf[0].

    `moved_up`: how much lay below and was raised; a lower bound takes it off again.
    """

    first: int
    pmf: np.ndarray
    tail: float
    moved_up: float = 0.0

    @property
    def last(self) -> int:
        return self.first + len(self.pmf) - 1

    def trimmed(self, cut: float) -> CountDistribution:
        """The same with at most `cut` of mass taken from the top (into `tail`) and raised at the bottom."""
        pmf = self.pmf
        from_top = np.cumsum(pmf[::-1])
        n_top = min(int(np.searchsorted(from_top, cut, side="right")), len(pmf) - 1)
        removed = float(from_top[n_top - 1]) if n_top else 0.0
        from_bottom = np.cumsum(pmf)
        n_low = int(np.searchsorted(from_bottom, cut, side="right"))
        n_low = min(n_low, len(pmf) - 1 - n_top)
        if not n_top and not n_low:
            return self
        kept = pmf[n_low : len(pmf) - n_top].copy()
        moved_up = float(from_bottom[n_low - 1]) if n_low else 0.0
        kept[0] += moved_up
        return CountDistribution(self.first + n_low, kept, self.tail + removed, self.moved_up + moved_up)


@dataclass(frozen=True, eq=False)
class Participation:
    """The number of a secret's examples in one batch, by the sampling rates of those examples.

    Attributes:
        rates: the distinct rates above 0, ascending, shape (d,).
        counts: how many examples have each, shape (d,).

    Two of them are equal, and hash alike, when their rates are equal as multisets.
    Errors: `InputError` where a rate is not a probability.
    Source: Hush! §4, "Accounting for secret protection"; docs/mathematics.md §2.
    """

    rates: np.ndarray
    counts: np.ndarray

    @classmethod
    def binomial(cls, count: int, rate: float) -> Participation:
        """`count` examples, each with the same sampling rate."""
        if isinstance(count, bool) or int(count) != count or count < 0:
            raise InputError("count", "must be a whole number, 0 or more", "give the number of examples")
        rates = _checked(np.array([rate], dtype=np.float64), "rate")
        if rates[0] == 0 or count == 0:
            return cls(np.empty(0), np.empty(0, dtype=np.int64))
        return cls(rates, np.array([count], dtype=np.int64))

    @classmethod
    def from_rates(cls, rates: ArrayLike) -> Participation:
        """One example for every entry of `rates`; entries equal to 0 never take part."""
        array = _checked(np.atleast_1d(np.asarray(rates, dtype=np.float64)), "rates")
        distinct, counts = np.unique(array[array > 0], return_counts=True)
        return cls(distinct, counts.astype(np.int64))

    @cached_property
    def key(self) -> tuple[bytes, bytes]:
        """Equal for equal multisets of rates: groups secrets that need only one certificate."""
        return (self.rates.tobytes(), self.counts.tobytes())

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Participation) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def examples(self) -> int:
        """Examples that can take part at all."""
        return int(self.counts.sum())

    @cached_property
    def mean(self) -> float:
        return float(np.dot(self.rates, self.counts))

    @cached_property
    def distribution(self) -> CountDistribution:
        """The Poisson-binomial itself. Errors: `CertificationError` if its masses do not sum to 1."""
        sure = int(self.counts[self.rates == 1].sum())
        open_ = self.rates < 1
        pieces = _pieces(self.rates[open_], self.counts[open_])
        while len(pieces) > 1:
            # pair neighbours: they have like lengths, so the windows stay balanced
            pairs = [_convolve(*pieces[i : i + 2]) for i in range(0, len(pieces) - 1, 2)]
            pieces = pairs + ([pieces[-1]] if len(pieces) % 2 else [])
        result = pieces[0] if pieces else CountDistribution(0, np.ones(1), 0.0)
        total = float(result.pmf.sum())
        if not abs(total + result.tail - 1) < 1e-9:
            raise CertificationError(f"the participation probabilities sum to {total!r}, not 1")
        pmf = result.pmf * ((1 - result.tail) / total)
        pmf.setflags(write=False)
        return CountDistribution(result.first + sure, pmf, result.tail, result.moved_up)


def _checked(rates: np.ndarray, where: str) -> np.ndarray:
    if rates.ndim != 1:
        raise InputError(where, f"have {rates.ndim} dimensions", "give probabilities in one array")
    wrong = np.flatnonzero(~((rates >= 0) & (rates <= 1)))
    if len(wrong):
        raise InputError(
            f"{where}[{wrong[0]}]" if len(rates) > 1 else where,
            f"{float(rates[wrong[0]])!r} is no number in [0, 1]",
            "give probabilities",
        )
    return rates


def _pieces(rates: np.ndarray, counts: np.ndarray) -> list[CountDistribution]:
    many = counts >= _MANY
    pieces = [_binomial(int(c), float(r)) for r, c in zip(rates[many], counts[many], strict=True)]
    single = np.repeat(rates[~many], counts[~many])
    if len(single):
        n_blocks = -(-len(single) // _BLOCK)
        padded = np.zeros(n_blocks * _BLOCK)
        padded[: len(single)] = single
        block = padded.reshape(n_blocks, _BLOCK)
        pmf = np.zeros((n_blocks, _BLOCK + 1))
        pmf[:, 0] = 1.0
        for i in range(_BLOCK):
            rate = block[:, i : i + 1]
            pmf[:, 1:] = pmf[:, 1:] * (1 - rate) + pmf[:, :-1] * rate
            pmf[:, :1] *= 1 - rate
        # rates padded with 0 leave exact zeros on top; only the last block has them
        sizes = np.full(n_blocks, _BLOCK)
        sizes[-1] = len(single) - (n_blocks - 1) * _BLOCK
        pieces += [CountDistribution(0, row[: s + 1], 0.0) for row, s in zip(pmf, sizes, strict=True)]
    return [p.trimmed(_CUT) if len(p.pmf) > _BLOCK // 2 else p for p in pieces]


def _convolve(a: CountDistribution, b: CountDistribution) -> CountDistribution:
    pmf = np.convolve(a.pmf, b.pmf)
    joint = CountDistribution(a.first + b.first, pmf, a.tail + b.tail, a.moved_up + b.moved_up)
    return joint.trimmed(_CUT) if len(joint.pmf) > _BLOCK // 2 else joint


def _binomial(count: int, rate: float) -> CountDistribution:
    """Ratios of neighbours outwards from the mode, then normalised: no difference, no log-gamma of a big
    number."""
    mode = min(int((count + 1) * rate), count)
    # Bernstein: P(|K − mean| ≥ t) ≤ 2·exp(−t²/(2(var + t/3))) ≤ 2e-80 for this t
    exponent = 185.0
    variance = count * rate * (1 - rate)
    reach = exponent / 3 + np.sqrt((exponent / 3) ** 2 + 2 * exponent * variance) + 2
    low, high = max(0, int(mode - reach)), min(count, int(mode + reach) + 1)
    odds = rate / (1 - rate)
    up = np.arange(mode, high, dtype=np.float64)
    down = np.arange(mode, low, -1, dtype=np.float64)
    above = np.cumprod((count - up) / (up + 1) * odds)
    below = np.cumprod(down / ((count - down + 1) * odds))
    pmf = np.concatenate([below[::-1], [1.0], above])
    tail = 0.0 if high == count else _CUT
    return CountDistribution(low, pmf * ((1 - tail) / pmf.sum()), tail, moved_up=_CUT if low else 0.0)
