"""Profiles that represent many: binomials that dominate a secret's Poisson-binomial in stochastic order.

Let h_i = −log(1−ρ_i) be the hazard of example i. Moving hazard between two examples so that they become more
equal, at the same sum, keeps P(neither) and raises P(both): the count grows in stochastic order. Hence

    Σ_i Bern(ρ_i)  ≤_st  Binomial(n, 1 − e^{−H/n})   for every n ≥ #examples and H ≥ Σ h_i

(Schur-concavity in the hazards; examples that are never drawn count as hazard 0). Every bound grows with K in
stochastic order (docs/mathematics.md §4), so what is certified for the binomial holds for the secret. With H and
n from a grid, some hundreds of binomials represent any number of secrets.

Lower bounds for secrets that inherit come from the same step backwards: moving hazard between two examples so that
they become less equal lowers the count in stochastic order. For H ≤ Σ h_i and whole k ≤ H/max h_i, k examples of
hazard H/k are where such moves end (no h_i is above H/k, so no j of them have more than jH/k together). Hence

    Binomial(k, 1 − e^{−H/k})  ≤_st  Σ_i Bern(ρ_i),

and what a test of that binomial's pair reaches, the tight bound of the secret's own pair is not below
(docs/mathematics.md §4, Proposition 7). H and k are rounded down on grids, so that few binomials serve all.
"""

from collections.abc import Callable, Iterator

import numpy as np

from hush_core.accounting.bounds import BoundMethod, PosteriorCurve
from hush_core.accounting.many_secrets.each_curve import curves_of_groups
from hush_core.accounting.participation import Participation
from hush_core.accounting.runs import Run
from hush_core.progress import Progress

_MANY = 1 << 20
"""As good as a Poisson where the rates are small, so that profiles of any size meet in one."""
_PRIORS = 64
"""More distinct priors than this are rounded up to the grid, too."""
ROUND_OFF = 1e-9
"""Relative: the sum of hazards is this good."""


def on_grid(values: np.ndarray, ratio: float, rounded: Callable[..., np.ndarray] = np.ceil) -> np.ndarray:
    """The values on a geometric grid of this step; rounded up, or as `rounded` does it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.exp(rounded(np.log(values) / np.log(ratio)) * np.log(ratio))


def next_power_of_two(counts: np.ndarray) -> np.ndarray:
    """The least power of two that is not below each; 1 for 0."""
    return 1 << np.ceil(np.log2(np.maximum(counts, 1))).astype(np.int64)


def rate_of(hazard: np.ndarray, count: np.ndarray | int) -> np.ndarray:
    """The rate at which `count` examples have this hazard together, rounded up."""
    return np.minimum(-np.expm1(-hazard / count) * (1 + 1e-15), 1.0)


def dominating_binomials(
    hazard: np.ndarray, examples: np.ndarray, mean: np.ndarray, ratio: float
) -> tuple[np.ndarray, np.ndarray]:
    """(n, ρ) of a binomial that dominates each profile; n = 0 where none has a mean within ratio² of its own.

    Args:
        hazard, examples, mean: (k,) Σ −log(1−ρ), number of examples, Σρ. ratio: step of the grid of hazards.
    """
    total = on_grid(hazard * (1 + ROUND_OFF), ratio)
    total = np.where(np.isfinite(total) & (total < hazard), hazard * (1 + 2 * ROUND_OFF), total)
    count, rate = np.zeros(len(hazard), dtype=np.int64), np.zeros(len(hazard))
    power_of_two = next_power_of_two(examples)
    # finest first: the last to be near enough is kept
    for n in (power_of_two, np.maximum(power_of_two, _MANY)):
        each = -np.expm1(-total / n)
        near = np.isfinite(total) & (mean > 0) & (n * each <= mean * ratio**2)
        count, rate = np.where(near, n, count), np.where(near, each * (1 + 1e-15), rate)
    return count, np.minimum(rate, 1.0)


def dominating_poisson(hazard: float, examples: int) -> tuple[int, float]:
    """(n, ρ) of a binomial, as good as a Poisson, that dominates all profiles of at most this hazard and size."""
    count = max(_MANY, int(next_power_of_two(np.int64(examples))))
    return count, float(rate_of(np.float64(hazard * (1 + ROUND_OFF)), count))


def crude_binomials(
    examples: np.ndarray, largest_rate: np.ndarray, ratio: float
) -> tuple[np.ndarray, np.ndarray]:
    """(n, ρ) of a binomial with every example at the largest rate, both rounded up: always dominates."""
    raised = on_grid(largest_rate, ratio)
    return next_power_of_two(examples), np.minimum(np.maximum(raised * (1 + 1e-15), largest_rate), 1.0)


def on_grid_of_priors(priors: np.ndarray, ratio: float, *, upwards: bool) -> np.ndarray:
    """Priors on a geometric grid. Upwards: an easier guess, so a bound for it holds for the true prior."""
    if len(np.unique(priors)) <= _PRIORS:
        return priors
    moved = on_grid(priors, ratio, np.ceil if upwards else np.floor)
    return np.where((moved >= priors) & (moved < 1) if upwards else moved <= priors, moved, priors)


def binomials(count: np.ndarray, rate: np.ndarray) -> Iterator[tuple[int, float, np.ndarray]]:
    """(n, ρ, whose it is) of each distinct binomial with n > 0."""
    keys = np.stack([count.astype(np.float64), rate], axis=1)
    distinct, which = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(len(distinct) + 1))
    for place, (n, each) in enumerate(distinct):
        if n:
            yield int(n), float(each), order[ends[place] : ends[place + 1]]


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
    count[some] = 1 << np.floor(np.log2(np.minimum(most, _MANY))).astype(np.int64)
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
