"""The linear program as sparse arrays, after the checks that a solver would answer with an empty result.

max Σ w_i   s.t.   Σ_{i∋j} w_i ≤ cap_j for every secret j,   0 ≤ w_i ≤ 1            (paper, eq. 1)

A solver's tolerance is the same in every row, however far capacities lie apart. So what is left of the program
after reduction is solved in units of its own. Variable i can be at most k_i = min(u_i, least capacity of its
secrets). In units of k_i, and with every row divided by its capacity, the program is max Σ k_i·v_i, Σ_{i∋j}
(k_i/cap_j)·v_i ≤ 1, 0 ≤ v ≤ u_i/k_i: coefficients in (0, 1]. Where u_i is above k_i a row says v_i ≤ 1, and the
limit on v_i is put at 2, so that the price is the row's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from hush_core.errors import InputError
from hush_core.weights.repair import LEAST


@dataclass(frozen=True)
class WeightProgram:
    """`incidence`: (m, n) CSC of 0/1, row j marks the examples that hold secret j; `capacities`: (m,)."""

    incidence: sparse.csc_matrix
    capacities: np.ndarray


def build_program(edges: pl.DataFrame, n_examples: int, capacities: np.ndarray) -> WeightProgram:
    """Check the inputs and build the program.

    Raises:
        InputError: a capacity that is negative or not finite, an edge out of range, an edge given twice.
    """
    capacities = np.asarray(capacities, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(capacities) | (capacities < 0))
    if bad.size:
        raise InputError(
            f"secret {bad[0]}", f"capacity {capacities[bad[0]]:g}", "give a finite capacity of 0 or more"
        )
    examples, secrets = edges["example_id"].to_numpy(), edges["secret_id"].to_numpy()
    for what, ids, limit in (("example", examples, n_examples), ("secret", secrets, len(capacities))):
        if ids.size and int(ids.max()) >= limit:
            raise InputError("edges", f"{what} {ids.max()} of {limit}", f"number the {what}s from 0, densely")
    ones = np.ones(edges.height)
    matrix = sparse.csc_matrix((ones, (secrets, examples)), shape=(len(capacities), n_examples))
    if matrix.nnz != edges.height:
        raise InputError("edges", "an edge is given twice", "keep each (example, secret) pair once")
    return WeightProgram(matrix, capacities)


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
