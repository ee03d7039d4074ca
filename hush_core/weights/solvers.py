"""OR-Tools' solvers: GLOP, a dual simplex, and PDLP, a first-order method for cores too large for a simplex.

Both through their vectorised interfaces: model building in Python is 50× slower.
"""

from __future__ import annotations

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
    """Maximise worth·x over matrix·x ≤ capacities, 0 ≤ x ≤ upper.

    Returns (x, y): primal (g,) and dual (m,) values as the solver gives them, neither trusted: repair and the
    optimality gap come after.

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
