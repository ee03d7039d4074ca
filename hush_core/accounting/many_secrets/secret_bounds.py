"""Every secret's bound at one noise multiplier, for any number of secrets.

Coarse dominating profiles first, finer ones for those that miss their target, their own rates for those that
still do: each row says which profile its bound was computed for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.accounting.bounds import BoundMethod
from hush_core.accounting.many_secrets.dominance import inherited_bounds
from hush_core.accounting.many_secrets.dominated import lower_bounds
from hush_core.accounting.many_secrets.each_curve import Asked, each_curve
from hush_core.accounting.many_secrets.profiles import Profiles, group_profiles
from hush_core.accounting.participation import Participation
from hush_core.accounting.runs import check_mechanism
from hush_core.errors import CertificationError
from hush_core.progress import Progress

OWN = 256
"""Up to so many profiles, every one gets a bound of its own."""
_GRID, _COARSER, _FINER = 1.005, 1.02, 1.001
"""Steps of the grids of dominating profiles: for all; where rates are so large that the first has none near by; for
those that miss their target."""
_LOWER = 1.01
"""Step of the grid of dominated profiles, for lower bounds of secrets that inherit."""
_FAR = 4.0
"""A bound that is so many times the target would still be above it by the finer grid."""
_HOPELESS = 1.1
"""A bound by the finest grid that is this much above the target would still be above it by the own rates."""
_MOST_OWN = 1024
"""Own bounds for so many profiles, at most, of those that the grids leave above their target."""


@dataclass(eq=False)
class Rows:
    """Bounds under construction, by profile; `dominating_*` are 0 where a bound is by the profile's own rates."""

    bound: np.ndarray
    method: np.ndarray
    numerical_error: np.ndarray
    lower: np.ndarray
    dominating_examples: np.ndarray
    dominating_rate: np.ndarray
    dominating_prior: np.ndarray

    @classmethod
    def empty(cls, size: int) -> Rows:
        zeros = [np.zeros(size) for _ in range(4)]
        names = np.full(size, "", dtype=object)
        return cls(np.full(size, np.inf), names, zeros[0], np.full(size, np.nan), *zeros[1:])


def bound_secrets(
    edges: pl.DataFrame,
    rates: np.ndarray,
    secrets: pl.DataFrame,
    *,
    noise_multiplier: float,
    rounds: int,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> pl.DataFrame:
    """The bound of every secret at a given σ, whether or not it meets the target.

    Returns: secret_id · examples (edges with a positive rate) · expected_participation (Σρ) · prior ·
        posterior (the target) · bound · method · numerical_error · lower (least for proofs from the pair alone, by
        the own rates or by a binomial that they dominate; null where not computed) · dominating_examples ·
        dominating_rate · dominating_prior (the binomial whose bound the secret inherits; null where the bound is by
        its own rates) · noise_needed (null here), by secret_id.

    Raises:
        InputError: names the secret and the value. CertificationError: no method certifies a secret.
    """
    check_mechanism(noise_multiplier=noise_multiplier, rounds=rounds)
    profiles = group_profiles(edges, rates, secrets)
    rows = bound_profiles(
        profiles, noise_multiplier=noise_multiplier, rounds=rounds, method=method, progress=progress
    )
    return table(profiles, rows, secrets)


def bound_profiles(
    profiles: Profiles,
    *,
    noise_multiplier: float,
    rounds: int,
    method: BoundMethod,
    progress: Progress | None = None,
) -> Rows:
    """`bound_secrets`, by profile."""
    mechanism = {"noise_multiplier": noise_multiplier, "rounds": rounds, "method": method}
    rows = Rows.empty(len(profiles))
    left = np.arange(len(profiles))
    if len(profiles) > OWN:
        far = inherit(profiles, left, rows, ratio=_GRID, progress=progress, **mechanism)
        inherit(profiles, far, rows, ratio=_COARSER, progress=progress, **mechanism)
        ratios = rows.bound / profiles.posterior
        left = left[(ratios > 1) & ((ratios <= _FAR) | np.isinf(ratios))]
        alone = inherit(profiles, left, rows, ratio=_FINER, progress=progress, **mechanism)
        left = left[rows.bound[left] > profiles.posterior[left]]
        # without a dominating profile near by on the finest grid, a coarser one's bound says little
        alone = np.intersect1d(alone, left)
        near = np.setdiff1d(left, alone)
        near = near[rows.bound[near] / profiles.posterior[near] <= _HOPELESS]
        near = near[np.argsort(rows.bound[near] / profiles.posterior[near])[:_MOST_OWN]]
        left = np.concatenate([alone, near])
    own_bounds(profiles, left, rows, progress=progress, **mechanism)
    inherited = np.flatnonzero(rows.dominating_examples)
    if method in ("best", "blow_up"):
        rows.lower[inherited] = lower_bounds(
            profiles.hazard[inherited], profiles.largest_rate[inherited], profiles.prior[inherited],
            ratio=_LOWER, progress=progress, **mechanism,
        )  # fmt: skip
    return rows


def inherit(
    profiles: Profiles, which: np.ndarray, rows: Rows, *, ratio: float, progress: Progress | None, **mechanism
) -> np.ndarray:
    """Fill in what dominating binomials on a grid of step `ratio` prove, where that is better.

    Returns: those of `which` that this grid gives none: no binomial near, or one that is refused.
    """
    if not len(which):
        return which
    found = inherited_bounds(
        profiles.hazard[which], profiles.examples[which], profiles.mean[which], profiles.prior[which],
        ratio=ratio, progress=progress, **mechanism,
    )  # fmt: skip
    better = found.bound < rows.bound[which]
    place = which[better]
    rows.bound[place], rows.method[place] = found.bound[better], found.method[better]
    rows.numerical_error[place] = found.numerical_error[better]
    rows.dominating_examples[place] = found.examples[better]
    rows.dominating_rate[place], rows.dominating_prior[place] = found.rate[better], found.prior[better]
    return which[np.isinf(found.bound)]


def own_bounds(
    profiles: Profiles,
    which: np.ndarray,
    rows: Rows,
    *,
    refusable: bool = False,
    progress: Progress | None = None,
    **mechanism,
) -> None:
    """Fill in bounds by the profiles' own rates; those that differ in the prior only share one computation.

    Raises:
        CertificationError: names a secret of the profile that is refused; with `refusable` it is passed over.
    """
    groups: dict[bytes, list[int]] = {}
    for i in which:
        groups.setdefault(profiles.own_rates(i).tobytes(), []).append(int(i))
    asked = [
        Asked(Participation.from_rates(np.frombuffer(key)), profiles.prior[own], lower=True)
        for key, own in groups.items()
    ]
    curves = each_curve(asked, **mechanism)
    for done, (own, curve) in enumerate(zip(groups.values(), curves, strict=True)):
        if isinstance(curve, CertificationError):
            if refusable:
                continue
            raise CertificationError(f"{profiles.label(own[0])}: {curve}") from None
        rows.bound[own], rows.method[own], rows.lower[own] = curve.values, curve.methods, curve.lower
        rows.numerical_error[own] = curve.numerical_errors
        rows.dominating_examples[own] = 0
        if progress:
            progress("certifying", done + 1, len(groups))


def table(
    profiles: Profiles, rows: Rows, secrets: pl.DataFrame, noise_needed: np.ndarray | None = None
) -> pl.DataFrame:
    """One row a secret; `noise_needed`: (secrets,), NaN where it was not computed."""
    of = profiles.of_secret
    inherited = rows.dominating_examples[of] > 0
    needed = np.full(len(of), np.nan) if noise_needed is None else noise_needed

    def where_inherited(values: np.ndarray, dtype: type[pl.DataType]) -> pl.Series:
        return pl.Series(np.where(inherited, values[of], np.nan), nan_to_null=True).cast(dtype)

    return pl.DataFrame(
        {
            "secret_id": secrets["secret_id"],
            "examples": profiles.examples[of].astype(np.uint32),
            "expected_participation": profiles.mean[of].astype(np.float64),
            "prior": secrets["prior"],
            "posterior": secrets["posterior"],
            "bound": rows.bound[of],
            "method": pl.Series(rows.method[of].astype(str), dtype=pl.String),
            "numerical_error": rows.numerical_error[of],
            "lower": pl.Series(rows.lower[of], nan_to_null=True),
            "dominating_examples": where_inherited(rows.dominating_examples, pl.UInt32),
            "dominating_rate": where_inherited(rows.dominating_rate, pl.Float64),
            "dominating_prior": where_inherited(rows.dominating_prior, pl.Float64),
            "noise_needed": pl.Series(needed, nan_to_null=True),
        }
    )
