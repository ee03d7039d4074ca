"""The paper's own program at the weight that other weights retain, for a fair comparison of noise.

Another certificate would be judged unfairly on weights that were made for ours. So the capacities are the paper's,
c·κ_j with κ_j = KL(Bern(r_j)‖Bern(p_j)), and c is such that the same weight is kept.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.optimize import brentq

from hush_core.errors import InputError
from hush_core.weights.capacities import largest_useful_c, unit_capacities
from hush_core.weights.solve import solve_weights

_PRECISION = 1e-4
"""Of log c."""
_LEAST = 1e-9


def paper_weights(
    edges: pl.DataFrame, secrets: pl.DataFrame, *, trainable: np.ndarray, total: float
) -> np.ndarray:
    """Weights (n,) of the paper's program (Σw, capacities c·κ) that sum to `total`, at the c that gives it.

    Args:
        trainable: (n,) bool; the others are never drawn and get 0.
        total: Σw, above the number of trainable examples without a secret.

    Raises:
        InputError: no c keeps so little or so much.
    """
    edges = edges.filter(pl.Series(trainable[edges["example_id"].to_numpy()]))
    kappa = unit_capacities(secrets, "kl")
    c_max = largest_useful_c(edges, kappa)

    def at(log_c: float) -> np.ndarray:
        capacities = c_max * float(np.exp(log_c)) * kappa
        return np.where(
            trainable, solve_weights(edges, n_examples=len(trainable), capacities=capacities).weights, 0
        )

    def above(log_c: float) -> float:
        return float(at(log_c).sum()) - total

    if total >= trainable.sum() * (1 - 1e-12):
        return at(0.0)
    if above(np.log(_LEAST)) > 0:
        raise InputError("total", f"{total:g} is less than what holds no secret", "compare at more weight")
    # Σw does not fall with c
    return at(float(brentq(above, np.log(_LEAST), 0.0, xtol=_PRECISION)))
