"""The linear program as sparse arrays, after the checks that a solver would answer with an empty result.

max Σ w_i   s.t.   Σ_{i∋j} w_i ≤ cap_j for every secret j,   0 ≤ w_i ≤ 1            (paper, eq. 1)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from hush_core.errors import InputError


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
