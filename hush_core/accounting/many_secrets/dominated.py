"""Lower bounds for secrets that inherit: binomials that a secret's Poisson-binomial dominates.

The step of `dominance.py` backwards: moving hazard between two examples so that they become less equal lowers the
count in stochastic order. For H ≤ Σ h_i and whole k ≤ H/max h_i, k examples of hazard H/k are where such moves end
(no h_i is above H/k, so no j of them have more than jH/k together). Hence

    Binomial(k, 1 − e^{−H/k})  ≤_st  Σ_i Bern(ρ_i),

and what a test of that binomial's pair reaches, the tight bound of the secret's own pair is not below
(docs/mathematics.md §4, Proposition 7). H and k are rounded down on grids, so that few binomials serve all.
"""

import numpy as np

from hush_core.accounting.bounds import BoundMethod, PosteriorCurve
from hush_core.accounting.many_secrets.dominance import ROUND_OFF, binomials, on_grid, on_grid_of_priors
from hush_core.accounting.many_secrets.each_curve import curves_of_groups
from hush_core.accounting.participation import Participation
from hush_core.accounting.runs import Run
from hush_core.progress import Progress

_MOST = 1 << 20
"""As good as a Poisson where the rates are small."""


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
    known = hazard[some] * (1 - ROUND_OFF)
    total = np.minimum(on_grid(known, ratio, np.floor), known)
    # rounding H down to less than the largest hazard leaves one example with all of it
    with np.errstate(divide="ignore"):
        most = np.maximum(total / -np.log1p(-largest_rate[some]) * (1 - ROUND_OFF), 1.0)
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
    groups = [
        (members, [Run(Participation.binomial(count, rate), noise_multiplier, rounds)])
        for count, rate, members in binomials(*dominated_binomials(hazard, largest_rate, ratio))
    ]
    how = {"method": method, "lower": True, "stage": "lower bounds", "progress": progress}
    for members, curve in curves_of_groups(groups, priors, **how):
        if isinstance(curve, PosteriorCurve):
            # doing nothing is a test too
            found[members] = np.maximum(curve.lower, prior[members])
    return found
