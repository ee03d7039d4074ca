"""How well a score distinguishes members from others: ROC, its area, and true positives at few false positives.

A threshold is chosen on one half of the others and its false positive rate is measured on the other half, so that
no number is reported on the data that it was tuned on. All intervals are exact, for any number of units
(`intervals`), if the units are independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.auditing.intervals import Interval, clopper_pearson, of_area

RATES = (0.01, 0.05, 0.1)
"""False positive rates that are asked for."""


@dataclass(frozen=True, eq=False)
class Roc:
    """members, others: how many scores. area: probability that a member scores above one of the others.

    curve: false_positive_rate · true_positive_rate, over all thresholds. low: asked · false_positive_rate · lower ·
    upper · true_positive_rate · true_lower · true_upper; one row for each rate that half of the others can show.
    """

    members: int
    others: int
    area: Interval
    area_ceiling: float
    """The lower end of the area's interval, had every member scored above every other."""
    curve: pl.DataFrame
    low: pl.DataFrame


LOW = ("asked", "false_positive_rate", "lower", "upper", "true_positive_rate", "true_lower", "true_upper")


def roc(members: np.ndarray, others: np.ndarray, *, seed: int, rates: Sequence[float] = RATES) -> Roc:
    """Scores (higher: more like a member) of members (n,) and of others (m,), each of at least one."""
    members, others = np.asarray(members, float), np.asarray(others, float)
    below = np.searchsorted(np.sort(others), members, side="left")
    upto = np.searchsorted(np.sort(others), members, side="right")
    area = float((below + upto).mean() / 2 / len(others))
    thresholds = np.unique(np.concatenate([members, others]))[::-1]
    curve = pl.DataFrame(
        {
            "false_positive_rate": [0.0, *((others >= t).mean() for t in thresholds)],
            "true_positive_rate": [0.0, *((members >= t).mean() for t in thresholds)],
        },
        schema={"false_positive_rate": pl.Float64, "true_positive_rate": pl.Float64},
    )
    shuffled = np.random.default_rng(seed).permutation(others)
    calibration, reported = shuffled[: len(others) // 2], shuffled[len(others) // 2 :]
    rows = []
    for rate in rates:
        allowed = int(rate * (len(calibration) + 1)) - 1  # of these may lie above the threshold
        if allowed < 0 or not len(reported):
            continue
        threshold = np.sort(calibration)[::-1][allowed]
        false = clopper_pearson(int((reported > threshold).sum()), len(reported))
        true = clopper_pearson(int((members > threshold).sum()), len(members))
        rows.append((rate, *false, *true))
    return Roc(
        members=len(members),
        others=len(others),
        area=of_area(area, len(members), len(others)),
        area_ceiling=of_area(1.0, len(members), len(others)).lower,
        curve=curve,
        low=pl.DataFrame(rows, schema=dict.fromkeys(LOW, pl.Float64), orient="row"),
    )
