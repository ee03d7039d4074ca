"""Every secret's bound and curve under a cycle, in the tables that sampled rounds have (`many_secrets`)."""

import numpy as np
import polars as pl
from scipy.special import ndtri

from hush_core.accounting.correlated.cycle import Cycle
from hush_core.accounting.correlated.sensitivity import gaussian_posteriors, participations, sensitivities
from hush_core.accounting.many_secrets.curves import MOST_CURVES, Curves, curve_priors

METHOD = "gaussian"
"""What proves a bound here: Propositions C1 and C2 of docs/mathematics.md."""
_SLACK = 1e-6
"""By how much of itself a bound lies above what is exact at most: sensitivity and quantiles are rounded up."""


def cycle_bounds(
    cycle: Cycle, edges: pl.DataFrame, secrets: pl.DataFrame, *, noise_multiplier: float, rounds: int
) -> pl.DataFrame:
    """The rows of `bound_secrets`; `noise_needed` is each secret's own smallest σ.

    Args:
        edges: example_id (the item), secret_id. secrets: secret_id, prior, posterior, dense and in order.
    """
    counts = participations(cycle.groups, edges, period=cycle.period, n_secrets=secrets.height)
    moved = sensitivities(cycle.strategy, counts, rounds)
    prior, target = secrets["prior"].to_numpy(), secrets["posterior"].to_numpy()
    bound = gaussian_posteriors(prior, moved / noise_multiplier)
    lower = _lower(prior, moved / noise_multiplier)
    none = pl.lit(None)
    return pl.DataFrame(
        {
            "secret_id": secrets["secret_id"],
            "examples": counts.sum(axis=1).astype(np.uint32),
            "expected_participation": counts.sum(axis=1) / cycle.period,
            "prior": secrets["prior"],
            "posterior": secrets["posterior"],
            "bound": bound,
            "method": pl.repeat(METHOD, secrets.height, eager=True, dtype=pl.String),
            "numerical_error": np.where(moved > 0, bound * _SLACK, 0.0),
            "lower": lower,
        }
    ).with_columns(
        dominating_examples=none.cast(pl.UInt32),
        dominating_rate=none.cast(pl.Float64),
        dominating_prior=none.cast(pl.Float64),
        noise_needed=pl.Series(moved / (ndtri(target) - ndtri(prior))),
    )


def cycle_curves(
    cycle: Cycle, edges: pl.DataFrame, secrets: pl.DataFrame, *, noise_multiplier: float, rounds: int
) -> Curves:
    """The curves of `posterior_curves`: one a sensitivity, or, of more than MOST_CURVES, one of the largest of each
    share of them."""
    moved = cycle.sensitivities(edges, n_secrets=secrets.height, rounds=rounds)
    levels = np.unique(moved)
    if len(levels) > MOST_CURVES:
        levels = levels[np.linspace(0, len(levels) - 1, MOST_CURVES + 1).round().astype(int)[1:]]
    of_secret = np.searchsorted(levels, moved)
    levels, of_secret = levels[np.unique(of_secret)], np.unique(of_secret, return_inverse=True)[1]
    priors = curve_priors(float(secrets["prior"].min()))
    frames = []
    for number, level in enumerate(levels):
        bound = gaussian_posteriors(priors, np.full(len(priors), level / noise_multiplier))
        least = moved[of_secret == number].min()
        lower = _lower(priors, np.full(len(priors), least / noise_multiplier))
        frames.append(
            pl.DataFrame(
                {
                    "curve": pl.Series(np.full(len(priors), number), dtype=pl.UInt32),
                    "examples": pl.Series([None] * len(priors), dtype=pl.UInt32),
                    "rate": pl.Series([None] * len(priors), dtype=pl.Float64),
                    "prior": priors,
                    "bound": bound,
                    "method": pl.repeat(METHOD, len(priors), eager=True, dtype=pl.String),
                    "numerical_error": np.full(len(priors), _SLACK) * bound * (level > 0),
                    "lower": lower,
                }
            )
        )
    return Curves(pl.concat(frames), of_secret)


def _lower(prior: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """What no proof can go below: the bound, less all that it was rounded up by."""
    return np.maximum(gaussian_posteriors(prior, shift) * (1 - _SLACK), prior)
