"""From weights to what is drawn: sampling rates, the largest batch they allow, the examples that will be seen."""

from __future__ import annotations

import numpy as np

from hush_core.errors import InputError


def sampling_rates(weights: np.ndarray, expected_batch: int) -> np.ndarray:
    """ρ_i = B·w_i / Σw (paper, Algorithm 2, line 3), shape (n,).

    Args:
        weights: (n,) in [0, 1]. expected_batch: B.

    Raises:
        InputError: B is so large that a rate would exceed 1; names the largest batch that works.
    """
    total, largest = float(np.sum(weights)), float(np.max(weights, initial=0.0))
    if largest == 0:
        raise InputError("weights", "every example has weight 0", "raise weights.c or the secrets' levels")
    if expected_batch * largest > total:
        raise InputError(
            "train.batch",
            f"an expected batch of {expected_batch} exceeds the retained weight (Σw = {total:.1f})",
            f"set it to {largest_batch(weights)} or less, or raise weights.c",
        )
    return np.minimum(weights * (expected_batch / total), 1.0)


def largest_batch(weights: np.ndarray) -> int:
    """The largest expected batch B for which every rate B·w_i/Σw is at most 1; 0 where all weights are 0."""
    largest = float(np.max(weights, initial=0.0))
    return int(float(np.sum(weights)) / largest) if largest > 0 else 0


def expected_distinct(rates: np.ndarray, rounds: int) -> float:
    """Σ_i 1 − (1−ρ_i)^T: how many examples T rounds draw at least once, in expectation."""
    with np.errstate(divide="ignore"):
        never = rounds * np.log1p(-np.asarray(rates, dtype=np.float64))
    return float(-np.expm1(never).sum())
