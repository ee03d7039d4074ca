"""Profiles that stand for many: binomials that dominate a secret's Poisson-binomial in stochastic order.

Let h_i = −log(1−ρ_i) be the hazard of example i. Moving hazard between two examples so that they become more
equal, at the same sum, keeps P(neither) and raises P(both): the count grows in stochastic order. Hence

    Σ_i Bern(ρ_i)  ≤_st  Binomial(n, 1 − e^{−H/n})   for every n ≥ #examples and H ≥ Σ h_i

(Schur-concavity in the hazards; examples that are never drawn count as hazard 0). Every bound grows with K in
stochastic order (docs/guarantee.md §4), so what is certified for the binomial holds for the secret. With H and
n from a grid, some hundreds of binomials stand for any number of secrets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hush_core.accounting.bounds import BoundMethod
from hush_core.accounting.many_secrets.each_curve import Asked, each_curve
from hush_core.accounting.participation import Participation
from hush_core.errors import CertificationError
from hush_core.progress import Progress

_MANY = 1 << 20
"""As good as a Poisson where the rates are small, so that profiles of any size meet in one."""
_PRIORS = 64
"""More distinct priors than this are rounded up to the grid, too."""
_ROUND_OFF = 1e-9
"""Relative: the sum of hazards is this good."""


@dataclass(frozen=True, eq=False)
class Inherited:
    """What dominating binomials prove, by profile; bound = inf and examples = 0 where none is near.

    `posterior_bound(Participation.binomial(examples, rate), prior=prior, …)` gives `bound` again.
    """

    examples: np.ndarray
    rate: np.ndarray
    prior: np.ndarray
    bound: np.ndarray
    method: np.ndarray
    numerical_error: np.ndarray


def dominating_binomials(
    hazard: np.ndarray, examples: np.ndarray, mean: np.ndarray, ratio: float
) -> tuple[np.ndarray, np.ndarray]:
    """(n, ρ) of a binomial that dominates each profile; n = 0 where none has a mean within ratio² of its own.

    Args:
        hazard, examples, mean: (k,) Σ −log(1−ρ), number of examples, Σρ. ratio: step of the grid of hazards.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.ceil(np.log(hazard * (1 + _ROUND_OFF)) / np.log(ratio))
        total = np.exp(steps * np.log(ratio))
    total = np.where(np.isfinite(total) & (total < hazard), hazard * (1 + 2 * _ROUND_OFF), total)
    count, rate = np.zeros(len(hazard), dtype=np.int64), np.zeros(len(hazard))
    power_of_two = 1 << np.ceil(np.log2(np.maximum(examples, 1))).astype(np.int64)
    # finest first: the last to be near enough is kept
    for n in (power_of_two, np.maximum(power_of_two, _MANY)):
        each = -np.expm1(-total / n)
        near = np.isfinite(total) & (mean > 0) & (n * each <= mean * ratio**2)
        count, rate = np.where(near, n, count), np.where(near, each * (1 + 1e-15), rate)
    return count, np.minimum(rate, 1.0)


def dominating_poisson(hazard: float, examples: int) -> tuple[int, float]:
    """(n, ρ) of a binomial, as good as a Poisson, that dominates all profiles of at most this hazard and size."""
    count = max(_MANY, 1 << int(np.ceil(np.log2(max(examples, 1)))))
    return count, min(float(-np.expm1(-hazard * (1 + _ROUND_OFF) / count)) * (1 + 1e-15), 1.0)


def crude_binomials(
    examples: np.ndarray, largest_rate: np.ndarray, ratio: float
) -> tuple[np.ndarray, np.ndarray]:
    """(n, ρ) of a binomial with every example at the largest rate, both rounded up: always dominates."""
    count = 1 << np.ceil(np.log2(np.maximum(examples, 1))).astype(np.int64)
    with np.errstate(divide="ignore"):
        raised = np.exp(np.ceil(np.log(largest_rate) / np.log(ratio)) * np.log(ratio))
    return count, np.minimum(np.maximum(raised * (1 + 1e-15), largest_rate), 1.0)


def on_grid_of_priors(priors: np.ndarray, ratio: float, *, upwards: bool) -> np.ndarray:
    """Priors on a geometric grid. Upwards: an easier guess, so a bound for it holds for the true prior."""
    if len(np.unique(priors)) <= _PRIORS:
        return priors
    steps = np.log(priors) / np.log(ratio)
    moved = np.exp((np.ceil(steps) if upwards else np.floor(steps)) * np.log(ratio))
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


def inherited_bounds(
    hazard: np.ndarray,
    examples: np.ndarray,
    mean: np.ndarray,
    prior: np.ndarray,
    *,
    ratio: float,
    noise_multiplier: float,
    rounds: int,
    method: BoundMethod,
    progress: Progress | None = None,
) -> Inherited:
    """Bounds for many profiles from few binomials that dominate them, each at most a little looser.

    A binomial that the method cannot certify gives its profiles no bound (inf); they are left to their own.
    """
    count, rate = dominating_binomials(hazard, examples, mean, ratio)
    priors = on_grid_of_priors(prior, ratio, upwards=True)
    bound, error = np.full(len(prior), np.inf), np.zeros(len(prior))
    methods = np.full(len(prior), "", dtype=object)
    groups = list(binomials(count, rate))
    places = [np.unique(priors[own], return_inverse=True) for *_, own in groups]
    asked = [
        Asked(Participation.binomial(n, each), at)
        for (n, each, _), (at, _) in zip(groups, places, strict=True)
    ]
    curves = each_curve(asked, noise_multiplier=noise_multiplier, rounds=rounds, method=method)
    for done, ((*_, own), (_, back), curve) in enumerate(zip(groups, places, curves, strict=True)):
        if isinstance(curve, CertificationError):
            continue
        bound[own], methods[own] = curve.values[back], curve.methods[back]
        error[own] = curve.numerical_errors[back]
        if progress:
            progress("dominating profiles", done + 1, len(groups))
    return Inherited(count, rate, priors, bound, methods, error)
