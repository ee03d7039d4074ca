"""The concave program of `coverage` as linear programs: each example's 1 − e^{−λw} under tangents, more each round.

Newton's method stops at a kink of the dual, where an example is at 0 or 1 on both sides of a price: few examples,
equal capacities. There the tangents are exact where it matters after a few rounds, and the linear program's prices
prove it. The segments between the tangents' crossings fall in slope, so a linear program fills them in their order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from hush_core.weights.solvers import solve_glop

_FIRST, _ROUNDS = 8, 12
_NEAR = 1e-7
"""Points of the same example, in units of its largest weight, that lie nearer than this are one."""


def by_tangents(
    rows: sparse.csr_matrix, limits: np.ndarray, upper: np.ndarray, draws: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """x (g,) and prices ≥ 0 (m,) for max Σ u·(1 − e^{−λx/u}) over rows·x ≤ limits, 0 ≤ x ≤ u, better each time.

    Rows may hold −1. Neither is trusted: x may exceed a limit by a rounding.

    Raises:
        CertificationError: the solver of the linear programs failed.
    """
    points = np.tile(np.linspace(0.0, 1.0, _FIRST), (len(upper), 1))
    for _ in range(_ROUNDS):
        lengths, slopes = _segments(points, draws)
        columns = sparse.csc_matrix(sparse.kron(rows, np.ones((1, points.shape[1]))))
        most = upper[:, None] * lengths
        x, prices = solve_glop(columns, limits, slopes.ravel(), most.ravel())
        x = x.reshape(most.shape).sum(1)
        yield x, np.maximum(np.nan_to_num(prices), 0.0)
        points = np.sort(np.column_stack([points, np.clip(x / upper, 0.0, 1.0)]), axis=1)


def _segments(points: np.ndarray, draws: float) -> tuple[np.ndarray, np.ndarray]:
    """Lengths and slopes, (g, k) each, of the least of the tangents at points (g, k) that ascend in [0, 1]."""
    height, slopes = -np.expm1(-draws * points), draws * np.exp(-draws * points)
    left, right = slice(None, -1), slice(1, None)
    fall = slopes[:, left] - slopes[:, right]
    apart = (height[:, right] - slopes[:, right] * points[:, right]) - (
        height[:, left] - slopes[:, left] * points[:, left]
    )
    near = points[:, right] - points[:, left] <= _NEAR
    crossing = np.where(
        near, points[:, right], np.divide(apart, fall, out=points[:, right].copy(), where=fall > 0)
    )
    crossing = np.clip(crossing, points[:, left], points[:, right])
    ends = np.column_stack([np.zeros(len(points)), crossing, np.ones(len(points))])
    return np.diff(ends, axis=1), slopes
