"""What this run and all earlier ones prove together of each secret: the bound against one who sees all releases.

Runs with equal settings that promised a secret the same are taken to have been decided before any of them was seen.
They compose as a product (docs/mathematics.md §8, Proposition 13), each with all rounds of its plan. It is assumed
that entries and globs were not changed for what a model showed.
For other runs a Rényi filter (Proposition 15) proves the target itself. Every run must have promised the same prior
and target, and all together, with all planned rounds, must stay within the filter's budget. Its order depends on
prior and target alone: nobody chooses it later.
"""

import numpy as np
import polars as pl

from hush_core.accounting import History, Run, certify_runs
from hush_core.accounting.bounds import BoundMethod
from hush_core.accounting.many_secrets.profiles import group_profiles
from hush_core.history.earlier import Earlier
from hush_core.history.filtered import kept_by_filter
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
    promised: bool = False,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """secret_id · all_runs · all_runs_method · all_runs_lower; all null where nothing can be said.

    Args:
        edges, rates, noise_multiplier, rounds, method: as for `bound_secrets`. bounds: its rows, of this run alone.
        settings: this run's (`RunText`). promised: this run's noise follows from the earlier runs (`by_settings`).

    Guarantee: as of `posterior_bound`, for who sees every round of this run and of those in `earlier`.

    Raises:
        CertificationError: no method certifies the runs of a secret.
    """
    bounds = bounds.sort("secret_id")
    found = bounds.select("secret_id", all_runs="bound", all_runs_method="method", all_runs_lower="lower")
    if not (earlier.profiles.height or earlier.unknown or earlier.noise_free.any()):
        return found.cast(dict(ALL_RUNS))
    profiles = group_profiles(edges, rates, bounds)
    alike, unlike = by_settings(earlier, settings, promised=promised)
    if alike.height:
        together = history_of(earlier, alike).with_run(profiles.as_run(noise_multiplier, rounds))
        ids = alike["secret_id"].unique().sort().to_numpy()
        done = certify_runs(
            together.restricted(ids), bounds["prior"].to_numpy(), bounds["posterior"].to_numpy(),
            method=method, progress=progress,
        ).table[ids]  # fmt: skip
        done = done.select(
            secret_id="secret", all_runs="bound", all_runs_method="method", all_runs_lower="lower"
        )
        found = found.update(done, on="secret_id", include_nulls=True)

    def own_run(secret: int) -> Run:
        return Run(profiles.participation(int(profiles.of_secret[secret])), noise_multiplier, rounds)

    noise_free = np.flatnonzero(earlier.noise_free).tolist()
    nothing = set(range(bounds.height) if earlier.unknown else noise_free)
    same = unlike.filter(pl.col("same_promise").all().over("secret_id"))
    filtered = kept_by_filter(same, own_run, bounds)
    nothing |= set(unlike["secret_id"].to_list()) - filtered
    lost, proved = (pl.col("secret_id").is_in(sorted(ids)) for ids in (nothing, filtered - nothing))
    values = {"all_runs": bounds["posterior"], "all_runs_method": pl.lit(FILTER)}
    return found.with_columns(
        pl.when(lost).then(None).when(proved).then(values.get(name)).otherwise(name).alias(name)
        for name in ("all_runs", "all_runs_method", "all_runs_lower")
    ).cast(dict(ALL_RUNS))


def by_settings(
    earlier: Earlier, settings: str, *, promised: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of `earlier.profiles` with their runs, in two parts. First, secrets whose runs all had these
    settings and promised them what this run does; then the others. Under a promise of several runs σ follows from
    all earlier ones, also from those without the secret: then all of them must have had these settings."""
    rows = earlier.profiles.join(earlier.runs, on="run").sort("secret_id", "run")
    alike = (
        pl.lit(bool((earlier.runs["settings"] == settings).all()))
        if promised
        else pl.col("settings") == settings
    )
    same = (alike & pl.col("same_promise")).all().over("secret_id")
    marked = rows.with_columns(same=same)
    return marked.filter("same"), marked.filter(~pl.col("same"))


def history_of(earlier: Earlier, rows: pl.DataFrame) -> History:
    """The earlier runs of these rows, in the accountants' columns; all rounds of each plan."""
    runs = earlier.runs.sort("run")
    return History.of_binomials(
        runs["noise_multiplier"].to_numpy(), runs["rounds"].to_numpy(), secret=rows["secret_id"].to_numpy(),
        run=rows["run"].to_numpy(), examples=rows["examples"].to_numpy(), rate=rows["rate"].to_numpy(),
    )  # fmt: skip
