"""Weights with a certified optimality gap: solve, repair, then bound the optimum from the dual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.errors import CertificationError
from hush_core.weights.glop import solve_glop
from hush_core.weights.program import WeightProgram, build_program
from hush_core.weights.repair import repair


@dataclass(frozen=True)
class Weights:
    """`weights` (n,) in [0, 1]; `objective` = Σw ≤ optimum ≤ `upper_bound`; `gap` = upper_bound/objective − 1."""

    weights: np.ndarray
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
    load = program.incidence @ weights
    if np.any(load > program.capacities):
        raise CertificationError("repaired weights exceed a capacity")
    objective = float(weights.sum())
    upper_bound = max(_dual_bound(program, dual), objective)
    gap = upper_bound / objective - 1 if objective > 0 else (0.0 if upper_bound == 0 else np.inf)
    return Weights(weights, objective, upper_bound, float(gap))


def _solve_core(program: WeightProgram) -> tuple[np.ndarray, np.ndarray]:
    """Solve over the secrets that can bind and the examples that hold one; all others get 1 (dual 0)."""
    m, n = program.incidence.shape
    weights, dual = np.ones(n), np.zeros(m)
    secrets = program.binding
    if not secrets.size:
        return weights, dual
    rows = program.incidence[secrets]
    examples = np.unique(rows.indices)
    core = rows[:, examples].tocsr()
    w, y = solve_glop(core, program.capacities[secrets])
    weights[examples] = repair(core, program.capacities[secrets], w)
    dual[secrets] = y
    return weights, dual


def _dual_bound(program: WeightProgram, dual: np.ndarray) -> float:
    """cap·y + Σ max(0, 1 − (Aᵀy)_i) for y ≥ 0: an upper bound on Σw for ANY y (weak duality)."""
    y = np.clip(np.nan_to_num(dual), 0.0, 1.0)
    reduced = 1.0 - program.incidence.T @ y
    return float(program.capacities @ y + np.maximum(reduced, 0.0).sum())
