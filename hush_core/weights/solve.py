"""Weights with a certified optimality gap: solve, repair, then bound the optimum from the dual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.errors import CertificationError
from hush_core.weights.glop import solve_glop
from hush_core.weights.pdlp import solve_pdlp
from hush_core.weights.program import WeightProgram, build_program
from hush_core.weights.reduction import reduce_program
from hush_core.weights.repair import repair, scale_down

SIMPLEX_EDGES = 12_000
"""Cores with up to so many edges go to GLOP, exact; larger ones to PDLP and the repair."""


@dataclass(frozen=True)
class Weights:
    """`weights` (n,) in [0, 1]; `objective` = Σw ≤ optimum ≤ `upper_bound`; `gap` = upper_bound/objective − 1.

    `dual` (m,) in [0, 1]: the price of each capacity, from which `upper_bound` follows. For other capacities cap'
    the optimum is at most upper_bound + dual·(cap' − cap), whatever the solver did.
    """

    weights: np.ndarray
    dual: np.ndarray
    objective: float
    upper_bound: float
    gap: float


def solve_weights(edges: pl.DataFrame, *, n_examples: int, capacities: np.ndarray) -> Weights:
    """The largest total weight under which no secret exceeds its capacity (paper §4, eq. 1).

    Args:
        edges: example_id, secret_id; each pair once.
        n_examples: n; examples without a secret get weight 1.
        capacities: (m,) by secret_id, the right-hand sides c·κ_j.

    Guarantee: no capacity is exceeded in float64, and the true optimum lies in [objective, upper_bound]
    whatever the solver did: the upper bound follows from weak duality on the ORIGINAL program.

    Raises:
        InputError: bad capacities or edges. CertificationError: the solver failed, or the repair did.
    """
    program = build_program(edges, n_examples, capacities)
    weights, dual = _solve_core(program)
    dual = np.clip(np.nan_to_num(dual), 0.0, 1.0)
    load = program.incidence @ weights
    if np.any(load > program.capacities):
        raise CertificationError("repaired weights exceed a capacity")
    objective = float(weights.sum())
    upper_bound = max(_dual_bound(program, dual), objective)
    gap = upper_bound / objective - 1 if objective > 0 else (0.0 if upper_bound == 0 else np.inf)
    return Weights(weights, dual, objective, upper_bound, float(gap))


def _solve_core(program: WeightProgram) -> tuple[np.ndarray, np.ndarray]:
    """Reduce, solve what is left, expand; feasible in float64 on the original program."""
    reduced = reduce_program(program)
    core = (reduced.matrix, reduced.capacities)
    if not reduced.matrix.nnz:
        x, y = np.empty(0), np.empty(0)
    elif reduced.matrix.nnz <= SIMPLEX_EDGES:
        x, y = solve_glop(*core, reduced.upper)
    else:
        x, y = solve_pdlp(*core, reduced.upper)
    if len(x):
        x = repair(*core, x, reduced.upper)
    weights, dual = reduced.expand(x, y)
    # expanding sums in another order: the capacities hold for these very numbers; those that cannot bind always do
    examples = np.bincount(program.incidence.indices, minlength=len(program.capacities))
    limits = np.where(examples > program.capacities, program.capacities, np.inf)
    return scale_down(program.incidence, limits, weights), dual


def _dual_bound(program: WeightProgram, dual: np.ndarray) -> float:
    """cap·y + Σ max(0, 1 − (Aᵀy)_i) for y ≥ 0: an upper bound on Σw for ANY y (weak duality)."""
    reduced = 1.0 - program.incidence.T @ dual
    return float(program.capacities @ dual + np.maximum(reduced, 0.0).sum())
