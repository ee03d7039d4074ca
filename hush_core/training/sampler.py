"""Weighted Poisson sampling: example i enters the batch of a round independently with probability ρ_i; or a cycle.

WeightedPoissonSampler(rates).draw(round=0)        # sorted example ids, possibly none
"""

import hashlib
import hmac
import os

import numpy as np

from hush_core.accounting.correlated import Cycle
from hush_core.errors import InputError


class _KeyedRounds:
    """Random numbers by round and use, fixed by 32 secret bytes."""

    def __init__(self, key: bytes | None) -> None:
        self._key = os.urandom(32) if key is None else bytes(key)

    def generator(self, round: int, use: str) -> np.random.Generator:
        """Random numbers of one round for one use, fixed by the key; other uses and rounds have others."""
        message = f"hush {use}".encode() + round.to_bytes(8, "big")
        digest = hmac.new(self._key, message, hashlib.sha256).digest()
        seed = np.random.SeedSequence(int.from_bytes(digest, "big"), pool_size=8)
        return np.random.Generator(np.random.PCG64DXSM(seed))


class CyclicSampler(_KeyedRounds):
    """The batches of a public cycle (docs/mechanisms.md): nothing of them is random but what a round shows.

    Args:
        cycle: who takes part in which round.
        first: the release that round 0 of this attempt is: rounds that an earlier attempt released are not drawn
            again.
        key: as of `WeightedPoissonSampler`, for what `generator` is asked for.
    """

    def __init__(self, cycle: Cycle, *, first: int = 0, key: bytes | None = None) -> None:
        super().__init__(key)
        self.size, self._cycle, self._first = len(cycle.groups), cycle, first

    def __repr__(self) -> str:
        return f"CyclicSampler(size={self.size}, period={self._cycle.period})"

    def draw(self, round: int) -> np.ndarray:
        """The items of a round of this attempt (0, 1, …): int64 ids, ascending."""
        if round < 0:
            raise InputError("round", f"must not be negative, got {round}", "count rounds from 0")
        return self._cycle.members(self._first + round)


class WeightedPoissonSampler(_KeyedRounds):
    """Draws the batch of round k from (key, k) alone, in time that grows with the batch and not with n.

    Examples are grouped by the binary order of magnitude of their rate. A group of m examples with greatest
    rate q draws K ~ Binomial(m, q) and then a uniform K-subset, which are exactly m independent Bernoulli(q).
    Each drawn example is kept with probability ρ_i/q ≥ 1/2, which makes them exactly Bernoulli(ρ_i).

    Args:
        rates: (n,) float64 in [0, 1]; an example with rate 0 is never drawn.
        key: 32 secret bytes, fresh from the operating system unless given. A resumed run takes a fresh key,
            so no batch is ever drawn twice. Never log or store it beside what is released.

    Raises:
        InputError: a rate that is not in [0, 1].

    Guarantee: the sampling of the paper's Algorithm 2, in float64 (each probability exact to 2^-53), from
    numpy's PCG64DXSM seeded with 256 bits of HMAC-SHA256(key, round).
    """

    def __init__(self, rates: np.ndarray, key: bytes | None = None) -> None:
        rates = np.asarray(rates, dtype=np.float64)
        if rates.ndim != 1 or not bool(np.all((rates >= 0) & (rates <= 1))):
            raise InputError("rates", "must be one probability in [0, 1] per example", "lower the batch size")
        super().__init__(key)
        self.size = len(rates)
        drawn = np.flatnonzero(rates)
        exponents = np.frexp(rates[drawn])[1]
        order = np.argsort(exponents, kind="stable")
        self._members = drawn[order]
        starts = np.flatnonzero(np.diff(exponents[order], prepend=2))
        self._starts, self._sizes = starts, np.diff(starts, append=len(order))
        rated = rates[self._members]
        self._tops = np.maximum.reduceat(rated, starts) if len(starts) else np.empty(0)
        self._keep = rated / np.repeat(self._tops, self._sizes)

    def __repr__(self) -> str:
        return f"WeightedPoissonSampler(size={self.size})"

    def draw(self, round: int) -> np.ndarray:
        """The batch of a round (0, 1, …): int64 example ids, ascending. The same round, the same batch."""
        if round < 0:
            raise InputError("round", f"must not be negative, got {round}", "count rounds from 0")
        generator = self.generator(round, "sampler")
        counts = generator.binomial(self._sizes, self._tops)
        parts = [np.empty(0, dtype=np.int64)]
        for group in np.flatnonzero(counts):
            chosen = generator.choice(self._sizes[group], size=counts[group], replace=False, shuffle=False)
            parts.append(chosen + self._starts[group])
        places = np.concatenate(parts)
        places = places[generator.random(len(places)) < self._keep[places]]
        return np.sort(self._members[places])
