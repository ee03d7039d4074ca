"""What the rounds of a certificate prove, again by the code that planned them: sampled ones, or a cycle."""

import numpy as np
import polars as pl

from hush_core.accounting import Curves, bound_secrets, posterior_curves
from hush_core.accounting.correlated import cycle_bounds, cycle_curves
from hush_core.certificate.document import PlanFacts
from hush_core.history import Earlier, bounds_of_all_runs
from hush_core.progress import Progress


def bounds_again(
    plan: PlanFacts, weights: np.ndarray, edges: pl.DataFrame, secrets: pl.DataFrame
) -> pl.DataFrame:
    """The rows of `bound_secrets`, at the plan's σ and rounds."""
    if cycle := plan.cycle(weights, edges):
        return cycle_bounds(cycle, edges, secrets, noise_multiplier=plan.noise_multiplier, rounds=plan.rounds)
    rates, sigma, rounds = plan.as_run(weights, edges)
    return bound_secrets(edges, rates, secrets, noise_multiplier=sigma, rounds=rounds, method=plan.method)


def all_runs_again(
    plan: PlanFacts,
    weights: np.ndarray,
    edges: pl.DataFrame,
    bounds: pl.DataFrame,
    earlier: Earlier,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """`bounds_of_all_runs`. `all_runs_lower` is left out if this run's rounds are in a cycle: beside other runs it
    counts as sampled rounds that reveal more, so a test that reaches their bound need not reach this one's."""
    rates, sigma, rounds = plan.as_run(weights, edges)
    together = bounds_of_all_runs(
        edges, rates, bounds, earlier, settings=plan.settings, promised=plan.promised_runs is not None,
        noise_multiplier=sigma, rounds=rounds, method=plan.method, progress=progress,
    )  # fmt: skip
    return (
        together if plan.strategy is None else together.with_columns(all_runs_lower=pl.lit(None, pl.Float64))
    )


def earlier_of(unknown: int, tables: dict[str, pl.DataFrame]) -> Earlier:
    """The other runs that a certificate names, as it was written from them."""
    noise_free = tables["bounds.parquet"]["bare"].to_numpy()
    return Earlier(tables["runs.parquet"], tables["history.parquet"], noise_free, unknown)


def curves_again(plan: PlanFacts, weights: np.ndarray, edges: pl.DataFrame, secrets: pl.DataFrame) -> Curves:
    """Each secret's bound by prior."""
    if cycle := plan.cycle(weights, edges):
        return cycle_curves(cycle, edges, secrets, noise_multiplier=plan.noise_multiplier, rounds=plan.rounds)
    rates, sigma, rounds = plan.as_run(weights, edges)
    return posterior_curves(edges, rates, secrets, noise_multiplier=sigma, rounds=rounds, method=plan.method)
