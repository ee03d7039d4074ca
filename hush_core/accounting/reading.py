"""What a composed law of the loss proves: the bound from above, and from below the power of a test.

Source: docs/mathematics.md §5; blow_up.py has the reasons.
"""

from dataclasses import dataclass

import numpy as np

from hush_core.accounting.composition import TiltedLaw
from hush_core.accounting.two_scales import PlainLaw
from hush_core.errors import CertificationError

Law = TiltedLaw | PlainLaw


@dataclass(frozen=True)
class _Tails:
    """Untilted sums of a law above each threshold; `weight` is what one tilted unit counts at each value."""

    values: np.ndarray
    weight: np.ndarray
    at_least: np.ndarray
    """Σ masses from this value on."""
    error: np.ndarray
    """Σ error from this value on."""


def _tails(law: Law, shift: float) -> _Tails:
    # weights far below the threshold overflow and those far above vanish: keep to where they are finite
    log_weight = law.scale - law.tilt * law.values
    usable = log_weight < 600
    if not usable.any():
        raise CertificationError("the composed privacy loss lies outside its window")
    weight = np.exp(log_weight[usable])
    masses = np.maximum(law.masses[usable], 0.0) * weight
    return _Tails(law.values[usable] + shift, weight, _from_above(masses), law.error * _from_above(weight))


def _from_above(array: np.ndarray) -> np.ndarray:
    return np.cumsum(array[::-1])[::-1]


def grown(law: Law, rounds: int) -> float:
    """1 + the share of itself that any mass may be off: a round's losses, weights and masses are good to 1e-13 of
    themselves, and that grows with the rounds."""
    return 1 + 1e-11 + rounds * 2e-13 + law.growth


def bound_from_above(
    law: Law, priors: np.ndarray, rounds: int, *, detected: float, shift: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(bound, how much of it was cut or rounded, about how much is for the width of the grid): the least of
    e^t·p + δ(t) near where Q's tail is p.

    Args:
        law: P's, of all rounds. detected: what counts as detection beyond it. shift: added to the law's values.
    """
    tails = _tails(law, shift)
    masses = np.maximum(law.masses[-len(tails.values) :], 0.0) * tails.weight
    q_above = _from_above(masses * np.exp(-np.maximum(tails.values, -700.0)))
    factor = np.exp(np.minimum(tails.values, 700.0))
    # both sums are of the same non-negative masses, so rounding upwards is right for either
    delta = np.maximum(tails.at_least - factor * q_above, 0.0)
    summing = 4 * np.finfo(np.float64).eps * len(masses) * tails.at_least
    # the best threshold is where Q's tail is p; rounding may put it one or two places off
    place = len(q_above) - np.searchsorted(q_above[::-1], priors, side="right")
    places = np.clip(place[:, None] + np.arange(-2, 3), 0, len(q_above) - 1)
    round_off = tails.error[places] + summing[places]
    growth = grown(law, rounds)
    value = (factor[places] * priors[:, None] + delta[places] + law.truncated + detected) * growth + round_off
    best = value.argmin(axis=1)[:, None]
    upper = np.take_along_axis(value, best, axis=1)[:, 0]
    # mass that wrapped around is in the masses already; it may also represent nothing
    cut = np.take_along_axis(round_off + law.aliasing * tails.weight[places], best, axis=1)[:, 0] + law.cut
    # `added_variance` was added to the loss, and e^t·p + δ(t) has the law's density for second derivative
    excess = law.added_variance / 2 * masses[places].max(axis=1) / law.step
    # t → −∞: the trivial event
    return np.minimum(upper, 1.0), np.where(upper < 1, cut, 0.0), np.where(upper < 1, excess, 0.0)


def bound_from_below(
    law: Law, reference: Law, priors: np.ndarray, rounds: int, *, sure: tuple[float, float], shift: float
) -> np.ndarray:
    """The power of tests on the binned loss whose level is at most p, randomised between two thresholds.

    Args:
        law, reference: P's and Q's, of all rounds, binned alike. sure: what always fires, its power and its level,
            as good as the masses. shift: added to the laws' values.
    """
    p_tails, q_tails = _tails(law, shift), _tails(reference, shift)
    size = min(len(p_tails.values), len(q_tails.values))
    power = p_tails.at_least[-size:] / grown(law, rounds)
    power = power - p_tails.error[-size:] - law.aliasing * p_tails.weight[-size:]
    level = q_tails.at_least[-size:] * grown(reference, rounds)
    level = level + q_tails.error[-size:] + reference.aliasing * q_tails.weight[-size:]
    power = np.maximum(power, 0.0) + sure[0] / grown(law, rounds)
    level = level + sure[1] * grown(reference, rounds)
    # from the highest threshold down; (0, 0) is the test that never fires
    level, power = np.concatenate([[0.0], level[::-1]]) * (1 + 1e-9), np.concatenate([[0.0], power[::-1]])
    place = np.clip(np.searchsorted(level, priors, side="right") - 1, 0, len(level) - 2)
    width = level[place + 1] - level[place]
    share = np.clip(
        np.where(width > 0, (priors - level[place]) / np.where(width > 0, width, 1.0), 0.0), 0.0, 1.0
    )
    found = power[place] + share * np.maximum(power[place + 1] - power[place], 0.0)
    return np.minimum(np.maximum(found * (1 - 1e-9), 0.0), 1.0)
