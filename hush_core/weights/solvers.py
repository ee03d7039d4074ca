"""OR-Tools' solvers, and the repair of their answers to weights that keep every capacity, in exact comparison.

GLOP is a dual simplex, PDLP a first-order method for cores too large for one. Both through their vectorised
interfaces: model building in Python is 50× slower.
"""

import numpy as np
from scipy import sparse

from hush_core.errors import CertificationError

TOLERANCE = 1e-4
"""Relative and absolute; single secrets may still be overshot by more, which the repair corrects."""
_SECONDS = 1800.0
_THREADS, _SHARDS = 2, 8
"""Sums are split by shards: the answer depends on their number, not on that of the threads."""


def solve_glop(
    matrix: sparse.csc_matrix, capacities: np.ndarray, worth: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Maximise worth·x over matrix·x ≤ capacities, 0 ≤ x ≤ upper.

    Returns (x, y): primal (n,) and dual (m,) values as the solver gives them, neither trusted: repair and
    the optimality gap come after.

    Raises:
        CertificationError: the solver did not end with a solution.
    """
    m, n = matrix.shape
    from ortools.linear_solver.python import model_builder_helper as mbh

    model = mbh.ModelBuilderHelper()
    rows = matrix.tocsr()
    model.fill_model_from_sparse_data(np.zeros(n), upper, worth, np.full(m, -np.inf), capacities, rows)
    model.set_maximize(True)
    solver = mbh.ModelSolverHelper("GLOP")
    if not solver.solver_is_supported():
        raise CertificationError("OR-Tools was built without GLOP: reinstall ortools")
    solver.set_solver_specific_parameters("use_dual_simplex: true")
    solver.solve(model)
    if not solver.has_solution():
        raise CertificationError(f"GLOP ended with status {solver.status()} and no weights")
    return np.asarray(solver.variable_values()), np.asarray(solver.dual_values())


def solve_pdlp(
    matrix: sparse.csc_matrix,
    capacities: np.ndarray,
    worth: np.ndarray,
    upper: np.ndarray,
    tolerance: float = TOLERANCE,
) -> tuple[np.ndarray, np.ndarray]:
    """The same by PDLP.

    Raises:
        CertificationError: the solver did not reach its tolerance.
    """
    m, n = matrix.shape
    from ortools.pdlp import solve_log_pb2, solvers_pb2
    from ortools.pdlp.python import pdlp

    program = pdlp.QuadraticProgram()
    program.resize_and_initialize(n, m)
    program.objective_vector = -worth
    program.constraint_matrix = matrix
    program.constraint_lower_bounds = np.full(m, -np.inf)
    program.constraint_upper_bounds = capacities
    program.variable_lower_bounds = np.zeros(n)
    program.variable_upper_bounds = upper
    settings = solvers_pb2.PrimalDualHybridGradientParams(num_threads=_THREADS, num_shards=_SHARDS)
    criteria = settings.termination_criteria
    criteria.simple_optimality_criteria.eps_optimal_absolute = tolerance
    criteria.simple_optimality_criteria.eps_optimal_relative = tolerance
    criteria.time_sec_limit = _SECONDS
    result = pdlp.primal_dual_hybrid_gradient(program, settings)
    reason = solve_log_pb2.TerminationReason.Name(result.solve_log.termination_reason)
    if reason != "TERMINATION_REASON_OPTIMAL":
        raise CertificationError(f"PDLP ended with {reason} and no weights")
    return np.asarray(result.primal_solution), -np.asarray(result.dual_solution)


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
    w = without_tiny_weights(_scale_down(matrix, limit, np.clip(w, 0.0, upper)), upper)
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
    return without_tiny_weights(_scale_down(matrix, limit, w), upper)


def without_tiny_weights(w: np.ndarray, upper: np.ndarray | float = 1.0) -> np.ndarray:
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
