"""Laws of K in columns: how many of a secret's examples a round draws, for any number of secrets.

>>> laws = Laws.of([Participation.binomial(100, 1e-3), Participation.from_rates([0.2, 0.1])])
>>> laws.examples
array([100,   2])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush_core.accounting.participation import Participation
from hush_core.errors import InputError


@dataclass(frozen=True, eq=False)
class Laws:
    """q laws, one after the other.

    Attributes:
        rates, counts: (z,) rates above 0, each law's in ascending order, and how many examples have each. A rate
            may repeat. starts: (q + 1,) where each law's rates begin.

    Raises:
        InputError: the columns do not fit together.
    """

    rates: np.ndarray
    counts: np.ndarray
    starts: np.ndarray

    def __post_init__(self) -> None:
        check_columns(
            len(self.rates) == len(self.counts) == self.starts[-1], "rates, counts and starts do not agree"
        )
        check_columns(np.all(np.diff(self.starts) >= 0) and self.starts[0] == 0, "starts do not rise from 0")
        check_columns(np.all((self.rates > 0) & (self.rates <= 1)), "a rate is not above 0 and at most 1")
        check_columns(np.all(self.counts >= 1), "a count is below 1")

    @classmethod
    def of(cls, participations: Sequence[Participation]) -> Laws:
        found = list(participations)
        rates = np.concatenate([np.empty(0), *(p.rates for p in found)])
        counts = np.concatenate([np.empty(0, np.int64), *(p.counts for p in found)])
        return cls(rates, counts, np.cumsum([0, *(len(p.rates) for p in found)]))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def with_more(self, more: Laws) -> Laws:
        return Laws(
            np.concatenate([self.rates, more.rates]),
            np.concatenate([self.counts, more.counts]),
            np.concatenate([self.starts, more.starts[1:] + self.starts[-1]]),
        )

    @cached_property
    def hazard(self) -> np.ndarray:
        """(q,) Σ −log(1−ρ); infinite where a rate is 1."""
        with np.errstate(divide="ignore"):
            return self._sums(self.counts * -np.log1p(-self.rates))

    @cached_property
    def mean(self) -> np.ndarray:
        """(q,) Σρ."""
        return self._sums(self.counts * self.rates)

    @cached_property
    def examples(self) -> np.ndarray:
        """(q,) How many examples."""
        return self._sums(self.counts).astype(np.int64)

    @cached_property
    def largest_rate(self) -> np.ndarray:
        """(q,) 0 where no example is ever drawn."""
        padded = np.append(self.rates, 0.0)
        return np.where(np.diff(self.starts) > 0, padded[self.starts[1:] - 1], 0.0)

    def participation(self, law: int) -> Participation:
        own = slice(self.starts[law], self.starts[law + 1])
        rates, places = np.unique(self.rates[own], return_inverse=True)
        return Participation(rates, np.bincount(places, self.counts[own], len(rates)).astype(np.int64))

    def equal(self, which: np.ndarray) -> list[np.ndarray]:
        """These laws, equal ones together."""
        found: dict[tuple[bytes, bytes], list[int]] = {}
        for law in which.tolist():
            own = slice(self.starts[law], self.starts[law + 1])
            found.setdefault((self.rates[own].tobytes(), self.counts[own].tobytes()), []).append(law)
        return [np.array(each) for each in found.values()]

    def _sums(self, values: np.ndarray) -> np.ndarray:
        owner = np.repeat(np.arange(len(self)), np.diff(self.starts))
        return np.bincount(owner, values, len(self)).astype(np.float64)  # of nothing it is whole numbers


def check_columns(fine: bool, what: str) -> None:
    """Raise InputError where the columns of a history are not `fine`."""
    if not fine:
        raise InputError("history", what, "build it from the runs' own tables")
