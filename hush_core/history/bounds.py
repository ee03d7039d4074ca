"""What this run and all earlier ones prove together of each secret: the bound of who sees all that they released.

Runs of equal settings that promised a secret the same are taken to have been decided before any was seen, and
compose as a product (docs/guarantee.md §8, Proposition 13), each with all rounds of its plan; that entries and
globs were not changed for what a model showed is assumed. Of other runs a Rényi filter (Proposition 15) proves the
target itself, if every run promised the same prior and target, and all together, with all planned rounds, spend no
more than its budget. Its order hangs on these two alone: nobody chooses it later.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from hush_core.accounting import History, Participation, Run, budget, certify_runs, spent
from hush_core.accounting.bounds import BoundMethod
from hush_core.accounting.many_secrets.profiles import group_profiles
from hush_core.accounting.renyi_filter import tail_of
from hush_core.errors import CertificationError
from hush_core.history.earlier import Earlier
from hush_core.progress import Progress

ALL_RUNS = {
    "secret_id": pl.UInt32, "all_runs": pl.Float64, "all_runs_method": pl.String, "all_runs_lower": pl.Float64,
}  # fmt: skip
FILTER = "renyi_filter"


def bounds_of_all_runs(
    edges: pl.DataFrame,
    rates: np.ndarray,
    bounds: pl.DataFrame,
    earlier: Earlier,
    *,
    noise_multiplier: float,
    rounds: int,
    settings: str,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> pl.DataFrame:
    """secret_id · all_runs · all_runs_method · all_runs_lower; all null where nothing can be said.

    Args:
        edges, rates, noise_multiplier, rounds, method: as for `bound_secrets`. bounds: its rows, of this run alone.
        settings: this run's (`RunText`).

    Guarantee: as of `posterior_bound`, for who sees every round of this run and of those in `earlier`.

    Raises:
        CertificationError: no method certifies the runs of a secret.
    """
    bounds = bounds.sort("secret_id")
    found = bounds.select("secret_id", all_runs="bound", all_runs_method="method", all_runs_lower="lower")
    if not (earlier.profiles.height or earlier.unknown or earlier.bare.any()):
        return found.cast(dict(ALL_RUNS))
    profiles, (alike, unlike) = group_profiles(edges, rates, bounds), by_settings(earlier, settings)
    if alike.height:
        own = [profiles.participation(place) for place in range(len(profiles))]
        together = history_of(earlier, alike).with_run(
            noise_multiplier, rounds, np.arange(bounds.height), own, profiles.of_secret
        )
        ids = alike["secret_id"].unique().sort().to_numpy()
        done = certify_runs(
            together.restricted(ids), bounds["prior"].to_numpy(), bounds["posterior"].to_numpy(),
            method=method, progress=progress,
        ).table[ids]  # fmt: skip
        names = {
            "secret": "secret_id",
            "bound": "all_runs",
            "method": "all_runs_method",
            "lower": "all_runs_lower",
        }
        found = found.update(done.select(names.keys()).rename(names), on="secret_id", include_nulls=True)

    def mine(secret: int) -> Run:
        return Run(profiles.participation(int(profiles.of_secret[secret])), noise_multiplier, rounds)

    nothing = set(range(bounds.height)) if earlier.unknown else set(np.flatnonzero(earlier.bare).tolist())
    filtered = _filtered(unlike, mine, bounds)
    nothing |= set(unlike["secret_id"].to_list()) - filtered
    lost, proved = (pl.col("secret_id").is_in(sorted(ids)) for ids in (nothing, filtered - nothing))
    values = {"all_runs": bounds["posterior"], "all_runs_method": pl.lit(FILTER)}
    return found.with_columns(
        pl.when(lost).then(None).when(proved).then(values.get(name)).otherwise(name).alias(name)
        for name in ("all_runs", "all_runs_method", "all_runs_lower")
    ).cast(dict(ALL_RUNS))


def by_settings(earlier: Earlier, settings: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of `earlier.profiles` with their runs: of secrets whose runs all had these settings, and promised
    them what this one does; of others."""
    rows = earlier.profiles.join(earlier.runs, on="run").sort("secret_id", "run")
    same = ((pl.col("settings") == settings) & pl.col("same_promise")).all().over("secret_id")
    marked = rows.with_columns(same=same)
    return marked.filter("same"), marked.filter(~pl.col("same"))


def history_of(earlier: Earlier, rows: pl.DataFrame) -> History:
    """The earlier runs of these rows, in the accountants' columns; all rounds of each plan."""
    runs = earlier.runs.sort("run")
    return History.of_binomials(
        runs["noise_multiplier"].to_numpy(), runs["rounds"].to_numpy(), secret=rows["secret_id"].to_numpy(),
        run=rows["run"].to_numpy(), examples=rows["examples"].to_numpy(), rate=rows["rate"].to_numpy(),
    )  # fmt: skip


def filter_order(prior: float, target: float) -> float:
    """The α at which Gaussian releases spend least of the target's budget: 1/(1 − √(log r/log p))."""
    return float(1 / (1 - np.sqrt(np.log(target) / np.log(prior))))


def _filtered(unlike: pl.DataFrame, mine: Callable[[int], Run], bounds: pl.DataFrame) -> set[int]:
    """The secrets whose runs, of whatever settings, keep within the filter's budget."""
    kept = set()
    for group in unlike.partition_by("secret_id", maintain_order=True):
        secret = int(group["secret_id"][0])
        if not group["same_promise"].all():
            continue
        columns = group.select("examples", "rate", "noise_multiplier", "rounds").iter_rows()
        runs = [Run(Participation.binomial(n, rate), sigma, t) for n, rate, sigma, t in columns]
        runs.append(mine(secret))
        prior, target = bounds["prior"][secret], bounds["posterior"][secret]
        order = filter_order(prior, target)
        try:
            room = target * (1 - 1e-9) - tail_of(runs)
            if spent(runs, order) <= budget(prior, room, order):
                kept.add(secret)
        except CertificationError:
            continue  # the order is too large for the numerics here: nothing is said
    return kept
