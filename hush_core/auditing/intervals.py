"""Intervals for what an attack measures: exact ones, that no approximation or independence can make too narrow.

Each holds with the stated confidence for every number of trials. `of_one_model` is for one trial whose success is
itself a probability (lazy sampling): by Markov's inequality a mean of μ gives x or more with probability at most
μ/x.
"""

import math
from typing import NamedTuple

from scipy import stats

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """What was measured, between what it may be."""

    value: float
    lower: float
    upper: float


def share_at_least(successes: int, trials: int, alpha: float) -> float:
    """Clopper–Pearson: the success probability is at least this, but for a chance of at most α."""
    return float(stats.beta.ppf(alpha, successes, trials - successes + 1)) if successes else 0.0


def share_at_most(successes: int, trials: int, alpha: float) -> float:
    """Clopper–Pearson: the success probability is at most this, but for a chance of at most α."""
    return float(stats.beta.ppf(1 - alpha, successes + 1, trials - successes)) if successes < trials else 1.0


def clopper_pearson(successes: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Two-sided, of a share from independent trials; [0, 1] without any (Clopper and Pearson 1934)."""
    if not trials:
        return Interval(math.nan, 0.0, 1.0)
    tail = (1 - confidence) / 2
    lower, upper = (side(successes, trials, tail) for side in (share_at_least, share_at_most))
    return Interval(successes / trials, lower, upper)


def paired_difference(
    first_only: int, second_only: int, trials: int, confidence: float = CONFIDENCE
) -> Interval:
    """Two-sided, of the difference of two shares over the same trials: those of the first alone less those of the
    second alone. Each of the two has an exact interval at half the error, so both hold together."""
    if not trials:
        return Interval(math.nan, -1.0, 1.0)
    half = 1 - (1 - confidence) / 2
    first, second = (clopper_pearson(count, trials, half) for count in (first_only, second_only))
    return Interval(
        (first_only - second_only) / trials, first.lower - second.upper, first.upper - second.lower
    )


def of_one_model(success: float, confidence: float = CONFIDENCE) -> Interval:
    """One-sided limits, each with the stated confidence, of the mean over trainings of a success in [0, 1], from
    one training. For a success of 1 that is Clopper and Pearson's limit for 1 of 1."""
    error = 1 - confidence
    return Interval(success, error * success, 1 - error * (1 - success))


def of_area(area: float, members: int, others: int, confidence: float = CONFIDENCE) -> Interval:
    """Two-sided, of an area under the ROC curve over independent members and independent others: one of either
    moves it by no more than 1 over their number (McDiarmid 1989)."""
    if not members or not others:
        return Interval(math.nan, 0.0, 1.0)
    width = math.sqrt(math.log(2 / (1 - confidence)) / 2 * (1 / members + 1 / others))
    return Interval(area, max(0.0, area - width), min(1.0, area + width))
