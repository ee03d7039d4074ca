"""From weights to what is drawn: sampling rates, the largest batch, the examples seen, and which c to take."""

import numpy as np
import polars as pl
from scipy.optimize import brentq

from hush_core.errors import InputError
from hush_core.weights.settings import largest_useful_c, unit_capacities
from hush_core.weights.solve import solve_weights


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


_PRECISION = 1e-4
"""Of log c."""
_LEAST = 1e-9


def paper_weights(
    edges: pl.DataFrame, secrets: pl.DataFrame, *, trainable: np.ndarray, total: float
) -> np.ndarray:
    """Weights (n,) of the paper's program (Σw, capacities c·κ) that sum to `total`, at the c that gives it.

    Another certificate would be judged unfairly on weights that were made for ours. These have the paper's
    capacities, c·κ_j with κ_j = KL(Bern(r_j)‖Bern(p_j)).

    Args:
        trainable: (n,) bool; the others are never drawn and get 0.
        total: Σw, above the number of trainable examples without a secret.

    Raises:
        InputError: no c keeps so little or so much.
    """
    edges = edges.filter(pl.Series(trainable[edges["example_id"].to_numpy()]))
    kappa = unit_capacities(secrets, "kl")
    c_max = largest_useful_c(edges, kappa)

    def at(log_c: float) -> np.ndarray:
        capacities = c_max * float(np.exp(log_c)) * kappa
        return np.where(
            trainable, solve_weights(edges, n_examples=len(trainable), capacities=capacities).weights, 0
        )

    def above(log_c: float) -> float:
        return float(at(log_c).sum()) - total

    if total >= trainable.sum() * (1 - 1e-12):
        return at(0.0)
    if above(np.log(_LEAST)) > 0:
        raise InputError("total", f"{total:g} is less than what holds no secret", "compare at more weight")
    # Σw does not fall with c
    return at(float(brentq(above, np.log(_LEAST), 0.0, xtol=_PRECISION)))


NEAR_BEST = 0.05
RULE = (
    "the most weight of examples with a secret for each unit of noise; "
    f"of the values within {NEAR_BEST:.0%} of the best, the one that keeps most; "
    "values whose noise drowns the training come last"
)
"""Small c: weight and noise fall together and nothing is gained by going lower. Large c: the noise continues
growing while little is left to keep. The rule stops in between, if the sweep reaches far enough down
(`smaller_c_to_try`)."""
DECADE = (0.5, 0.2, 0.1)
LEAST_C = 1e-6
"""No sweep is extended below this."""


def recommended(frontier: pl.DataFrame) -> int | None:
    """The row to take by RULE; None if no row has a certified noise multiplier.

    Args:
        frontier: protected_retained, noise_multiplier (null if none is certified) and, if known, drowned
            (`drowns`).
    """
    rows = frontier.with_row_index("row").filter(pl.col("noise_multiplier") > 0)
    if rows.is_empty():
        return None
    if "drowned" in rows.columns and not rows["drowned"].fill_null(False).all():
        rows = rows.filter(~pl.col("drowned").fill_null(False))
    value = pl.col("protected_retained") / pl.col("noise_multiplier")
    near = rows.filter(value >= (1 - NEAR_BEST) * value.max())
    return int(near.sort("protected_retained", "row", descending=[True, False])["row"][0])


def smaller_c_to_try(frontier: pl.DataFrame) -> tuple[float, ...]:
    """Further values of c to try, a decade below the sweep; empty if the best is inside it, or it is long enough.

    Args:
        frontier: as of `recommended`, and c. The best by RULE is inside the sweep in one of two cases. A smaller c
            gives clearly less weight for each unit of noise, or leaves too little to train on. Or a whole decade
            below gives no more.
    """
    place = recommended(frontier)
    if place is None:
        return ()
    chosen = frontier.row(place, named=True)
    value = pl.col("protected_retained") / pl.col("noise_multiplier")
    best = chosen["protected_retained"] / chosen["noise_multiplier"]
    below = frontier.filter((pl.col("c") < chosen["c"]) & (value < (1 - NEAR_BEST) * best))
    least, priced = float(frontier["c"].min()), frontier.drop_nulls("noise_multiplier")
    # a smaller c that leaves too little to draw a batch from is an end, too
    ended = frontier.filter((pl.col("c") < chosen["c"]) & pl.col("noise_multiplier").is_null())
    if below.height or ended.height or chosen["c"] >= 10 * float(priced["c"].min()):
        return ()
    return tuple(least * part for part in DECADE if least * part >= LEAST_C)


def drowns(noise_multiplier: float, *, rounds: int, expected_batch: int, parameters: int) -> bool:
    """Whether the noise of all rounds is longer than the longest possible sum of their gradients.

    T averaged gradients, each of at most the clip norm C, add up to T·C at most; the noise on their sum has length
    √T·(σC/B)·√d for d parameters. So from σ/B ≥ √(T/d) on, noise drowns even rounds that all point the same way.

    Args:
        noise_multiplier: σ. rounds: T. expected_batch: B. parameters: d, those that are trained.
    """
    return noise_multiplier / expected_batch >= (rounds / parameters) ** 0.5
