"""OR-Tools' GLOP (dual simplex) through its vectorised interface; model building in Python is 50× slower."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hush_core.errors import CertificationError


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
