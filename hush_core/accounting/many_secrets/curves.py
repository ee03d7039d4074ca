"""The whole curve: every secret's bound as a function of the prior, for adversaries who go for an easier part.

A secret's prior p is that of guessing all of it. Someone who wants a part only (a key's region, one member of a
team) starts from a larger prior; what the releases add is read from the same mechanism at that prior.
"""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import polars as pl

from hush_core.accounting.bounds import BoundMethod
from hush_core.accounting.many_secrets.dominance import crude_binomials, dominating_binomials, lower_bounds
from hush_core.accounting.many_secrets.each_curve import each_curve
from hush_core.accounting.many_secrets.profiles import Profiles, group_profiles
from hush_core.accounting.participation import Participation
from hush_core.accounting.runs import Run, check_mechanism
from hush_core.errors import CertificationError
from hush_core.progress import Progress

MOST_CURVES = 128
"""Up to so many different sets of rates get a curve of their own; more share those of dominating profiles."""
_LOWER = 1.001
"""Step of the grid of hazards of dominated profiles."""
_TABLE = {
    "curve": pl.UInt32, "examples": pl.UInt32, "rate": pl.Float64, "prior": pl.Float64, "bound": pl.Float64,
    "method": pl.String, "numerical_error": pl.Float64, "lower": pl.Float64,
}  # fmt: skip
_RATIOS = (1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0, 16.0)


@dataclass(frozen=True, eq=False)
class Curves:
    """`table`: curve · examples · rate (the binomial that the curve is of; null where it is of the secrets' own
    rates) · prior · bound · method · numerical_error · lower. `of_secret`: (secrets,) each secret's curve."""

    table: pl.DataFrame
    of_secret: np.ndarray


def posterior_curves(
    edges: pl.DataFrame,
    rates: np.ndarray,
    secrets: pl.DataFrame,
    *,
    noise_multiplier: float,
    rounds: int,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> Curves:
    """A certified curve for every secret, from the least prior of all to 1/2.

    Arguments and guarantee as of `bound_secrets`. Between two priors the bound at the larger one holds.

    Raises:
        InputError: names the secret and the value. CertificationError: no method certifies a profile.
    """
    check_mechanism(noise_multiplier=noise_multiplier, rounds=rounds)
    profiles = group_profiles(edges, rates, secrets)
    if not len(profiles):  # no secret
        return Curves(pl.DataFrame(schema=_TABLE), np.empty(0, np.int64))
    priors = curve_priors(float(profiles.prior.min()))
    shapes, of_profile = _shapes(profiles)
    own = shapes is None
    firsts = np.unique(of_profile, return_index=True)[1].tolist()
    laws = (
        map(profiles.participation, firsts) if own else [Participation.binomial(*shape) for shape in shapes]
    )
    curves = each_curve(
        [([Run(law, noise_multiplier, rounds)], priors) for law in laws],
        method=method, lower=own, stage="curves", progress=progress,
    )  # fmt: skip
    frames = []
    for number, curve in enumerate(curves):
        members = of_profile == number
        if isinstance(curve, CertificationError):
            raise CertificationError(f"{profiles.label(firsts[number])}: {curve}") from None
        lower = curve.lower
        if not own and method in ("best", "blow_up"):
            # a dominating binomial's says nothing: that of one which all members dominate
            hazard, largest = profiles.hazard[members].min(), profiles.largest_rate[members].max()
            lower = lower_bounds(
                np.full(len(priors), hazard), np.full(len(priors), largest), priors, ratio=_LOWER,
                noise_multiplier=noise_multiplier, rounds=rounds, method=method,
            )  # fmt: skip
        examples, rate = (None, None) if own else shapes[number]
        frames.append(
            pl.DataFrame(
                {
                    "curve": [number] * len(priors), "examples": [examples] * len(priors),
                    "rate": [rate] * len(priors), "prior": priors, "bound": curve.values,
                    "method": curve.methods.astype(str), "numerical_error": curve.numerical_errors,
                    "lower": pl.Series(lower, nan_to_null=True),
                },
                schema=_TABLE,
            )
        )  # fmt: skip
    return Curves(pl.concat(frames), of_profile[profiles.of_secret])


def curve_priors(least: float) -> np.ndarray:
    """Half decades from `least` (rounded down) up to 1/2, and 1/2; `least` itself where it is larger."""
    first = int(np.floor(2 * np.log10(least) + 1e-9))
    # not numpy's power, whose last digit depends on the processor
    grid = np.array([float(Decimal(10) ** (Decimal(half) / 2)) for half in range(first, 0)])
    grid = np.append(grid[grid < 0.5], 0.5)
    grid[0] = min(grid[0], least)  # rounding may put the half decade a hair above
    return np.append(grid, least) if least > 0.5 else grid


def _shapes(profiles: Profiles) -> tuple[list[tuple[int, float]] | None, np.ndarray]:
    """((n, ρ) of the dominating binomials to draw curves of, each profile's place); None: curves of own rates."""
    equal = profiles.equal(np.arange(len(profiles)))
    if len(equal) <= MOST_CURVES:
        places = np.repeat(np.arange(len(equal)), [len(each) for each in equal])
        return None, places[np.argsort(np.concatenate(equal))]
    sampled = profiles.mean > 0
    for ratio in _RATIOS:
        count, rate = dominating_binomials(profiles.hazard, profiles.examples, profiles.mean, ratio)
        # where nothing is near, every example at the largest rate still dominates
        crude_count, crude_rate = crude_binomials(profiles.examples, profiles.largest_rate, ratio)
        count, rate = np.where(count > 0, count, crude_count), np.where(count > 0, rate, crude_rate)
        count, rate = np.where(sampled, count, 0), np.where(sampled, rate, 0.0)
        distinct, which = np.unique(np.stack([count, rate], axis=1), axis=0, return_inverse=True)
        if len(distinct) <= MOST_CURVES:
            break
    return [(int(n), float(each)) for n, each in distinct], which
