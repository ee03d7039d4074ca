"""From how a value ranks among alternatives tried to its exposure among all strings of its form, in bits.

Exposure is log2 of the number of strings less log2 of the value's rank among them (Carlini et al. 2019). If all
strings were tried it is exact. Else the share of strings above the value is estimated from those drawn at random,
with an exact interval. A value above all N drawn has an exposure of at least about log2 N. How much more, only a
distribution fitted to the scores can say; Carlini et al. use a skew-normal one. That is an extrapolation.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import skewnorm

from hush_core.auditing.intervals import CONFIDENCE, clopper_pearson

FIRST_LOOK = 16
"""Alternatives tried before a value may be given up; each look after that doubles them."""
_LEAST_FITTED = 30
_MOST_SKEW = 0.99
"""No skew-normal distribution has a skewness from about 0.995 on."""


class Exposure(NamedTuple):
    """alternatives tried · rank among them (1 is best; ties in the attacker's favour) · rank with every tie against
    the attacker · bits by the first · bits among all strings of the form, from and to, with 95 % confidence · bits
    by a fitted distribution."""

    alternatives: int
    rank: int
    last_rank: int
    bits: float
    lower: float
    upper: float
    fitted: float | None


def stages(count: int, stop_after: int | None) -> list[int]:
    """How many of `count` alternatives have been tried at each look; one look where none is given up."""
    found, look = [], FIRST_LOOK
    while stop_after is not None and look < count:
        found.append(look)
        look *= 2
    return [*found, count]


def estimate(
    margins: np.ndarray, tie: float, *, space: int, looks: int, exact: int | None = None
) -> Exposure:
    """Exposure of a value.

    Args:
        margins: (n,) score of each alternative tried less the value's, n ≥ 1; those above `tie` rank above it.
        exact: how many of them, from the first, the fit uses; of the others only the sign is known. None: all.
        space: strings of the form, the value included.
        looks: how often, on the way, it could have been given up; the interval holds at all these times together.
    """
    count, above = len(margins), int((margins > tie).sum())
    last = 1 + int((margins >= -tie).sum())
    bits = math.log2(count + 1) - math.log2(above + 1)
    if count + 1 >= space:
        return Exposure(count, above + 1, last, bits, bits, bits, None)
    most = math.log2(space)
    share = clopper_pearson(above, count, 1 - (1 - CONFIDENCE) / looks)
    # of the other strings this share is above the value
    lower, upper = (most - math.log2(1 + part * (space - 1)) for part in (share.upper, share.lower))
    return Exposure(count, above + 1, last, bits, max(0.0, lower), upper, _fitted(margins[:exact], tie, most))


def _fitted(margins: np.ndarray, tie: float, most: float) -> float | None:
    """−log2 of the chance to be above the value under the skew-normal distribution with these moments."""
    deviation = float(margins.std())
    if len(margins) < _LEAST_FITTED or deviation <= tie:
        return None
    skew = float(np.clip(((margins - margins.mean()) ** 3).mean() / deviation**3, -_MOST_SKEW, _MOST_SKEW))
    part = abs(skew) ** (2 / 3)
    delta = math.copysign(math.sqrt(math.pi / 2 * part / (part + ((4 - math.pi) / 2) ** (2 / 3))), skew)
    scale = deviation / math.sqrt(1 - 2 * delta**2 / math.pi)
    place = float(margins.mean()) - scale * delta * math.sqrt(2 / math.pi)
    shape = delta / math.sqrt(max(1e-12, 1 - delta**2))
    above = float(skewnorm.logsf(0.0, shape, place, scale))
    return min(most, -above / math.log(2)) if above == above else None
