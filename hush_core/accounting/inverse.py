"""The inverse question, for planning: at a given noise, how much may a secret take part at all?"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import ndtri

from hush_core.accounting.bounds import BoundMethod, curve_of_runs
from hush_core.accounting.participation import Participation
from hush_core.accounting.runs import Run, check_mechanism
from hush_core.errors import CertificationError, InputError

PRECISION = 1e-3
"""Relative step of the grid of hazards; the answer errs downwards by at most this."""
_LEAST, _MOST = 1e-9, 1e6
"""Range of the grid."""
_FEW = 64
"""So many pairs are searched one by one; more share the computations of one grid."""
_STEP = 0.2
_REFUSED = 50.0
_EXAMPLES = 1 << 20
"""Secrets with up to this many examples are covered."""


def largest_expected_count(
    priors: ArrayLike,
    targets: ArrayLike,
    *,
    noise_multiplier: float,
    rounds: int,
    largest_rate: float,
    method: BoundMethod = "best",
) -> np.ndarray | float:
    """The largest Σρ that a secret may have, by prior and target, if no rate exceeds `largest_rate`.

    Args:
        priors, targets: p and r, broadcast against each other. noise_multiplier: σ. rounds: T.
        largest_rate: an upper limit on every ρ_i, below 1; the smaller, the larger the answer.

    Returns:
        Λ, of their shape: every secret of at most 2^20 examples with Σρ ≤ Λ and ρ ≤ `largest_rate` has a
        certified bound of at most r at σ. 0 where no such count was found.

    Guarantee: evaluated for a binomial that dominates all such secrets (dominance.py): −log(1−ρ) ≤ ρ·s with
    s = −log(1−largest_rate)/largest_rate, so their hazards sum to at most Λ·s.

    Raises:
        InputError: names the first pair that is not 0 < p < r < 1.
    """
    hazards = largest_hazard(priors, targets, noise_multiplier=noise_multiplier, rounds=rounds, method=method)
    return count_of_hazard(hazards, largest_rate=largest_rate)


def count_of_hazard(hazards: np.ndarray | float, *, largest_rate: float) -> np.ndarray | float:
    """The Σρ that keeps Σ −log(1−ρ) within `hazards` where no rate exceeds `largest_rate`."""
    if not 0 < largest_rate < 1:
        raise InputError("largest_rate", f"{largest_rate!r} is not between 0 and 1", "give a rate below 1")
    return hazards * (largest_rate / -np.log1p(-largest_rate))


def largest_hazard(
    priors: ArrayLike,
    targets: ArrayLike,
    *,
    noise_multiplier: float,
    rounds: int,
    method: BoundMethod = "best",
) -> np.ndarray | float:
    """The largest Σ −log(1−ρ) that a secret may have, by prior and target; see `largest_expected_count`."""
    check_mechanism(noise_multiplier=noise_multiplier, rounds=rounds)
    p, r = np.broadcast_arrays(np.asarray(priors, np.float64), np.asarray(targets, np.float64))
    wrong = np.flatnonzero(~((p > 0) & (p < r) & (r < 1)).ravel())
    if len(wrong):
        i = int(wrong[0])
        raise InputError(
            f"target {i}", f"prior {p.ravel()[i]!r} and target {r.ravel()[i]!r} are not 0 < prior < target < 1",
            "raise the target, or lower the prior by declaring more bits",
        )  # fmt: skip
    pairs, back = np.unique(np.stack([p.ravel(), r.ravel()], axis=1), axis=0, return_inverse=True)
    mechanism = {"noise_multiplier": noise_multiplier, "rounds": rounds, "method": method}
    if len(pairs) <= _FEW:
        hazards = np.array([_largest_hazard(prior, target, mechanism) for prior, target in pairs.tolist()])
    else:
        hazards = _largest_hazards(pairs, mechanism)
    result = hazards[back].reshape(p.shape)
    return float(result) if result.ndim == 0 else result


def _largest_hazard(prior: float, target: float, mechanism: dict) -> float:
    """The same for one pair, from the Gaussian limit's guess; not on the grid."""

    def calibration_gap(log_hazard: float) -> float:
        """log bound/target: at most 0 where it is allowed; grows."""
        bound = float(_bounds(float(np.exp(log_hazard)), np.array([prior]), mechanism)[0])
        ratio = float(np.log(bound / target))
        # the comparison that counts is that of the numbers themselves
        return min(ratio, 0.0) if bound <= target else min(max(ratio, 1e-12), _REFUSED)

    least, most = np.log(_LEAST), np.log(_MOST)
    guess = mechanism["noise_multiplier"] * (ndtri(target) - ndtri(prior)) / mechanism["rounds"] ** 0.5
    low = high = float(np.clip(np.log(guess), least, most))
    step = _STEP
    while calibration_gap(low) > 0:
        if low <= least:
            return 0.0
        low, step = max(low - step, least), 2 * step
    while calibration_gap(high) <= 0:
        if high >= most:
            return float(np.exp(high))
        high, step = min(high + step, most), 2 * step
    root = float(brentq(calibration_gap, low, high, xtol=PRECISION / 2))
    while root > low and calibration_gap(root) > 0:
        root = max(root - PRECISION / 4, low)
    return float(np.exp(root))


def _largest_hazards(pairs: np.ndarray, mechanism: dict) -> np.ndarray:
    """The largest grid point whose bound meets the target, by (prior, target); 0 where none does.

    All pairs are bisected together, and those that ask for the same grid point share its computation.
    """
    grid = np.exp(np.arange(np.log(_LEAST), np.log(_MOST), np.log1p(PRECISION)))
    low, high = np.full(len(pairs), -1), np.full(len(pairs), len(grid))
    while np.any(high - low > 1):
        middle = (low + high) // 2
        undecided = high - low > 1
        for place in np.unique(middle[undecided]):
            asked = np.flatnonzero(undecided & (middle == place))
            meets = _bounds(float(grid[place]), pairs[asked, 0], mechanism) <= pairs[asked, 1]
            low[asked[meets]], high[asked[~meets]] = place, place
    return np.where(low >= 0, grid[np.maximum(low, 0)], 0.0)


def _bounds(hazard: float, priors: np.ndarray, mechanism: dict) -> np.ndarray:
    distinct, back = np.unique(priors, return_inverse=True)
    draws = Participation.binomial(_EXAMPLES, -np.expm1(-hazard / _EXAMPLES))
    run = Run(draws, mechanism["noise_multiplier"], mechanism["rounds"])
    try:
        curve = curve_of_runs([run], priors=distinct, method=mechanism["method"])
    except CertificationError:
        return np.full(len(priors), np.inf)
    return curve.values[back]
