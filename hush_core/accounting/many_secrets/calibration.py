"""One noise multiplier for all secrets, and a certificate for each at that very number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.accounting.bounds import BoundMethod
from hush_core.accounting.many_secrets.profiles import Profiles, group_profiles
from hush_core.accounting.many_secrets.secret_bounds import (
    OWN,
    Rows,
    bound_profiles,
    inherit,
    own_bounds,
    table,
)
from hush_core.accounting.noise_search import PRECISION, falling_root, gaussian_noise, smallest_noise
from hush_core.accounting.runs import check_mechanism
from hush_core.errors import CertificationError, InputError
from hush_core.progress import Progress

_SEARCHES = 4
"""So many profiles are searched for their own smallest noise before dominating ones settle σ."""
_FEW = 16
"""A plan searches by dominating profiles where there are more than this."""
_LEVELS = (1.2, 1.02, 1.001)
"""Steps of the grids of dominating profiles for the search: most secrets are far from their target."""
_COARSE = 2e-4
"""Relative precision of σ where dominating profiles settle it."""
_STEP = 3e-3
"""First step up from the largest noise searched for; dominating profiles ask for little more."""
_PASSES = 50


@dataclass(frozen=True)
class Calibration:
    """`noise_multiplier`: σ for all secrets. `least`: no smaller σ is certified by this method (the largest
    `noise_needed`, less its precision). `table`: one certified row a secret, see `bound_secrets`."""

    noise_multiplier: float
    least: float
    table: pl.DataFrame


def calibrate(
    edges: pl.DataFrame,
    rates: np.ndarray,
    secrets: pl.DataFrame,
    *,
    rounds: int,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> Calibration:
    """The smallest σ for which every secret's bound is at most its target, and every secret's row at that σ.

    Args:
        edges: example_id, secret_id. rates: (n,) ρ_i by example_id. secrets: secret_id, prior, posterior,
        name.

    The profile that misses its target by most at the current σ is searched for its own smallest noise, until
    none misses. One that a dominating profile certifies cannot be the maximum. Where very many secrets need
    nearly the same σ, it ends some tenths of a percent above `least`; with up to OWN profiles it is `least` to
    PRECISION.

    Raises:
        InputError: names the secret; also where no secret has an example. CertificationError: none is
        certified.
    """
    profiles = _profiles(edges, rates, secrets, rounds)
    search = _search_own if len(profiles) <= OWN else _search_by_dominance
    sigma, needed = search(profiles, rounds, method, progress)
    mechanism = {"rounds": rounds, "method": method}
    for _ in range(_PASSES):
        rows = bound_profiles(profiles, noise_multiplier=sigma, progress=progress, **mechanism)
        if np.all(rows.bound <= profiles.posterior):
            break
        # a bound on its grid may come out a hair above that of the search
        sigma *= 1 + PRECISION
    else:
        raise CertificationError("secrets miss their target at the calibrated noise")
    column = needed[profiles.of_secret]
    # a profile's need is that of its most demanding secret
    column[secrets["posterior"].to_numpy() != profiles.posterior[profiles.of_secret]] = np.nan
    least = float(np.nanmax(needed)) * (1 - 2 * PRECISION)
    return Calibration(sigma, least, table(profiles, rows, secrets, column))


def noise_for_all(
    edges: pl.DataFrame,
    rates: np.ndarray,
    secrets: pl.DataFrame,
    *,
    rounds: int,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> float:
    """A σ at which every secret's bound is at most its target, without the table: for plans, several times faster.

    Arguments and errors as of `calibrate`. The answer was certified for every secret in the search, and lies at
    most some tenths of a percent above the smallest such σ.
    """
    profiles = _profiles(edges, rates, secrets, rounds)
    search = _search_own if len(profiles) <= _FEW else _search_by_dominance
    return search(profiles, rounds, method, progress)[0]


def _profiles(edges: pl.DataFrame, rates: np.ndarray, secrets: pl.DataFrame, rounds: int) -> Profiles:
    check_mechanism(noise_multiplier=1.0, rounds=rounds)
    profiles = group_profiles(edges, rates, secrets)
    if not profiles.mean.any():
        raise InputError(
            "the graph", "no secret has an example with a weight above 0", "nothing needs protection"
        )
    return profiles


def _search_own(
    profiles: Profiles, rounds: int, method: BoundMethod, progress: Progress | None
) -> tuple[float, np.ndarray]:
    """(σ, by profile: its own smallest noise, NaN where it was not searched for)."""
    needed, left, worst = _begin(profiles, rounds)
    sigma, mechanism = 0.0, {"rounds": rounds, "method": method}
    while True:
        needed[worst] = _need(profiles, worst, rounds, method)
        sigma = max(sigma, float(needed[worst]))
        rows = Rows.empty(len(profiles))
        left = left[left != worst]
        own_bounds(profiles, left, rows, refusable=True, noise_multiplier=sigma, **mechanism)
        left = left[rows.bound[left] > profiles.posterior[left]]
        if progress:
            progress("calibrating", len(profiles) - len(left), len(profiles))
        if not len(left):
            return sigma, needed
        worst = int(left[(rows.bound[left] / profiles.posterior[left]).argmax()])


def _search_by_dominance(
    profiles: Profiles, rounds: int, method: BoundMethod, progress: Progress | None
) -> tuple[float, np.ndarray]:
    """The same, for very many: the smallest σ at which dominating profiles certify all but those searched for."""
    needed, left, worst = _begin(profiles, rounds)
    missing: dict[float, tuple[np.ndarray, np.ndarray]] = {}

    def missing_at(sigma: float) -> tuple[np.ndarray, np.ndarray]:
        """(what σ does not certify yet, the worst first; bound/target). What a smaller σ certifies, a larger one
        does; what was searched for by itself needs no dominating profile."""
        if sigma not in missing:
            smaller = [s for s in missing if s <= sigma]
            among = missing[max(smaller)][0] if smaller else left
            missing[sigma] = _missing(profiles, among[np.isnan(needed[among])], sigma, rounds, method)
            if progress:
                progress("calibrating", len(profiles) - len(missing[sigma][0]), len(profiles))
        found, ratios = missing[sigma]
        still = np.isnan(needed[found])
        return found[still], ratios[still]

    def calibration_gap(log_sigma: float) -> float:
        ratios = missing_at(float(np.exp(log_sigma)))[1]
        return float(np.log(ratios[0])) if len(ratios) else 0.0

    for _ in range(_SEARCHES):
        needed[worst] = _need(profiles, worst, rounds, method)
        start = float(np.nanmax(needed))
        found, _ = missing_at(start)
        if not len(found):
            return start, needed
        worst = int(found[0])
    return float(np.exp(falling_root(calibration_gap, float(np.log(start)), _COARSE, step=_STEP))), needed


def _begin(profiles: Profiles, rounds: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(smallest noises known so far, the profiles that need some, the one that seems to need most)."""
    needed = np.where(profiles.mean == 0, 0.0, np.nan)
    left = np.flatnonzero(profiles.mean > 0)
    guess = gaussian_noise(profiles.mean[left], rounds, profiles.prior[left], profiles.posterior[left])
    return needed, left, int(left[guess.argmax()])


def _missing(
    profiles: Profiles, left: np.ndarray, sigma: float, rounds: int, method: BoundMethod
) -> tuple[np.ndarray, np.ndarray]:
    """(those of `left` that σ does not certify yet, the worst first; their bound/target)."""
    mechanism = {"noise_multiplier": sigma, "rounds": rounds, "method": method}
    rows = Rows.empty(len(profiles))
    for ratio in _LEVELS:
        alone = inherit(profiles, left, rows, ratio=ratio, progress=None, **mechanism)
        left = left[rows.bound[left] > profiles.posterior[left]]
    # without a dominating profile near by, only its own rates can tell
    alone = np.intersect1d(alone, left)
    alone = alone[np.argsort(-rows.bound[alone] / profiles.posterior[alone], kind="stable")[:OWN]]
    own_bounds(profiles, alone, rows, refusable=True, **mechanism)
    ratios = rows.bound[left] / profiles.posterior[left]
    order = np.argsort(-ratios)[: int((ratios > 1).sum())]
    return left[order], ratios[order]


def _need(profiles: Profiles, profile: int, rounds: int, method: BoundMethod) -> float:
    target = {"prior": float(profiles.prior[profile]), "posterior": float(profiles.posterior[profile])}
    try:
        return smallest_noise(profiles.participation(profile), rounds=rounds, method=method, **target)
    except CertificationError as error:
        raise CertificationError(f"{profiles.label(profile)}: {error}") from None
