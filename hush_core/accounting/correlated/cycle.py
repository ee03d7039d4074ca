"""Rounds that are not sampled: who takes part in which, by a public cycle, and how their noise is correlated.

cycle = plan_cycle(edges, drawn, expected_batch=200, n_secrets=m, priors=p, targets=r, rounds=500)
cycle.groups, cycle.period, cycle.strategy.bands
"""

import hashlib
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from hush_core.accounting.correlated.sensitivity import (
    participations,
    sensitivities,
    smallest_noise_multiplier,
)
from hush_core.accounting.correlated.strategy import Strategy, banded_strategy
from hush_core.errors import InputError
from hush_core.values import Array

_GOLDEN = 0.6180339887498949
MOST_BANDS = 64
"""More are not tried: each band keeps two vectors of the model's size in memory."""


@dataclass(frozen=True, eq=False)
class Cycle:
    """Item i takes part in the rounds t ≡ groups[i] (mod period), and in no other.

    Attributes:
        groups: (n,) int64, read-only; −1 for an item that takes no part.
        period: the number of groups. strategy: how the noise of neighbouring rounds is correlated.

    Raises:
        InputError: an unknown group, or more bands than groups.
    """

    groups: Array
    period: int
    strategy: Strategy

    def __post_init__(self) -> None:
        groups = np.array(self.groups, dtype=np.int64)
        if groups.ndim != 1 or not np.all((groups >= -1) & (groups < self.period)):
            raise InputError("cycle: groups", f"lie outside of 0 to {self.period - 1}", "use plan_cycle")
        if not 1 <= self.strategy.bands <= self.period:
            raise InputError("cycle: strategy", "has more bands than there are groups", "use plan_cycle")
        groups.setflags(write=False)
        object.__setattr__(self, "groups", groups)

    @property
    def batch(self) -> float:
        """Items of a round, on average over the groups, whose sizes differ by one at most."""
        return int(np.count_nonzero(self.groups >= 0)) / self.period

    def members(self, round: int) -> np.ndarray:
        """The items of a round (0, 1, …), ascending."""
        return np.flatnonzero(self.groups == round % self.period)

    def sensitivities(self, edges: pl.DataFrame, *, n_secrets: int, rounds: int) -> np.ndarray:
        """(m,) `sensitivities` of every secret."""
        counts = participations(self.groups, edges, period=self.period, n_secrets=n_secrets)
        return sensitivities(self.strategy, counts, rounds)

    def as_sampled(self, noise_multiplier: float, rounds: int) -> tuple[np.ndarray, float]:
        """(n,) rates and σ of T sampled rounds that reveal at least as much of every secret, for an accountant that
        knows sampled rounds only. Every item is in each round, at the σ at which T rounds move as far as one item's
        columns do.

        Guarantee: m items of a secret move the rows by at most m·√k·‖c‖, k the most rounds of an item (Minkowski's
        inequality). Here they move them by exactly that (Proposition C4), nearly tight for a secret in one item.
        """
        columns = np.sqrt(-(-rounds // self.period)) * self.strategy.norm
        return (self.groups >= 0).astype(np.float64), noise_multiplier * np.sqrt(rounds) / columns

    @property
    def digest(self) -> str:
        """SHA-256 over groups and strategy."""
        hasher = hashlib.sha256(self.groups.astype("<i8").tobytes())
        for value in (self.period, *self.strategy.coefficients):
            hasher.update(float(value).hex().encode() + b"\n")
        return hasher.hexdigest()


def groups_table(cycle: Cycle) -> pl.DataFrame:
    """example_id · group (−1: takes no part)."""
    groups = pl.Series("group", cycle.groups, dtype=pl.Int64)
    return pl.DataFrame(groups).with_row_index("example_id")


def assign_groups(edges: pl.DataFrame, drawn: np.ndarray, period: int) -> np.ndarray:
    """(n,) int64: groups of sizes that differ by one at most, the items of a secret dealt out over all of them.

    It depends on the graph alone, so it is public, and a verifier can repeat it.

    Args:
        edges: example_id (the item), secret_id. drawn: (n,) bool, the items that take part.
    """
    items = np.flatnonzero(drawn)
    first = np.full(len(drawn), np.iinfo(np.int64).max)
    held = edges.group_by("example_id").agg(pl.col("secret_id").min())
    first[held["example_id"].to_numpy()] = held["secret_id"].to_numpy()
    ordered = items[np.lexsort((items, first[items]))]
    groups = np.full(len(drawn), -1, dtype=np.int64)
    # multiples of the golden ratio: items that follow each other lie far apart in the cycle, however many they are
    around = (np.arange(len(ordered)) * _GOLDEN % 1).argsort(kind="stable")
    groups[ordered[around]] = np.arange(len(ordered)) * period // max(len(ordered), 1)
    return groups


def cycle_length(items: int, expected_batch: int) -> int:
    """The least number of groups of which none has more than `expected_batch` items, dealt out evenly."""
    return max(1, -(-items // expected_batch))


def plan_cycle(
    edges: pl.DataFrame,
    drawn: np.ndarray,
    *,
    expected_batch: int,
    rounds: int,
    priors: ArrayLike,
    targets: ArrayLike,
    bands: int | None = None,
) -> tuple[Cycle, float]:
    """The cycle of batches of at most `expected_batch` items, and the least σ for which every target is met.

    Args:
        drawn: (n,) bool. priors, targets: (m,) by secret_id. bands: of the strategy; None: of 1, 2, 4, …, up to
            64 and the number of groups, those with the least mean error at that σ.

    Raises:
        InputError: no item, a batch of more items than there are, or bands that do not fit.
    """
    count = int(np.sum(drawn))
    if not 1 <= expected_batch <= count:
        raise InputError(
            "train.batch", f"of {expected_batch} is not between 1 and the {count} items", "give another batch"
        )
    period = cycle_length(count, expected_batch)
    groups = assign_groups(edges, drawn, period)
    counts = participations(groups, edges, period=period, n_secrets=len(np.atleast_1d(priors)))
    most = min(period, rounds, MOST_BANDS)
    tried = [bands] if bands else sorted({min(1 << power, most) for power in range(7)})
    best: tuple[float, Strategy, float] | None = None
    for number in tried:
        strategy = banded_strategy(rounds, number)
        sigma = smallest_noise_multiplier(priors, targets, sensitivities(strategy, counts, rounds))
        error = sigma * strategy.mean_error(rounds)
        if best is None or error < best[0]:
            best = (error, strategy, sigma)
    return Cycle(groups, period, best[1]), best[2]
