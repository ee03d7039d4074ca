"""Weighted Poisson sampling: example i enters the batch of a round independently with probability ρ_i.

WeightedPoissonSampler(rates).draw(round=0)        # sorted example ids, possibly none
"""

from __future__ import annotations

import hashlib
import hmac
import os

import numpy as np

from hush_core.errors import InputError


class WeightedPoissonSampler:
    """Draws the batch of round k from (key, k) alone, in time that grows with the batch and not with n.

    Examples are grouped by the binary order of magnitude of their rate. A group of m examples with greatest
    rate q draws K ~ Binomial(m, q) and then a uniform K-subset, which are exactly m independent Bernoulli(q);
    each drawn example is kept with probability ρ_i/q ≥ 1/2, which makes them exactly Bernoulli(ρ_i).

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
        self.size = len(rates)
        self._key = os.urandom(32) if key is None else bytes(key)
        drawn = np.flatnonzero(rates)
        order = np.frexp(rates[drawn])[1]
        self._groups = []
        for exponent in np.unique(order):
            members = drawn[order == exponent]
            top = float(rates[members].max())
            keep = rates[members] / top
            self._groups.append((members, top, None if bool(np.all(keep == 1)) else keep))

    def __repr__(self) -> str:
        return f"WeightedPoissonSampler(size={self.size})"

    def draw(self, round: int) -> np.ndarray:
        """The batch of a round (0, 1, …): int64 example ids, ascending. The same round, the same batch."""
        if round < 0:
            raise InputError("round", f"must not be negative, got {round}", "count rounds from 0")
        digest = hmac.new(self._key, b"hush sampler" + round.to_bytes(8, "big"), hashlib.sha256).digest()
        seed = np.random.SeedSequence(int.from_bytes(digest, "big"), pool_size=8)
        generator = np.random.Generator(np.random.PCG64DXSM(seed))
        parts = [np.empty(0, dtype=np.int64)]
        for members, top, keep in self._groups:
            count = int(generator.binomial(len(members), top))
            chosen = generator.choice(len(members), size=count, replace=False, shuffle=False)
            if keep is not None:
                chosen = chosen[generator.random(count) < keep[chosen]]
            parts.append(members[chosen])
        return np.sort(np.concatenate(parts))
