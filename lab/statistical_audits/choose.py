"""From scores of canaries to guesses: how many to guess is chosen from a fixed list, and the choice is paid for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from hush_core.errors import InputError
from lab.statistical_audits.lower_bound import LowerBound


def guess_counts(canaries: int) -> list[int]:
    """Numbers of guesses to try: every power of √2 from 8 up to all canaries. They depend on no score."""
    steps = np.unique(np.round(2 ** np.arange(3, np.log2(max(canaries, 8)) + 0.01, 0.5)).astype(int))
    return [int(n) for n in steps if n < canaries] + [canaries]


def best_of_counts(
    scores: ArrayLike,
    inside: ArrayLike,
    bound: Callable[..., LowerBound],
    *,
    delta: float,
    confidence: float = 0.95,
) -> LowerBound:
    """Guess that the canaries with the highest scores were trained on; the best bound over `guess_counts`.

    Args:
        scores: (m,) higher where the attack thinks that the canary was trained on. inside: (m,) whether it was, by
            a fair coin each. bound: `one_run` or `one_run_f_dp`.

    Each number of guesses is tested at α divided by how many there are (Bonferroni), so that the greatest bound
    holds at 1 − α. A list that is read off the scores (every threshold on the hull of the ROC curve, say) would
    divide by a number that depends on them, and proves nothing exactly. Ties go to the canary listed first.

    Ceiling: the greatest over the same list.
    """
    scores, inside = np.asarray(scores, dtype=float), np.asarray(inside, dtype=bool)
    if scores.shape != inside.shape or scores.ndim != 1 or not len(scores):
        raise InputError("scores", "are not one number per canary", "give (m,) scores and (m,) truths")
    right = np.cumsum(inside[np.argsort(-scores, kind="stable")])
    counts = guess_counts(len(scores))
    share = 1 - (1 - confidence) / len(counts)
    found = [
        bound(right=int(right[n - 1]), guesses=n, canaries=len(scores), delta=delta, confidence=share)
        for n in counts
    ]
    best = max(found, key=lambda one: one.value)
    most = max(one.ceiling for one in found)
    return LowerBound(best.value, confidence, most, f"{best.method}, best of {len(counts)}", best.unit)
