"""The most weight that a given noise multiplier can certify: σ chosen, weights found.

With rates ρ = B·w/Σw a secret of load L_j = Σ_{i∋j} w_i takes part B·L_j/Σw times a round in expectation; at σ it
may do so Λ_j times (inverse accounting). So capacities s·Λ_j are allowed if they leave a weight W(s) of at least
s·B. The largest such s is wanted. Λ_j depends on how large rates may be, at most 1/s, so W(s)/s need not fall. So s
is searched from above on a grid, and then between two of its points.

The inverse accounting errs on the safe side if rates are large: it knows only the largest rate, and sums of
−log(1−ρ). So the first weights need a little less than σ. The noise that they really need, and the real spread of
their rates, correct the next ones. If rates are so large that it allows nothing at all, weights by `matched`
capacities are tried along c, by the noise that they need. Weights that need more than σ are never returned.
"""

from collections.abc import Callable

import numpy as np
import polars as pl
from scipy.optimize import brentq

from hush_core.accounting import noise_for_all
from hush_core.accounting.inverse import count_of_hazard, largest_hazard
from hush_core.errors import CertificationError, InputError
from hush_core.progress import Progress
from hush_core.weights.rates import largest_batch, sampling_rates
from hush_core.weights.settings import RoundSettings, largest_useful_c, unit_capacities

Solve = Callable[[np.ndarray], np.ndarray]
"""Capacities (m,) → the best weights (n,) under them."""

_PRECISION = 1e-4
"""Relative precision of s."""
_LEAST_SCALE = 1 / 0.9
"""s below this would mean rates above 0.9."""
_GRID = 16
"""Points at which s is searched for from above."""
_HALVINGS, _BISECTIONS = 24, 6
"""Along c: so often halved from c_max, then between the last two values."""
_PASSES = 5
_USED = 4e-3
"""Weights that need so little less than σ are settled."""


def fit_noise(
    solve: Solve,
    edges: pl.DataFrame,
    secrets: pl.DataFrame,
    mechanism: RoundSettings,
    *,
    noise_multiplier: float,
    most: int,
    progress: Progress | None = None,
) -> np.ndarray:
    """Capacities (m,) under which the best weights need at most `noise_multiplier`, and little less.

    Args:
        secrets: prior, posterior. most: Σw where no capacity binds.

    Raises:
        InputError: no weights let so large a batch be drawn at this noise; names a batch that works.
    """
    run = {"rounds": mechanism.rounds, "method": mechanism.method}
    aim, spread, found, works = noise_multiplier, None, None, 0
    for done in range(_PASSES):
        if progress:
            progress("fitting weights to the noise", done, _PASSES)
        hazards = largest_hazard(
            secrets["prior"].to_numpy(), secrets["posterior"].to_numpy(), noise_multiplier=aim, **run
        )
        capacities, works = _largest_scale(solve, hazards, spread, mechanism.expected_batch, most)
        if capacities is None:
            break
        weights = solve(capacities)
        needed = _needed(weights, edges, secrets, mechanism)
        if needed <= noise_multiplier:
            found = capacities
            if needed >= (1 - _USED) * noise_multiplier or weights.sum() >= most:
                break
        if not 0 < needed < np.inf:
            break
        aim *= (1 - _USED / 2) * noise_multiplier / needed
        spread = _counts_by_hazard(edges, sampling_rates(weights, mechanism.expected_batch), secrets.height)
    if progress:  # found before the last pass, as a rule
        progress("fitting weights to the noise", _PASSES, _PASSES)
    if found is None:
        found = _along_c(solve, edges, secrets, mechanism, noise_multiplier)
    if found is None:
        raise InputError(
            "train.batch",
            f"no weights certify an expected batch of {mechanism.expected_batch} at σ = {noise_multiplier:g}",
            f"set it to {works} or less, or allow more noise"
            if works
            else "allow more noise: no batch works at this one",
        )
    return found


def _needed(
    weights: np.ndarray, edges: pl.DataFrame, secrets: pl.DataFrame, mechanism: RoundSettings
) -> float:
    """The σ that certifies these weights; infinite where the batch cannot be drawn or no σ is certified."""
    try:
        rates = sampling_rates(weights, mechanism.expected_batch)
        if not rates[edges["example_id"].to_numpy()].any():
            return 0.0
        return noise_for_all(edges, rates, secrets, rounds=mechanism.rounds, method=mechanism.method)
    except (InputError, CertificationError):
        return np.inf


def _along_c(
    solve: Solve,
    edges: pl.DataFrame,
    secrets: pl.DataFrame,
    mechanism: RoundSettings,
    noise_multiplier: float,
) -> np.ndarray | None:
    """`matched` capacities at the largest c found whose weights need at most this noise; None where none does."""
    kappa = unit_capacities(secrets, "sqrt_kl" if mechanism.method == "kl" else "normal_quantiles")
    c_max = largest_useful_c(edges, kappa)

    def at(log_c: float) -> np.ndarray:
        return solve(c_max * float(np.exp2(log_c)) * kappa)

    def fits(log_c: float) -> bool:
        return _needed(at(log_c), edges, secrets, mechanism) <= noise_multiplier

    def too_few(log_c: float) -> bool:
        """The batch cannot be drawn from what is left."""
        return largest_batch(at(log_c)) < mechanism.expected_batch

    low = high = 0.0
    while not fits(low):
        if low <= -_HALVINGS or too_few(low):
            return None
        low, high = low - 1, low
        if too_few(low):
            low = _boundary(too_few, low, high, _HALVINGS)
            if not fits(low):
                return None
    best = _boundary(lambda log_c: not fits(log_c), high, low, _BISECTIONS) if low < high else low
    return c_max * float(np.exp2(best)) * kappa


def _boundary(wrong: Callable[[float], bool], bad: float, good: float, steps: int) -> float:
    """By bisection, the point nearest to `bad` that is not wrong; `good` is not."""
    for _ in range(steps):
        middle = (bad + good) / 2
        bad, good = (middle, good) if wrong(middle) else (bad, middle)
    return good


def _largest_scale(
    solve: Solve, hazards: np.ndarray, spread: np.ndarray | None, batch: int, most: int
) -> tuple[np.ndarray | None, int]:
    """Capacities s·Λ for the largest s found with W(s) ≥ s·B, and a batch that works; None where no s was found.

    `spread`: (m,) by how much Σρ is below Σ −log(1−ρ); without it, as if all rates were the largest.
    """

    def capacities(scale: float) -> np.ndarray:
        # no rate exceeds B/Σw, which is at most 1/s wherever the answer may lie
        least = count_of_hazard(hazards, largest_rate=1 / scale)
        return scale * (least if spread is None else np.maximum(least, hazards * spread))

    def spare(log_scale: float) -> float:
        """log W(s)/(s·B): at least 0 where the capacities are allowed."""
        scale = float(np.exp(log_scale))
        return float(np.log(max(solve(capacities(scale)).sum(), 1e-300) / (scale * batch)))

    least, top = float(np.log(_LEAST_SCALE)), max(float(np.log(max(most, 1e-300) / batch)), _LEAST_SCALE)
    best, high = -np.inf, top
    for low in np.linspace(top, least, _GRID).tolist():
        room = spare(low)
        best = max(best, room)
        if room >= 0:
            break
        high = low
    else:
        return None, int(batch * np.exp(best))
    if low == top:
        return capacities(float(np.exp(top))), batch
    root = float(brentq(spare, low, high, xtol=_PRECISION))
    while root > low and spare(root) < 0:
        root = max(root - _PRECISION, low)
    return capacities(float(np.exp(root))), batch


def _counts_by_hazard(edges: pl.DataFrame, rates: np.ndarray, m: int) -> np.ndarray:
    """Σρ / Σ −log(1−ρ) by secret, shape (m,); 1 where a secret takes no part."""
    example, secret = edges["example_id"].to_numpy(), edges["secret_id"].to_numpy()
    counts = np.bincount(secret, rates[example], m)
    with np.errstate(divide="ignore"):
        hazards = np.bincount(secret, -np.log1p(-rates[example]), m)
    return np.divide(counts, hazards, out=np.ones(m), where=hazards > 0)
