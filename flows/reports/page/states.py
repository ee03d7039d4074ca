"""Which state a secret is in, how serious that is, and where its numbers are on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from flows.reports.job_report import SecretRow

STATES = {
    "came out": "bad",
    "above target": "bad",
    "no promise": "bad",
    "near target": "good",
    "kept": "good",
    "no example": "plain",
}
"""What a secret can be in, the most serious first, and how it looks."""
_ORDER = {state: number for number, state in enumerate(STATES)}
NEAR = 0.9
"""The share of its target from which a bound is near it."""
WIDTH, EDGE = 132.0, 7.0
"""Of a row's picture in pixels, and the room beside its axis."""


def state_of(row: SecretRow) -> str:
    """The most serious that holds: a name of STATES."""
    if row.extracted:
        return "came out"
    if row.bound > row.target or (row.all_runs is not None and row.all_runs > row.target):
        return "above target"
    if row.earlier_runs and row.all_runs is None:
        return "no promise"
    if not row.examples:
        return "no example"
    return "near target" if share(row) >= NEAR else "kept"


def share(row: SecretRow) -> float:
    """Of its target, what its bound takes; of all runs together where there were earlier ones."""
    return (row.all_runs or row.bound) / row.target


def severity(row: SecretRow) -> tuple[int, float, str]:
    """Sorts the most serious first."""
    return _ORDER[state_of(row)], -share(row), row.name


@dataclass(frozen=True)
class Axis:
    """From the least probability of a page to 1, logarithmic."""

    least: float

    @classmethod
    def of(cls, rows: Iterable[SecretRow]) -> Axis:
        least = min((min(row.prior, row.bound) for row in rows), default=1e-6)
        return cls(10.0 ** math.floor(math.log10(max(least, 1e-300))))

    def place(self, probability: float) -> float:
        """Pixels from the left; a value below the axis is drawn at its end."""
        decades = -math.log10(self.least) or 1.0
        at = 1 + math.log10(max(probability, self.least)) / decades
        return round(EDGE + min(max(at, 0.0), 1.0) * (WIDTH - 2 * EDGE), 1)
