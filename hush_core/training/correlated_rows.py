"""Rows of C·G on the grid, and what is read of the released ones.

    rows = CorrelatedRows(strategy, size=p, grid=grid)
    row = rows.mix(total)                # Σ_s c_s·g_{t−s}, every term on the grid: add rounded noise to it, release
    gradient = rows.read(released)       # g_t + (C⁻¹·Z)_t: from released rows alone

The sum is exact: integers meet integer noise, as without correlation (docs/mathematics.md §5). Between rounds the
clipped sums of the last b − 1 rounds are kept; they are protected and live in memory alone. After a kill a run
resumes with an empty past, which only takes bands away from C (Proposition C3).
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from hush_core.accounting.correlated.strategy import Strategy
from hush_core.errors import InputError


class CorrelatedRows:
    """The rows of one attempt at a run.

    Args:
        strategy: C. size: p, trained numbers. grid: the step of the fixed grid (`training.noise.grid_step`).
    """

    def __init__(self, strategy: Strategy, size: int, grid: float) -> None:
        if not (grid > 0 and math.frexp(grid)[0] == 0.5):
            raise InputError("grid", "is not a power of two", "use training.noise.grid_step")
        self._size, self._grid = size, grid
        self._mixing = strategy.coefficients[1:]
        self._sums: deque[np.ndarray] = deque(maxlen=len(self._mixing))
        self._read: deque[np.ndarray] = deque(maxlen=len(self._mixing))

    def __repr__(self) -> str:
        return f"CorrelatedRows(bands={len(self._mixing) + 1}, size={self._size})"

    def mix(self, total: np.ndarray) -> np.ndarray:
        """The row of this round, (p,) float64 multiples of the grid.

        Args:
            total: (p,) float64 multiples of the grid, the clipped sum of this round.
        """
        self._check(total)
        row = total.copy()
        for coefficient, past in zip(self._mixing, self._sums, strict=False):
            row += np.rint(past * (coefficient / self._grid)) * self._grid
        self._sums.appendleft(total.copy())
        return row

    def read(self, released: np.ndarray) -> np.ndarray:
        """(p,) float64: the noisy clipped sum of this round, from this row and those released before."""
        self._check(released)
        noisy = released.astype(np.float64)
        for coefficient, past in zip(self._mixing, self._read, strict=False):
            noisy -= coefficient * past
        self._read.appendleft(noisy)
        return noisy.copy()

    def _check(self, vector: np.ndarray) -> None:
        if vector.shape != (self._size,):
            raise InputError(
                "a row", f"has shape {vector.shape}, not ({self._size},)", "pass one number a parameter"
            )


def rounding_allowance(strategy: Strategy, rounds: int, size: int, grid: float) -> float:
    """By how much rounding the mixed terms may move all rows together beyond `sensitivities`, in the sum's units.

    A term of two neighbouring runs is rounded twice, by half a step each: a row moves by at most (b − 1)·√p·grid
    further.
    """
    return (strategy.bands - 1) * math.sqrt(size) * grid * math.sqrt(rounds)
