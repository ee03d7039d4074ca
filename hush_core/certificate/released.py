"""What the rounds of a certificate prove, again by the code that planned them: sampled ones, or a cycle."""

from __future__ import annotations

import numpy as np
import polars as pl

from hush_core.accounting import Curves, bound_secrets, posterior_curves
from hush_core.accounting.correlated import cycle_bounds, cycle_curves
from hush_core.certificate.document import PlanFacts


def bounds_again(
    plan: PlanFacts, weights: np.ndarray, edges: pl.DataFrame, secrets: pl.DataFrame
) -> pl.DataFrame:
    """The rows of `bound_secrets`, at the plan's σ and rounds."""
    if cycle := plan.cycle(weights, edges):
        return cycle_bounds(cycle, edges, secrets, noise_multiplier=plan.noise_multiplier, rounds=plan.rounds)
    rates, sigma, rounds = plan.as_run(weights, edges)
    return bound_secrets(edges, rates, secrets, noise_multiplier=sigma, rounds=rounds, method=plan.method)


def without_what_is_not_reached(plan: PlanFacts, together: pl.DataFrame) -> pl.DataFrame:
    """The bounds of all runs. `all_runs_lower` is left out if this run's rounds are in a cycle: beside other runs
    it counts as sampled rounds that reveal more, so a test that reaches their bound need not reach this one's."""
    if plan.strategy is None:
        return together
    return together.with_columns(all_runs_lower=pl.lit(None, pl.Float64))


def curves_again(plan: PlanFacts, weights: np.ndarray, edges: pl.DataFrame, secrets: pl.DataFrame) -> Curves:
    """Each secret's bound by prior."""
    if cycle := plan.cycle(weights, edges):
        return cycle_curves(cycle, edges, secrets, noise_multiplier=plan.noise_multiplier, rounds=plan.rounds)
    rates, sigma, rounds = plan.as_run(weights, edges)
    return posterior_curves(edges, rates, secrets, noise_multiplier=sigma, rounds=rounds, method=plan.method)
