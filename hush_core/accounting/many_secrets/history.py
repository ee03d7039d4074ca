"""Which runs drew which secret, and how: a history of any number of secrets, in columns.

>>> k = Participation.binomial(count=100, rate=1e-3)
>>> History.of([[Run(k, 3.0, 500)], [Run(k, 3.0, 500), Run(k, 4.0, 200)]]).secret
array([0, 1, 1])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from hush_core.accounting.participation import Participation
from hush_core.accounting.runs import Run, check_mechanism
from hush_core.errors import InputError


@dataclass(frozen=True, eq=False)
class History:
    """R runs, q profiles, and one row for every secret and run in which it may have been drawn, e in all.

    Attributes:
        noise_multiplier, rounds: (R,) σ and T of each run.
        secret, run, profile: (e,) whole numbers: secret, place of the run, place of its profile in that run.
        rates, counts: (z,) distinct rates above 0 and how many examples have each, one profile's after the other's.
        starts: (q + 1,) where each profile's begin.

    A profile that only dominates what was drawn, like the binomial that a certificate names, is as good: the bounds
    hold, and are of the profile. Secrets without a row were in no run.

    Raises:
        InputError: the columns do not fit together, or a secret is in a run twice.
    """

    noise_multiplier: np.ndarray
    rounds: np.ndarray
    secret: np.ndarray
    run: np.ndarray
    profile: np.ndarray
    rates: np.ndarray
    counts: np.ndarray
    starts: np.ndarray

    def __post_init__(self) -> None:
        for sigma, rounds in zip(self.noise_multiplier, self.rounds, strict=True):
            check_mechanism(noise_multiplier=float(sigma), rounds=float(rounds))
        _check(
            len(self.secret) == len(self.run) == len(self.profile), "secret, run and profile differ in length"
        )
        _check(
            len(self.rates) == len(self.counts) == self.starts[-1], "rates, counts and starts do not agree"
        )
        _check(np.all(np.diff(self.starts) >= 0) and self.starts[0] == 0, "starts do not rise from 0")
        _check(np.all((self.rates > 0) & (self.rates <= 1)), "a rate is not above 0 and at most 1")
        _check(np.all(self.counts >= 1), "a count is below 1")
        for name, column, end in (
            ("run", self.run, len(self.rounds)),
            ("profile", self.profile, len(self.starts) - 1),
        ):
            _check(not len(column) or (column.min() >= 0 and column.max() < end), f"a {name} is out of range")
        _check(not len(self.secret) or self.secret.min() >= 0, "a secret is below 0")
        keys = np.sort(np.asarray(self.secret, np.int64) * len(self.rounds) + self.run)
        _check(np.all(keys[1:] != keys[:-1]), "a secret is in one run twice")

    @classmethod
    def of(cls, runs_by_secret: Sequence[Sequence[Run]]) -> History:
        """From each secret's runs. Runs of equal σ and T are one column; a secret twice in it opens another."""
        columns: dict[tuple[float, int, int], int] = {}
        profiles: dict[Participation, int] = {}
        rows = []
        for secret, runs in enumerate(runs_by_secret):
            seen: dict[tuple[float, int], int] = {}
            for run in runs:
                mechanism = float(run.noise_multiplier), int(run.rounds)
                seen[mechanism] = seen.get(mechanism, 0) + 1
                place = columns.setdefault((*mechanism, seen[mechanism]), len(columns))
                rows.append((secret, place, profiles.setdefault(run.participation, len(profiles))))
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return cls(
            np.array([sigma for sigma, _, _ in columns]),
            np.array([rounds for _, rounds, _ in columns], dtype=np.int64),
            *table.T,
            *columns_of(profiles),
        )

    @classmethod
    def of_binomials(
        cls,
        noise_multiplier: ArrayLike,
        rounds: ArrayLike,
        *,
        secret: ArrayLike,
        run: ArrayLike,
        examples: ArrayLike,
        rate: ArrayLike,
    ) -> History:
        """From one binomial a row, (e,) each: what a stored history holds. Rows without a draw are left out."""
        secret, run = np.asarray(secret, np.int64), np.asarray(run, np.int64)
        examples, rate = np.asarray(examples, np.int64), np.asarray(rate, np.float64)
        drawn = (examples > 0) & (rate > 0)
        pairs = np.stack([examples[drawn].astype(np.float64), rate[drawn]], axis=1)
        distinct, profile = np.unique(pairs, axis=0, return_inverse=True)
        return cls(
            np.asarray(noise_multiplier, np.float64), np.asarray(rounds, np.int64), secret[drawn], run[drawn],
            profile, distinct[:, 1], distinct[:, 0].astype(np.int64), np.arange(len(distinct) + 1),
        )  # fmt: skip

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
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """(places of the rows by secret, then run; where each secret's begin)."""
        order = np.lexsort((self.run, self.secret))
        sizes = np.bincount(self.secret) if len(self.secret) else np.zeros(0, np.int64)
        return order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def participation(self, profile: int) -> Participation:
        own = slice(self.starts[profile], self.starts[profile + 1])
        order = np.argsort(self.rates[own])
        return Participation(self.rates[own][order], np.asarray(self.counts[own], np.int64)[order])

    def runs_of(self, secret: int) -> list[Run]:
        """One secret's runs, by its own rates."""
        order, starts = self.rows
        if secret >= len(starts) - 1:
            return []
        return [
            Run(
                self.participation(int(self.profile[i])),
                float(self.noise_multiplier[self.run[i]]),
                int(self.rounds[self.run[i]]),
            )
            for i in order[starts[secret] : starts[secret + 1]]
        ]

    def restricted(self, secrets: np.ndarray) -> History:
        """The rows of these secrets only; places stay as they are."""
        kept = np.isin(self.secret, secrets)
        return replace(self, secret=self.secret[kept], run=self.run[kept], profile=self.profile[kept])

    def with_run(
        self, noise_multiplier: float, rounds: int, secret: np.ndarray, participations: Sequence[Participation],
        profile: np.ndarray,
    ) -> History:  # fmt: skip
        """One run more: `secret`, `profile`: (d,) rows, the latter places in `participations`."""
        rates, counts, starts = columns_of(participations)
        run = np.full(len(secret), len(self.rounds))
        return History(
            np.append(self.noise_multiplier, noise_multiplier),
            np.append(self.rounds, rounds),
            np.concatenate([self.secret, secret]),
            np.concatenate([self.run, run]),
            np.concatenate([self.profile, np.asarray(profile) + len(self.starts) - 1]),
            np.concatenate([self.rates, rates]),
            np.concatenate([self.counts, counts]),
            np.concatenate([self.starts, starts[1:] + self.starts[-1]]),
        )

    def _sums(self, values: np.ndarray) -> np.ndarray:
        owner = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return np.bincount(owner, values, len(self.starts) - 1)


def columns_of(participations: Sequence[Participation]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rates, counts, starts) of these profiles."""
    found = list(participations)
    sizes = np.cumsum([0, *(len(p.rates) for p in found)])
    rates = np.concatenate([np.empty(0), *(p.rates for p in found)])
    counts = np.concatenate([np.empty(0, np.int64), *(p.counts for p in found)])
    return rates, counts, sizes


def _check(fine: bool, what: str) -> None:
    if not fine:
        raise InputError("history", what, "build it from the runs' own tables")
