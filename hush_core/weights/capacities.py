"""How much weight a secret may carry: the right-hand sides c·κ_j of the linear program.

`paper` takes κ_j = KL(Bern(r_j)‖Bern(p_j)) (paper §4). `matched`, ours, takes what the certificate allows: in the
Gaussian limit a secret with total rate Σρ needs σ_j ≈ √T·Σρ/κ_j, so equal loads relative to κ_j mean equal noise.
The limit of the `kl` bound gives κ_j = √(2μ_j); that of the tight and the Rényi bounds gives κ_j = Φ⁻¹(r_j) −
Φ⁻¹(p_j) (docs/mathematics.md §7). `equalised` takes what the certificate allows at the noise of the run
(weighing.py).
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.special import ndtri

from hush_core.accounting import target_kl
from hush_core.errors import InputError
from hush_core.weights.settings import CapacityRule


def unit_capacities(secrets: pl.DataFrame, rule: CapacityRule) -> np.ndarray:
    """κ_j for every row of `secrets` (columns prior, posterior), shape (m,), all positive.

    Raises:
        InputError: `equalised`, which depends on the weights and is not a function of the targets alone.
    """
    if rule == "equalised":
        raise InputError("rule", "equalised capacities follow from the weights", "call weigh")
    prior = secrets["prior"].to_numpy().astype(np.float64)
    posterior = secrets["posterior"].to_numpy().astype(np.float64)
    if rule == "normal_quantiles":
        return ndtri(posterior) - ndtri(prior)
    mu = np.asarray(target_kl(prior, posterior), dtype=np.float64)
    return mu if rule == "kl" else np.sqrt(2 * mu)


def largest_useful_c(edges: pl.DataFrame, kappa: np.ndarray) -> float:
    """c_max: the smallest c at which no secret binds, so that every weight is 1 (0 without edges)."""
    counts = np.bincount(edges["secret_id"].to_numpy(), minlength=len(kappa))
    held = counts > 0
    with np.errstate(divide="ignore"):
        # a hair above, so that c_max·κ_j is not rounded below the count
        return float(np.max(counts[held] / kappa[held], initial=0.0)) * (1 + 4 * np.finfo(np.float64).eps)
