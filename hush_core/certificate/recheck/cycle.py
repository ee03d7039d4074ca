"""The second route of rounds in a cycle: groups, rows and quantiles, recomputed from weights, edges and strategy.

The rule of docs/mechanisms.md, in plain Python, gives who takes part when and how far a secret moves each row.
mpmath gives the bound, with 30 digits.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import mpmath
import numpy as np
import polars as pl

from hush_core.certificate.recheck.check import (
    AGREEMENT,
    BY_OWN,
    NOT_SURE,
    OWN_PROFILES,
    Recheck,
    points_of_curves,
)

_GOLDEN = 0.6180339887498949
_REPORT_EVERY = 64


@dataclass(frozen=True)
class CycleRun:
    """What the plan says: the coefficients, B, σ and T."""

    strategy: tuple[float, ...]
    expected_batch: int
    noise_multiplier: float
    rounds: int


class Movements:
    """How far each secret moves all rows together, in clip norms; distinct secrets of equal counts share it."""

    def __init__(self, weights: np.ndarray, edges: pl.DataFrame, size: int, run: CycleRun) -> None:
        self._run = run
        drawn = [i for i, weight in enumerate(weights.tolist()) if weight > 0]
        self._period = max(1, math.ceil(Fraction(len(drawn), run.expected_batch)))
        groups = _groups(drawn, edges, self._period)
        counts: list[dict[int, int]] = [{} for _ in range(size)]
        for item, secret in zip(edges["example_id"].to_list(), edges["secret_id"].to_list(), strict=True):
            if item in groups:
                place = counts[secret]
                place[groups[item]] = place.get(groups[item], 0) + 1
        self.counts = [tuple(sorted(each.items())) for each in counts]
        self._known: dict[tuple, float] = {}

    def of(self, secret: int) -> float:
        """‖C·u‖."""
        key = self.counts[secret]
        if key not in self._known:
            drawn = np.zeros(self._run.rounds)
            for group, count in key:
                drawn[group :: self._period] = count
            rows = np.convolve(drawn, self._run.strategy)[: self._run.rounds]
            self._known[key] = math.sqrt(math.fsum((rows * rows).tolist()))
        return self._known[key]


def recheck_cycle(
    moved: Movements,
    secrets: pl.DataFrame,
    bounds: pl.DataFrame,
    curves: pl.DataFrame,
    run: CycleRun,
    progress: Callable[..., None],
) -> Recheck:
    """Every bound, and points of every curve; of more than OWN_PROFILES different (movement, prior) those nearest
    to their targets. Tables in the order of their ids."""
    found = Recheck(np.full(secrets.height, np.nan), np.full(secrets.height, NOT_SURE, dtype=object))
    names, rows = secrets["name"].to_list(), list(bounds.iter_rows(named=True))
    done: dict[tuple[float, float], float] = {}
    for place, j in enumerate(
        sorted(range(len(rows)), key=lambda j: -rows[j]["bound"] / rows[j]["posterior"])
    ):
        row, key = rows[j], (moved.of(j), rows[j]["prior"])
        if key not in done:
            if len(done) >= OWN_PROFILES:
                continue
            if not len(done) % _REPORT_EVERY:
                progress("second route", place, len(rows))
            done[key] = _posterior(row["prior"], key[0] / run.noise_multiplier)
        found.second[j], found.route[j] = done[key], BY_OWN
        if problem := _problem(row, done[key], done[key]):
            found.failures.append(f"{names[j]}: {problem}")
    progress("second route", len(rows), len(rows))
    failures, found.points = _curves(moved, bounds["curve"].to_numpy(), curves, run)
    found.failures += failures
    return found


def _curves(
    moved: Movements, of_secret: np.ndarray, curves: pl.DataFrame, run: CycleRun
) -> tuple[list[str], tuple[int, int, int]]:
    failures: list[str] = []
    looked = 0
    for number, members, points in points_of_curves(of_secret, curves, failures):
        moves = [moved.of(j) for j in members.tolist()]
        for row in points:
            looked += 1
            most, least = (
                _posterior(row["prior"], each(moves) / run.noise_multiplier) for each in (max, min)
            )
            if problem := _problem(row, most, least):
                failures.append(f"curve {number} at prior {row['prior']:.3g}: {problem}")
    return failures, (looked, looked, curves.height)


def _problem(row: dict, most: float, least: float) -> str:
    """`most`, `least`: exact for the secret that moves furthest and least of those that the row is of."""
    if not most <= row["bound"] * (1 + AGREEMENT):
        return f"bound {row['bound']:.6g}, but {most:.6g} by the second route"
    if row["lower"] is not None and not row["lower"] <= least * (1 + AGREEMENT):
        return f"lower {row['lower']:.6g}, but {least:.6g} by the second route"
    if not row["bound"] <= most * (1 + AGREEMENT) + row["numerical_error"]:
        return f"bound {row['bound']:.6g} is stated as tight, but {most:.6g} is so by the second route"
    return ""


def _groups(drawn: list[int], edges: pl.DataFrame, period: int) -> dict[int, int]:
    """Item → group: items by their first secret, placed around the cycle by multiples of the golden ratio."""
    first: dict[int, int] = {}
    for item, secret in zip(edges["example_id"].to_list(), edges["secret_id"].to_list(), strict=True):
        first[item] = min(secret, first.get(item, secret))
    ordered = sorted(drawn, key=lambda item: (first.get(item, math.inf), item))
    around = sorted(range(len(ordered)), key=lambda n: (n * _GOLDEN % 1, n))
    return {ordered[n]: place * period // len(ordered) for place, n in enumerate(around)}


def _posterior(prior: float, shift: float) -> float:
    """Φ(Φ⁻¹(p) + s)."""
    if not shift:
        return prior
    with mpmath.workdps(30):
        low = (
            mpmath.findroot(
                lambda x: mpmath.log(mpmath.ncdf(x)) - mpmath.log(prior), -mpmath.sqrt(-2 * mpmath.log(prior))
            )
            if prior < 0.1
            else mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(prior) - 1)
        )
        return float(mpmath.ncdf(low + mpmath.mpf(shift)))
