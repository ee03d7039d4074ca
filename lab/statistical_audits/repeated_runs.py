"""Many training runs: with and without a canary, or with a secret that is guessed. Clopper–Pearson throughout."""

from __future__ import annotations

import math

from hush_core.auditing.intervals import share_at_least, share_at_most
from hush_core.errors import InputError
from lab.statistical_audits.lower_bound import LowerBound, check_confidence


def repeated_runs(
    *,
    detected_with: int,
    runs_with: int,
    detected_without: int,
    runs_without: int,
    delta: float = 0.0,
    confidence: float = 0.95,
) -> LowerBound:
    """ε from runs with the canary and runs without it (Jagielski, Ullman, Oprea 2020, Theorem 1).

    Args:
        detected_with: in how many of `runs_with` runs WITH the canary the attack says "with".
        detected_without: in how many of `runs_without` WITHOUT it, the false alarms. The attack and its threshold
            are fixed before these runs, on others.

    The rates of alarm a₁ and a₀ satisfy a₁ ≤ e^ε·a₀ + δ and 1 − a₀ ≤ e^ε·(1 − a₁) + δ. Each is bounded by an exact
    interval at α/2, so that both hold together at 1 − α, and the greater of the two ε is shown.

    Ceiling: every run told right. With n runs of each kind and δ = 0 about log(n / log 2/α).

    Raises:
        InputError: counts that do not fit together.
    """
    alpha = check_confidence(confidence)
    for name, some, all_ in (
        ("detected_with", detected_with, runs_with),
        ("detected_without", detected_without, runs_without),
    ):
        if not 0 <= some <= all_ or not all_:
            raise InputError(name, f"{some} of {all_} runs cannot be", "give counts of runs")

    def least(hits: int, alarms: int) -> float:
        power = share_at_least(hits, runs_with, alpha / 2)
        level = share_at_most(alarms, runs_without, alpha / 2)
        pairs = ((power - delta, level), (1 - level - delta, 1 - power))
        return max(0.0, *(math.log(top / bottom) for top, bottom in pairs if top > 0 and bottom > 0))

    return LowerBound(
        least(detected_with, detected_without),
        confidence,
        least(runs_with, 0),
        f"{runs_with} + {runs_without} runs",
        "epsilon",
    )


def named_in_runs(*, named: int, runs: int, confidence: float = 0.95, method: str = "") -> LowerBound:
    """The probability of naming a secret, from runs in each of which it is drawn anew and guessed once.

    Compare with the certified posterior at the prior of the draw. Ceiling: α^{1/n}, named in all n runs.

    Raises:
        InputError: counts that do not fit together.
    """
    alpha = check_confidence(confidence)
    if not 0 <= named <= runs or not runs:
        raise InputError("named", f"{named} of {runs} runs cannot be", "give counts of runs")
    least, ceiling = share_at_least(named, runs, alpha), share_at_least(runs, runs, alpha)
    return LowerBound(least, confidence, ceiling, method or f"{runs} runs", "posterior")
