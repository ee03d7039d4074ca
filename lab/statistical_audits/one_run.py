"""ε from one training run (Steinke, Nasr, Jagielski 2023): how many of many guesses are right.

m canaries are put into the training set each by a fair coin; the auditor guesses of r of them which way the coin
fell, and abstains on the others. Under (ε, δ)-DP the right guesses are hardly more than Binomial(r, e^ε/(1+e^ε)).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import optimize, special, stats

from hush_core.errors import InputError
from lab.statistical_audits.lower_bound import LowerBound, check_confidence


def one_run(
    *, right: int, guesses: int, canaries: int, delta: float = 0.0, confidence: float = 0.95
) -> LowerBound:
    """ε is at least this, at confidence 1 − α, whatever the model, the canaries and the attack.

    Args:
        right: v, right guesses of `guesses` r of `canaries` m. Which canaries are guessed may depend on what the
            training released; how many, and by which rule, is fixed beforehand (`choose.py` for several rules).
        delta: the δ of the claim that is tested.

    Raises:
        InputError: not 0 ≤ right ≤ guesses ≤ canaries, or a confidence out of range.

    Ceiling: that of r right guesses of r: about log(r / log 1/α) at δ = 0.
    Source: their Theorem 5.2 (docs/auditing.md).
    """
    alpha = check_confidence(confidence)
    check_counts(right, guesses, canaries)

    def least(v: int) -> float:
        return greatest(lambda e: one_run_p_value(v, guesses, canaries, e, delta) <= alpha)

    return LowerBound(least(right), confidence, least(guesses), "one run", "epsilon")


def one_run_p_value(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """At most this likely are so many right guesses under (ε, δ)-DP; v, r, m as above."""
    q = float(special.expit(epsilon))
    beta = float(stats.binom.sf(right - 1, guesses, q))
    if delta == 0 or right == 0:
        return beta
    i = np.arange(1, right + 1)
    more = stats.binom.sf(right - i - 1, guesses, q) - beta
    return min(1.0, beta + 2 * canaries * delta * max(0.0, float((more / i).max())))


def greatest(refuted: Callable[[float], bool], tolerance: float = 1e-7) -> float:
    """The greatest ε that is refuted, 0 where none is: what is refuted is refuted for every smaller ε."""
    if not refuted(0.0):
        return 0.0
    high = 1.0
    while refuted(high):
        high *= 2
        if high > 1e4:
            return high
    return float(
        optimize.bisect(lambda e: 0.5 - refuted(e), high / 2 if high > 1 else 0.0, high, xtol=tolerance)
    )


def check_counts(right: int, guesses: int, canaries: int) -> None:
    """Raises InputError where counts do not fit together."""
    if not (0 <= right <= guesses <= canaries and guesses > 0):
        raise InputError(
            "guesses",
            f"{right} right of {guesses} guesses on {canaries} canaries do not fit together",
            "give right ≤ guesses ≤ canaries",
        )
