"""From a solver's answer to weights that really keep every capacity, in exact float comparison."""

from __future__ import annotations

import numpy as np
from scipy import sparse

SAFETY = 1 - 1e-12
"""Loads are held to capacity·SAFETY, so that another order of summation cannot exceed the capacity."""
LEAST = 1e-9
"""No weight lies between 0 and this: round-off of a solver or of a sum is no reason to draw an example."""


def repair(
    matrix: sparse.csc_matrix,
    capacities: np.ndarray,
    w: np.ndarray,
    upper: np.ndarray | float = 1.0,
    rounds: int = 10,
) -> np.ndarray:
    """Feasible weights in [0, upper] near `w`: scale down where a capacity is exceeded, then fill the slack
    greedily.

    Each example is scaled by the worst overload among its secrets; a result below LEAST·upper becomes 0. In each
    filling round every secret shares its slack equally among its examples that can still grow. An example grows by
    the least of its shares, unless the least slack is below LEAST·upper. Shape (n,) → (n,).
    """
    limit = capacities * SAFETY
    w = without_dust(_scale_down(matrix, limit, np.clip(w, 0.0, upper)), upper)
    upper = np.broadcast_to(upper, w.shape)
    growing, columns = np.arange(len(w)), matrix
    for _ in range(rounds):
        slack = np.maximum(limit - matrix @ w, 0.0)
        # loads only rise in here: what cannot grow now cannot later
        can = (w[growing] < upper[growing]) & (_least(columns, slack) >= LEAST * upper[growing])
        growing, columns = growing[can], columns[:, can]
        if not len(growing):
            break
        share = slack / np.maximum(np.bincount(columns.indices, minlength=len(slack)), 1)
        w[growing] = np.minimum(w[growing] + _least(columns, share), upper[growing])
    return without_dust(_scale_down(matrix, limit, w), upper)


def without_dust(w: np.ndarray, upper: np.ndarray | float = 1.0) -> np.ndarray:
    """The same weights, 0 in place of less than LEAST·upper."""
    return np.where(w < LEAST * upper, 0.0, w)


def scale_down(matrix: sparse.csc_matrix, capacities: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The same weights, less where a capacity is exceeded."""
    return _scale_down(matrix, capacities * SAFETY, w)


def _scale_down(matrix: sparse.csc_matrix, limit: np.ndarray, w: np.ndarray) -> np.ndarray:
    load = matrix @ w
    while np.any(load > limit):
        factor = _least(matrix, np.divide(limit, load, out=np.ones_like(load), where=load > limit))
        # one step further down: among subnormal numbers a product may round to what it was, for ever
        w = np.where(factor < 1, np.nextafter(w * np.minimum(factor, 1.0), 0.0), w)
        load = matrix @ w
    return w


def _least(matrix: sparse.csc_matrix, value: np.ndarray) -> np.ndarray:
    """min over each example's secrets of `value` (m,), with +inf for examples without a secret; shape (n,)."""
    result = np.full(matrix.shape[1], np.inf)
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if filled.size:
        result[filled] = np.minimum.reduceat(value[matrix.indices], matrix.indptr[filled])
    return result
