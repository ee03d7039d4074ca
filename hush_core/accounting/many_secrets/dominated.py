"""Lower bounds for secrets that inherit: binomials that a secret's Poisson-binomial dominates.

The step of `dominance.py` backwards: moving hazard between two examples so that they become less equal lowers the
count in stochastic order. For H ≤ Σ h_i and whole k ≤ H/max h_i, k examples of hazard H/k are where such moves end
(no h_i is above H/k, so no j of them have more than jH/k together). Hence

    Binomial(k, 1 − e^{−H/k})  ≤_st  Σ_i Bern(ρ_i),

and what a test of that binomial's pair reaches, the tight bound of the secret's own pair is not below
(docs/guarantee.md §4, Proposition 7). H and k are rounded down on grids, so that few binomials serve all.
"""

from __future__ import annotations

import numpy as np

from hush_core.accounting.bounds import BoundMethod
from hush_core.accounting.many_secrets.dominance import binomials, on_grid_of_priors
from hush_core.accounting.many_secrets.each_curve import Asked, each_curve
from hush_core.accounting.participation import Participation
from hush_core.errors import CertificationError
from hush_core.progress import Progress

_MOST = 1 << 20
"""As good as a Poisson where the rates are small."""
_ROUND_OFF = 1e-9
"""Relative: the sum of hazards is this good."""


def dominated_binomials(
    hazard: np.ndarray, largest_rate: np.ndarray, ratio: float
) -> tuple[np.ndarray, np.ndarray]:
    """(k, ρ) of a binomial that each profile dominates; k = 0 where every rate is 0, or H infinite.

    Args:
        hazard, largest_rate: (n,) Σ −log(1−ρ) and max ρ, or the least and the largest of several profiles'.
        ratio: step of the grid of hazards.
    """
    count, rate = np.zeros(len(hazard), dtype=np.int64), np.zeros(len(hazard))
    some = np.isfinite(hazard) & (hazard > 0)
    known = hazard[some] * (1 - _ROUND_OFF)
    total = np.minimum(np.exp(np.floor(np.log(known) / np.log(ratio)) * np.log(ratio)), known)
    # rounding H down to less than the largest hazard leaves one example with all of it
    with np.errstate(divide="ignore"):
        most = np.maximum(total / -np.log1p(-largest_rate[some]) * (1 - _ROUND_OFF), 1.0)
    count[some] = 1 << np.floor(np.log2(np.minimum(most, _MOST))).astype(np.int64)
    rate[some] = -np.expm1(-total / count[some]) * (1 - 1e-15)
    return count, rate


def lower_bounds(
    hazard: np.ndarray,
    largest_rate: np.ndarray,
    prior: np.ndarray,
    *,
    ratio: float,
    noise_multiplier: float,
    rounds: int,
    method: BoundMethod,
    progress: Progress | None = None,
) -> np.ndarray:
    """(n,) what no proof from the pair of a profile's own rates can go below; NaN where not computed.

    More than some priors are rounded down: the blow-up function does not fall.
    """
    priors, found = on_grid_of_priors(prior, ratio, upwards=False), np.full(len(prior), np.nan)
    groups = list(binomials(*dominated_binomials(hazard, largest_rate, ratio)))
    places = [np.unique(priors[own], return_inverse=True) for *_, own in groups]
    asked = [
        Asked(Participation.binomial(count, rate), at, lower=True)
        for (count, rate, _), (at, _) in zip(groups, places, strict=True)
    ]
    curves = each_curve(asked, noise_multiplier=noise_multiplier, rounds=rounds, method=method)
    for done, ((*_, own), (_, back), curve) in enumerate(zip(groups, places, curves, strict=True)):
        if isinstance(curve, CertificationError):
            continue
        # doing nothing is a test too
        found[own] = np.maximum(curve.lower[back], prior[own])
        if progress:
            progress("lower bounds", done + 1, len(groups))
    return found
