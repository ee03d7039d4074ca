"""The most weight that a given noise multiplier can certify: σ chosen, weights found.

With rates ρ = B·w/Σw a secret of load L_j = Σ_{i∋j} w_i takes part B·L_j/Σw times a round in expectation, and may
do so Λ_j times at σ (inverse accounting). So capacities s·Λ_j are allowed exactly where the weight W(s) that they
leave is at least s·B. W is concave in s with W(0) ≥ 0, so W(s)/s falls, and the largest such s is one root.

The inverse accounting errs on the safe side by a percent or so where rates are large: it knows the largest rate
only. So the first weights need a little less than σ; what they really need, and how their rates really spread,
corrects the next ones. Weights that need more than σ are never returned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from scipy.optimize import brentq

from hush_core.accounting import noise_for_all
from hush_core.accounting.inverse import count_of_hazard, largest_hazard
from hush_core.errors import CertificationError, InputError
from hush_core.progress import Progress
from hush_core.weights.rates import sampling_rates
from hush_core.weights.settings import Mechanism

Solve = Callable[[np.ndarray], np.ndarray]
"""Capacities (m,) → the best weights (n,) under them."""

_PRECISION = 1e-4
"""Relative precision of s."""
_LEAST_SCALE = 1 / 0.9
"""s below this would mean rates above 0.9."""
_PASSES = 5
_USED = 4e-3
"""Weights that need so little less than σ are settled."""


def fit_noise(
    solve: Solve,
    edges: pl.DataFrame,
    secrets: pl.DataFrame,
    mechanism: Mechanism,
    *,
    noise_multiplier: float,
    most: int,
    progress: Progress | None = None,
) -> np.ndarray:
    """Capacities (m,) under which the best weights need at most `noise_multiplier`, and little less.

    Args:
        secrets: prior, posterior. most: Σw where no capacity binds.

    Raises:
        InputError: no weights let so large a batch be drawn at this noise; names the largest batch that works.
        CertificationError: the passes found no weights that need so little.
    """
    run = {"rounds": mechanism.rounds, "method": mechanism.method}
    aim, spread, found = noise_multiplier, None, None
    for done in range(_PASSES):
        if progress:
            progress("fitting weights to the noise", done, _PASSES)
        hazards = largest_hazard(
            secrets["prior"].to_numpy(), secrets["posterior"].to_numpy(), noise_multiplier=aim, **run
        )
        capacities = _largest_scale(solve, hazards, spread, mechanism.expected_batch, most, noise_multiplier)
        weights = solve(capacities)
        rates = sampling_rates(weights, mechanism.expected_batch)
        needed = noise_for_all(edges, rates, secrets, **run) if weights.any() else 0.0
        if needed <= noise_multiplier:
            found = capacities
            if needed >= (1 - _USED) * noise_multiplier or weights.sum() >= most:
                break
        aim *= (1 - _USED / 2) * noise_multiplier / needed
        spread = _counts_by_hazard(edges, rates, secrets.height)
    if found is None:
        raise CertificationError(
            f"no weights were found that need at most σ = {noise_multiplier:g}; allow more noise, or give weights.c"
        )
    return found


def _largest_scale(
    solve: Solve,
    hazards: np.ndarray,
    spread: np.ndarray | None,
    batch: int,
    most: int,
    noise_multiplier: float,
) -> np.ndarray:
    """Capacities s·Λ for the largest s with W(s) ≥ s·B.

    `spread`: (m,) by how much Σρ is below Σ −log(1−ρ); without it, as if all rates were the largest.
    """

    def capacities(scale: float) -> np.ndarray:
        # no rate exceeds B/Σw, which is at most 1/s wherever the answer may lie
        least = count_of_hazard(hazards, largest_rate=1 / scale)
        return scale * (least if spread is None else np.maximum(least, hazards * spread))

    def spare(log_scale: float) -> float:
        """log W(s)/(s·B): at least 0 where the capacities are allowed; falls with s."""
        scale = float(np.exp(log_scale))
        return float(np.log(max(solve(capacities(scale)).sum(), 1e-300) / (scale * batch)))

    least, top = float(np.log(_LEAST_SCALE)), float(np.log(max(most, 1e-300) / batch))
    at_least = spare(least)
    if at_least < 0:
        works = int(batch * np.exp(at_least))
        raise InputError(
            "train.batch",
            f"no weights certify an expected batch of {batch} at σ = {noise_multiplier:g}",
            f"set it to {works} or less, or allow more noise"
            if works
            else "allow more noise: no batch works at this one",
        )
    if spare(top) >= 0:
        return capacities(most / batch)
    root = float(brentq(spare, least, top, xtol=_PRECISION))
    while root > least and spare(root) < 0:
        root = max(root - _PRECISION, least)
    return capacities(float(np.exp(root)))


def _counts_by_hazard(edges: pl.DataFrame, rates: np.ndarray, m: int) -> np.ndarray:
    """Σρ / Σ −log(1−ρ) by secret, shape (m,); 1 where a secret takes no part."""
    example, secret = edges["example_id"].to_numpy(), edges["secret_id"].to_numpy()
    counts = np.bincount(secret, rates[example], m)
    with np.errstate(divide="ignore"):
        hazards = np.bincount(secret, -np.log1p(-rates[example]), m)
    return np.divide(counts, hazards, out=np.ones(m), where=hazards > 0)
