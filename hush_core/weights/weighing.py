"""Step 2 as a whole: capacities by a rule, the program solved, some examples held out.

`equalised` closes the loop that the paper leaves open ("ideally we would include σ as a variable", §4): the noise
is a maximum over secrets, so a secret that needs less of it has capacity to spare. Capacities are set to what the
inverse accounting says each secret may take part at the noise that the weights turn out to need, and the program is
solved again, until that settles: all secrets that bind then need the same noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.accounting import calibrate, largest_expected_count
from hush_core.config import Method
from hush_core.errors import InputError
from hush_core.weights.capacities import CapacityRule, largest_useful_c, unit_capacities
from hush_core.weights.holdout import hold_out
from hush_core.weights.solve import Weights, solve_weights

Progress = Callable[[str, int, int], None]

_PASSES = 6
_SETTLED = 2e-3
"""Relative: capacities that move less than this are settled; about the precision of the inverse accounting."""
_LARGEST_RATE = 0.9


@dataclass(frozen=True)
class Mechanism:
    """What `equalised` must know of the training: T rounds, expected batch B, the certificate method."""

    rounds: int
    expected_batch: int
    method: Method


@dataclass(frozen=True, eq=False)
class Weighing:
    """weights: (n,), 0 for the held-out. held_out: their ids. solved: the program's own answer and its gap.
    kappa: (m,) the unit capacities κ_j. c_max: the smallest c at which every weight is 1."""

    weights: np.ndarray
    held_out: np.ndarray
    solved: Weights
    kappa: np.ndarray
    c_max: float

    @property
    def candidates(self) -> int:
        """Examples that may be trained on."""
        return len(self.weights) - len(self.held_out)


def weigh(
    edges: pl.DataFrame,
    secrets: pl.DataFrame,
    *,
    n_examples: int,
    rule: CapacityRule,
    c: float,
    mechanism: Mechanism | None = None,
    progress: Progress | None = None,
) -> Weighing:
    """Weights at c (relative to c_max) under a capacity rule.

    Args:
        edges: example_id, secret_id. secrets: secret_id, prior, posterior. mechanism: for `equalised` only.

    Raises:
        InputError: bad edges, or `equalised` without a mechanism. CertificationError: the solver failed, or no
            noise is certified for `equalised`.
    """
    if rule != "equalised":
        return _at(edges, n_examples, unit_capacities(secrets, rule), c)
    if mechanism is None:
        raise InputError("weights.capacities", "equalised needs rounds, batch and method", "give a mechanism")
    start: CapacityRule = "sqrt_kl" if mechanism.method == "kl" else "normal_quantiles"
    found = _at(edges, n_examples, unit_capacities(secrets, start), c)
    for done in range(_PASSES):
        if progress:
            progress("equalising", done, _PASSES)
        kappa = _bearable(found.weights, edges, secrets, mechanism)
        moved = np.log(kappa / found.kappa)
        found = _at(edges, n_examples, kappa, c)
        # only the capacities' ratios matter, as c is relative
        if np.ptp(moved) <= _SETTLED:
            break
    return found


def _at(edges: pl.DataFrame, n_examples: int, kappa: np.ndarray, c: float) -> Weighing:
    c_max = largest_useful_c(edges, kappa)
    solved = solve_weights(edges, n_examples=n_examples, capacities=c * c_max * kappa)
    held_out = hold_out(edges, n_examples=n_examples)
    weights = solved.weights.copy()
    weights[held_out] = 0.0
    return Weighing(weights, held_out, solved, kappa, c_max)


def _bearable(
    weights: np.ndarray, edges: pl.DataFrame, secrets: pl.DataFrame, mechanism: Mechanism
) -> np.ndarray:
    """The largest Σρ that each secret may have at the noise that these weights need, shape (m,)."""
    rates = np.minimum(weights * (mechanism.expected_batch / weights.sum()), 1.0)
    run = {"rounds": mechanism.rounds, "method": mechanism.method}
    sigma = calibrate(edges, rates, secrets, **run).noise_multiplier
    return largest_expected_count(
        secrets["prior"].to_numpy(), secrets["posterior"].to_numpy(), noise_multiplier=sigma,
        largest_rate=min(float(rates.max()), _LARGEST_RATE), **run,
    )  # fmt: skip
