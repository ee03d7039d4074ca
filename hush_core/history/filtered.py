"""Runs that were planned otherwise than this one: by a Rényi filter, which does not ask why.

Each secret's order and budget depend on its prior and target alone, so they are fixed before the first run that
promises these (docs/mathematics.md §8, Proposition 15). If all runs, with all planned rounds, keep within the
budget, the bound of all of them is the target.
"""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from hush_core.accounting import Participation, Run, budget, spent
from hush_core.accounting.noise_search import falling_root, gaussian_noise
from hush_core.accounting.renyi_filter import tail_of
from hush_core.errors import CertificationError

PRECISION = 1e-4
"""Of σ, relatively."""
_ROUND_OFF = 1e-9

Row = tuple[int, float, float, int]
"""examples · rate · σ · rounds of one earlier run."""


def filter_order(prior: float, target: float) -> float:
    """The α at which Gaussian releases spend least of the target's budget: 1/(1 − √(log r/log p))."""
    return float(1 / (1 - np.sqrt(np.log(target) / np.log(prior))))


class Filter:
    """What runs spend of the budget of each (prior, target); equal runs are looked at once."""

    def __init__(self) -> None:
        self._spent: dict[tuple, tuple[float, float]] = {}

    def share(self, prior: float, target: float, earlier: Sequence[Row], coming: Sequence[Run]) -> float:
        """Spent over the budget: at most 1 where the filter's bound of all is the target; infinite where the
        numerics say nothing at this order."""
        order = filter_order(prior, target)
        try:
            parts = [self._of_earlier(row, order) for row in earlier]
            parts += [(spent([run], order), tail_of([run])) for run in coming]
            room = target * (1 - _ROUND_OFF) - sum(tail for _, tail in parts)
            return sum(nats for nats, _ in parts) / budget(prior, room, order) if room > prior else np.inf
        except CertificationError:
            return np.inf

    def _of_earlier(self, row: Row, order: float) -> tuple[float, float]:
        if (*row, order) not in self._spent:
            examples, rate, sigma, rounds = row
            run = Run(Participation.binomial(examples, rate), sigma, rounds)
            self._spent[(*row, order)] = spent([run], order), tail_of([run])
        return self._spent[(*row, order)]


def rows_of(runs: pl.DataFrame) -> dict[int, tuple[Row, ...]]:
    """By secret: its earlier runs, in order. `runs`: secret_id · examples · rate · noise_multiplier · rounds."""
    found: dict[int, list[Row]] = {}
    columns = ("secret_id", "examples", "rate", "noise_multiplier", "rounds")
    for secret, *row in runs.select(columns).iter_rows():
        found.setdefault(secret, []).append(tuple(row))
    return {secret: tuple(rows) for secret, rows in found.items()}


def kept_by_filter(runs: pl.DataFrame, own_run: Callable[[int], Run], secrets: pl.DataFrame) -> set[int]:
    """The secrets of `runs` that keep within their budget with this run, `own_run` of a secret.

    `secrets`: prior and posterior, by secret_id. Equal cases are looked at once.
    """
    found, done = Filter(), {}
    kept = set()
    for secret, rows in rows_of(runs).items():
        prior, target, own = secrets["prior"][secret], secrets["posterior"][secret], own_run(secret)
        case = rows, prior, target, own
        if case not in done:
            done[case] = found.share(prior, target, rows, [own]) <= 1
        if done[case]:
            kept.add(secret)
    return kept


def noise_by_filter(
    runs: pl.DataFrame,
    participations: Sequence[Participation],
    profile_of: np.ndarray,
    secrets: pl.DataFrame,
    *,
    rounds: int,
) -> tuple[float, list[int]]:
    """(σ, secrets that the earlier runs leave nothing): the least σ found with which the earlier `runs` and so many
    `rounds`, of this run and of those that follow it, keep within every budget.

    `participations` by profile, `profile_of` by secret; `secrets`: prior and posterior, by secret_id.
    """
    earlier, found = rows_of(runs), Filter()
    cases: dict[tuple, int] = {}
    for secret in range(secrets.height):
        prior, target = secrets["prior"][secret], secrets["posterior"][secret]
        cases.setdefault((earlier.get(secret, ()), prior, target, int(profile_of[secret])), secret)
    lost = [n for (rows, p, r, _), n in cases.items() if rows and not found.share(p, r, rows, []) < 1]
    if lost:
        return np.inf, lost

    def gap(case: tuple, log_sigma: float) -> float:
        rows, prior, target, profile = case
        run = Run(participations[profile], float(np.exp(log_sigma)), rounds)
        share = found.share(prior, target, rows, [run])
        return float(np.log(share)) if share > 0 else -np.inf

    def guess(case: tuple) -> float:
        return float(gaussian_noise(participations[case[3]].mean, rounds, case[1], case[2]))

    drawn = sorted((case for case in cases if participations[case[3]].mean > 0), key=guess, reverse=True)
    log_sigma = -np.inf
    for case in drawn:
        if log_sigma == -np.inf or gap(case, log_sigma) > 0:
            start = max(log_sigma, float(np.log(guess(case))))
            try:
                log_sigma = falling_root(lambda x, case=case: gap(case, x), start, PRECISION)
            except CertificationError:  # next to nothing is left
                lost.append(cases[case])
    return float(np.exp(log_sigma)), lost
