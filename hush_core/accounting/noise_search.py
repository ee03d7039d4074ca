"""The smallest noise multiplier for one secret: a root search that answers only with what it evaluated."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from hush_core.accounting.bounds import LEAST_NOISE, MOST_NOISE, BoundMethod, posterior_bound
from hush_core.accounting.participation import Participation
from hush_core.accounting.runs import check_mechanism
from hush_core.errors import CertificationError, InputError

PRECISION = 1e-5
"""Relative precision of a smallest noise multiplier; it errs upwards."""


def smallest_noise(
    participation: Participation, *, rounds: int, prior: float, posterior: float, method: BoundMethod = "best"
) -> float:
    """The smallest σ whose bound is at most `posterior`, to PRECISION; 0 if nothing is ever sampled.

    Args:
        participation, rounds, prior, method: as for `posterior_bound`.
        posterior: the target, above the prior and below 1.

    Guarantee: `posterior_bound` was evaluated at the returned σ itself, and met the target.

    Raises:
        InputError: posterior ≤ prior or out of range.
        CertificationError: no σ in [LEAST_NOISE, MOST_NOISE] is certified.
    """
    check_mechanism(noise_multiplier=1.0, rounds=rounds)
    check_target("posterior", prior, posterior)
    if participation.mean == 0:
        return 0.0

    def calibration_gap(log_sigma: float) -> float:
        """log bound/target at a σ: at most 0 where it is certified, +inf where the bound refuses."""
        try:
            bound = posterior_bound(
                participation, noise_multiplier=_sigma(log_sigma), rounds=rounds, prior=prior, method=method
            )
        except CertificationError:
            return np.inf
        ratio = float(np.log(bound.value) - np.log(posterior))
        # the comparison that counts is that of the numbers themselves
        return min(ratio, 0.0) if bound.value <= posterior else max(ratio, 1e-300)

    guess = gaussian_noise(participation.mean, rounds, prior, posterior)
    return _sigma(falling_root(calibration_gap, float(np.log(guess))))


def _sigma(log_sigma: float) -> float:
    return float(np.clip(np.exp(log_sigma), LEAST_NOISE, MOST_NOISE))


def falling_root(
    calibration_gap: Callable[[float], float], guess: float, precision: float = PRECISION, step: float = 0.1
) -> float:
    """The log of a σ where the gap, which falls, is at most 0, at most `precision` above one where it is not.

    `step` is the first one from the guess; it doubles. Then regula falsi with halved weights (Illinois); plain
    bisection if the upper side refuses. The answer was itself evaluated, so noise in the gap costs precision and
    not validity.
    """
    least, most = float(np.log(LEAST_NOISE)), float(np.log(MOST_NOISE))
    high = float(np.clip(guess, least, most))
    at_high = calibration_gap(high)
    low, at_low = high, at_high
    while at_high > 0:
        if high >= most:
            raise CertificationError(f"no noise multiplier up to {MOST_NOISE:g} is certified")
        low, at_low = high, at_high
        high = min(high + step, most)
        step, at_high = step * 2, calibration_gap(high)
    while at_low <= 0:
        if low <= least:
            return low  # certified at the smallest noise that we certify at all
        high, at_high = low, at_low
        low = max(low - step, least)
        step, at_low = step * 2, calibration_gap(low)
    weight_low, weight_high, last = at_low, at_high, 0
    while high - low > precision:
        if np.isfinite(weight_low) and weight_high < 0:
            share = weight_low / (weight_low - weight_high)
            # stay inside, and lean to the certified side by half the precision: the next point then closes in
            margin = precision / 2
            middle = float(np.clip(low + share * (high - low) + margin / 2, low + margin, high - margin))
        else:
            middle = 0.5 * (low + high)
        found = calibration_gap(middle)
        if found > 0:
            low, weight_low = middle, found
            weight_high = weight_high / 2 if last > 0 else weight_high
        else:
            high, weight_high = middle, found
            weight_low = weight_low / 2 if last < 0 else weight_low
        last = 1 if found > 0 else -1
    return high


def gaussian_noise(mean: ArrayLike, rounds: int, prior: ArrayLike, target: ArrayLike) -> np.ndarray:
    """The σ of the Gaussian limit: √T·Σρ / (Φ⁻¹(r) − Φ⁻¹(p)); a place to start, never a certificate."""
    return np.sqrt(rounds) * np.asarray(mean) / (ndtri(target) - ndtri(prior))


def check_target(where: str, prior: float, target: float) -> None:
    if not 0 < prior < target < 1:
        raise InputError(
            where,
            f"prior {prior:g} and target {target:g} are not 0 < prior < target < 1",
            "raise the target, or lower the prior by declaring more bits",
        )
