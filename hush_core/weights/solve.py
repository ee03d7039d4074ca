"""Weights with a certified optimality gap: solve, repair, then bound the optimum from the dual."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.errors import CertificationError
from hush_core.weights.coverage import Coverage, dual_value, most_distinct
from hush_core.weights.program import Reduced, WeightProgram, build_program, reduce_program, scaled
from hush_core.weights.solvers import (
    LEAST,
    TOLERANCE,
    repair,
    scale_down,
    solve_glop,
    solve_pdlp,
    without_tiny_weights,
)

SIMPLEX_EDGES = 12_000
"""Cores with up to so many edges go to GLOP, exact; larger ones to PDLP and the repair."""


_LOOSE = 1e-3
"""Where a first-order method leaves a larger gap, it continues to the next of these tolerances."""
_TOLERANCES = (TOLERANCE, 1e-6, 1e-8)
_KEPT = 1 - 1e-9
"""Σw reaches the least that was asked for up to this."""


@dataclass(frozen=True)
class Weights:
    """`weights` (n,) in [0, 1], none in (0, 1e-9); `objective` ≤ optimum ≤ `upper_bound`.

    `gap` = upper_bound/objective − 1.

    The objective is Σw, or with a `Coverage` Σ 1 − e^{−λw}. `dual` (m,): the price of each capacity, from which
    `upper_bound` follows. For other capacities cap' the optimum is at most upper_bound + dual·(cap' − cap),
    whatever the solver did.
    """

    weights: np.ndarray
    dual: np.ndarray
    objective: float
    upper_bound: float
    gap: float


def solve_weights(
    edges: pl.DataFrame, *, n_examples: int, capacities: np.ndarray, coverage: Coverage | None = None
) -> Weights:
    """The largest total weight under which no secret exceeds its capacity (paper §4, eq. 1).

    Args:
        edges: example_id, secret_id; each pair once.
        n_examples: n; examples without a secret get weight 1.
        capacities: (m,) by secret_id, the right-hand sides c·κ_j.
        coverage: maximise the expected number of distinct examples instead, among weights of at least its total
            (which must be possible).

    Guarantee: no capacity is exceeded in float64, and the true optimum is in [objective, upper_bound] whatever the
    solver did: the upper bound follows from weak duality on the ORIGINAL program.

    Raises:
        InputError: bad capacities or edges. CertificationError: the solver failed, or the repair did.
    """
    program = build_program(edges, n_examples, capacities)
    solved = _most_weight(program)
    if coverage is not None:
        solved = _most_distinct(program, coverage, solved)
    if np.any(program.incidence @ solved.weights > program.capacities):
        raise CertificationError("repaired weights exceed a capacity")
    return solved


def _certified(weights: np.ndarray, dual: np.ndarray, objective: float, upper_bound: float) -> Weights:
    upper_bound = max(upper_bound, objective)
    gap = upper_bound / objective - 1 if objective > 0 else (0.0 if upper_bound == 0 else np.inf)
    return Weights(weights, dual, objective, upper_bound, float(gap))


def _most_weight(program: WeightProgram) -> Weights:
    """Reduce, solve what is left, expand; feasible in float64 on the original program."""
    reduced = reduce_program(program)
    core = scaled(reduced.matrix, reduced.capacities, reduced.upper)
    found = [_expanded(program, reduced, np.empty(0), np.empty(0))] if not reduced.matrix.nnz else []
    arrays = core.matrix, core.rows, core.worth, core.most
    if 0 < reduced.matrix.nnz <= SIMPLEX_EDGES:
        found.append(_expanded(program, reduced, *core.back(*solve_glop(*arrays))))
    for tolerance in _TOLERANCES:
        # or within what weights below LEAST, which are 0, can come to
        negligible = LEAST * program.incidence.shape[1]
        if found and (found[-1].gap <= _LOOSE or found[-1].upper_bound - found[-1].objective <= negligible):
            break
        try:
            found.append(_expanded(program, reduced, *core.back(*solve_pdlp(*arrays, tolerance))))
        except CertificationError:
            if not found:
                raise
            break
    return min(found, key=lambda each: each.gap)


def _expanded(program: WeightProgram, reduced: Reduced, x: np.ndarray, y: np.ndarray) -> Weights:
    """Repaired and certified on the original program, whatever the solver gave."""
    if len(x):
        x = repair(reduced.matrix, reduced.capacities, x, reduced.upper)
    weights, dual = reduced.expand(x, y)
    weights, dual = _feasible(program, weights), np.clip(np.nan_to_num(dual), 0.0, 1.0)
    return _certified(weights, dual, float(weights.sum()), _dual_bound(program, dual))


def _most_distinct(program: WeightProgram, coverage: Coverage, most: Weights) -> Weights:
    """The same for coverage; `most`: the weights of the largest total, which restore what a repair lost of it."""
    reduced = reduce_program(program, singles_first=False)
    x, y, least_price = np.empty(0), np.empty(0), 0.0
    if reduced.matrix.nnz:
        decided = float(np.nansum(reduced.weights))
        core = Coverage(coverage.draws, coverage.least - decided)
        x, y, least_price = most_distinct(reduced.matrix, reduced.capacities, reduced.upper, core)
    weights, dual = reduced.expand(x, y)
    dual = np.minimum(dual, coverage.draws + least_price)
    weights = _feasible(program, weights)
    if weights.sum() < coverage.least * _KEPT < most.objective:
        # both are feasible, so every mixture is
        share = (coverage.least - weights.sum()) / (most.objective - weights.sum())
        weights = _feasible(program, (1 - share) * weights + share * most.weights)
    net = program.incidence.T @ dual - least_price
    bound = dual_value(coverage, program.capacities, dual, net, least_price)
    return _certified(weights, dual, coverage.value(weights), bound)


def _feasible(program: WeightProgram, weights: np.ndarray) -> np.ndarray:
    """Expanding sums in another order: the capacities hold for these very numbers; what cannot bind always does."""
    examples = np.bincount(program.incidence.indices, minlength=len(program.capacities))
    limits = np.where(examples > program.capacities, program.capacities, np.inf)
    return without_tiny_weights(scale_down(program.incidence, limits, weights))


def _dual_bound(program: WeightProgram, dual: np.ndarray) -> float:
    """cap·y + Σ max(0, 1 − (Aᵀy)_i) for y ≥ 0: an upper bound on Σw for ANY y (weak duality)."""
    reduced = 1.0 - program.incidence.T @ dual
    return float(program.capacities @ dual + np.maximum(reduced, 0.0).sum())
