"""The core in units of its own: a solver's tolerance is the same in every row, however far capacities lie apart.

Variable i can be at most k_i = min(u_i, least capacity of its secrets). In units of k_i, and with every row divided
by its capacity, the program is max Σ k_i·v_i, Σ_{i∋j} (k_i/cap_j)·v_i ≤ 1, 0 ≤ v ≤ u_i/k_i: coefficients in (0, 1].
Where u_i is above k_i a row says v_i ≤ 1, and the limit on v_i is put at 2, so that the price is the row's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hush_core.weights.repair import LEAST


@dataclass(frozen=True, eq=False)
class Scaled:
    """max worth·v over matrix·v ≤ 1, 0 ≤ v ≤ most, and how to get back. capacities: (m,) those of the core."""

    matrix: sparse.csc_matrix
    worth: np.ndarray
    most: np.ndarray
    capacities: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """The right-hand sides, all 1."""
        return np.ones(len(self.capacities))

    def back(self, v: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x (g,) and y (m,) of the core from the scaled program's."""
        return v * self.worth, np.divide(
            z, self.capacities, out=np.ones_like(z), where=self.capacities >= LEAST
        )


def scaled(matrix: sparse.csc_matrix, capacities: np.ndarray, upper: np.ndarray) -> Scaled:
    """A capacity below the least weight leaves its variables at 0: they are not in the scaled program, and their
    row's dual is 1, at next to no cost."""
    if not matrix.nnz:
        return Scaled(matrix, upper, upper, capacities)
    # every variable of a core has a secret
    worth = np.minimum(upper, np.minimum.reduceat(capacities[matrix.indices], matrix.indptr[:-1]))
    each = np.repeat(worth, np.diff(matrix.indptr))
    limit = capacities[matrix.indices]
    worth = np.where(worth < LEAST, 0.0, worth)
    data = np.divide(each, limit, out=np.zeros(matrix.nnz), where=each >= LEAST)
    rows = sparse.csc_matrix((data, matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)
    rows.eliminate_zeros()
    return Scaled(rows, worth, np.where(worth < upper, 2.0, 1.0), capacities)
