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

from hush_core.accounting.many_secrets.laws import Laws, check_columns
from hush_core.accounting.participation import Participation
from hush_core.accounting.runs import Run, check_mechanism


@dataclass(frozen=True, eq=False)
class History:
    """R runs, and one row for every secret and run in which it may have been drawn, e in all. One run is R = 1.

    Attributes:
        noise_multiplier, rounds: (R,) σ and T of each run.
        secret, run, law: (e,) whole numbers: secret, place of the run, place of its law in `laws`.
        laws: q laws of K.

    A law that only dominates what was drawn, like the binomial that a certificate names, is as good: the bounds
    hold, and are of the law. Secrets without a row were in no run.

    Raises:
        InputError: the columns do not fit together, or a secret is in a run twice.
    """

    noise_multiplier: np.ndarray
    rounds: np.ndarray
    secret: np.ndarray
    run: np.ndarray
    law: np.ndarray
    laws: Laws

    def __post_init__(self) -> None:
        for sigma, rounds in zip(self.noise_multiplier, self.rounds, strict=True):
            check_mechanism(noise_multiplier=float(sigma), rounds=float(rounds))
        check_columns(
            len(self.secret) == len(self.run) == len(self.law), "secret, run and law differ in length"
        )
        for name, column, end in (("run", self.run, len(self.rounds)), ("law", self.law, len(self.laws))):
            fine = not len(column) or (column.min() >= 0 and column.max() < end)
            check_columns(fine, f"a {name} is out of range")
        check_columns(not len(self.secret) or self.secret.min() >= 0, "a secret is below 0")
        keys = np.sort(np.asarray(self.secret, np.int64) * len(self.rounds) + self.run)
        check_columns(np.all(keys[1:] != keys[:-1]), "a secret is in one run twice")

    @classmethod
    def of(cls, runs_by_secret: Sequence[Sequence[Run]]) -> History:
        """From each secret's runs. Runs of equal σ and T are one column; a secret twice in it opens another."""
        columns: dict[tuple[float, int, int], int] = {}
        laws: dict[Participation, int] = {}
        rows = []
        for secret, runs in enumerate(runs_by_secret):
            seen: dict[tuple[float, int], int] = {}
            for run in runs:
                mechanism = float(run.noise_multiplier), int(run.rounds)
                seen[mechanism] = seen.get(mechanism, 0) + 1
                place = columns.setdefault((*mechanism, seen[mechanism]), len(columns))
                rows.append((secret, place, laws.setdefault(run.participation, len(laws))))
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return cls(
            np.array([sigma for sigma, _, _ in columns]),
            np.array([rounds for _, rounds, _ in columns], dtype=np.int64),
            *table.T,
            Laws.of(list(laws)),
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
        distinct, law = np.unique(pairs, axis=0, return_inverse=True)
        laws = Laws(distinct[:, 1], distinct[:, 0].astype(np.int64), np.arange(len(distinct) + 1))
        return cls(
            np.asarray(noise_multiplier, np.float64), np.asarray(rounds, np.int64), secret[drawn], run[drawn],
            law, laws,
        )  # fmt: skip

    @classmethod
    def of_run(cls, noise_multiplier: float, rounds: int, law: np.ndarray, laws: Laws) -> History:
        """One run; `law`: (m,) by secret."""
        one = np.array([noise_multiplier]), np.array([rounds])
        return cls(*one, np.arange(len(law)), np.zeros(len(law), np.int64), law, laws)

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """(places of the rows by secret, then run; where each secret's begin)."""
        order = np.lexsort((self.run, self.secret))
        sizes = np.bincount(self.secret) if len(self.secret) else np.zeros(0, np.int64)
        return order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def runs_of(self, secret: int) -> list[Run]:
        """One secret's runs, by its own rates."""
        order, starts = self.rows
        if secret >= len(starts) - 1:
            return []
        return [
            Run(
                self.laws.participation(int(self.law[i])),
                float(self.noise_multiplier[self.run[i]]),
                int(self.rounds[self.run[i]]),
            )
            for i in order[starts[secret] : starts[secret + 1]]
        ]

    def alike(self, secrets: np.ndarray) -> list[np.ndarray]:
        """These secrets, those with the same laws in the same runs together."""
        order, starts = self.rows
        keys = np.stack([self.run[order], self.law[order]], axis=1).astype(np.int64)
        found: dict[bytes, list[int]] = {}
        for secret in secrets.tolist():
            found.setdefault(keys[starts[secret] : starts[secret + 1]].tobytes(), []).append(secret)
        return [np.array(each) for each in found.values()]

    def restricted(self, secrets: np.ndarray) -> History:
        """The rows of these secrets only; places stay as they are."""
        kept = np.isin(self.secret, secrets)
        return replace(self, secret=self.secret[kept], run=self.run[kept], law=self.law[kept])

    def with_run(self, run: History) -> History:
        """One run more, or several: those of another history."""
        pairs = (
            (self.noise_multiplier, run.noise_multiplier),
            (self.rounds, run.rounds),
            (self.secret, run.secret),
            (self.run, run.run + len(self.rounds)),
            (self.law, run.law + len(self.laws)),
        )
        return History(*map(np.concatenate, pairs), self.laws.with_more(run.laws))
