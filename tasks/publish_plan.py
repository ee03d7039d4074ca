"""The frontier of a plan: one row a point, the best one, and where people look: files, picture, tracker."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl
from pydantic import BaseModel

from hush_core import figures
from hush_core.config import HushConfig, Method
from hush_core.weights import Way, recommended
from hush_core.weights.roles import WithoutSecret
from tasks.extraction import Extracted
from tasks.runtime.steps import step
from tasks.runtime.store import Store, open_store
from tasks.runtime.tracking import log_look, staged
from tasks.weighing import Relaxation, Weighed


class NoiseOfRuns(BaseModel, frozen=True):
    """The noise multiplier with which so many runs keep every target together; None where none is certified."""

    runs: int
    from_start: float | None
    """Each begins at the public start."""
    from_previous: float | None
    """Each but the first starts from the model before, for `later_rounds`."""
    later_rounds: int


class PlanRow(BaseModel, frozen=True):
    """One point: what is kept, and the noise it takes; `note` says why where there is no such noise."""

    method: Method
    c: float | None
    noise_asked: float | None
    """The σ that the weights were fitted to, where σ was swept."""
    noise_multiplier: float | None
    weight_retained: float | None
    protected_retained: float | None
    """The same, of the examples with a secret."""
    examples_kept: float | None
    distinct: float | None
    """Expected number of distinct examples that the rounds draw."""
    largest_batch: int | None
    gap: float | None
    without_secret: WithoutSecret = "noise"
    trained_plain: int | None = None
    """Examples that ordinary training sees before the rounds."""
    drowned: bool | None
    """Whether the noise is longer than all gradients can be (`hush_core.weights.drowns`); None: not known."""
    note: str


class CostlySecret(BaseModel, frozen=True):
    """A secret for whose sake weight is lost."""

    name: str
    posterior: float
    examples: int
    load: float
    lost: float
    lost_examples: int


class Published(BaseModel, frozen=True):
    """Where the plan lies, and the secrets that lose most weight at the best point."""

    folder: str
    run_url: str | None
    costly: list[CostlySecret]
    lost_outright: int
    """Examples of weight 0 at the best point."""
    lost_partly: int


MOST_COSTLY = 8
LOGGED = ("ways.csv", "frontier.csv", "frontier.png", "runs.csv", "runs.png", "secrets.csv", "reliefs.csv")


def frame(rows: Iterable[BaseModel]) -> pl.DataFrame:
    """One row a model."""
    return pl.DataFrame([row.model_dump() for row in rows], infer_schema_length=None)


def frame_of(rows: list[PlanRow], chosen: int | None = None) -> pl.DataFrame:
    """The rows as a table. `best_point`: that of `chosen`; `recommended`: the same, unless its noise drowns the
    training."""
    numbers = dict.fromkeys(("c", "noise_multiplier", "protected_retained"), pl.Float64)
    table = frame(rows).cast({**numbers, "drowned": pl.Boolean})
    best = pl.int_range(pl.len()) == (-1 if chosen is None else chosen)
    return table.with_columns(
        best.alias("best_point"), (best & ~pl.col("drowned").fill_null(False)).alias("recommended")
    )


def recommend(rows: list[PlanRow], method: Method) -> int | None:
    """The best row among those of one method; None where none has a noise multiplier."""
    own = [place for place, row in enumerate(rows) if row.method == method]
    found = recommended(frame_of([rows[place] for place in own]))
    return None if found is None else own[found]


@step(name="publish-frontier")
def publish_frontier(
    config: HushConfig,
    extracted: Extracted,
    rows: list[PlanRow],
    chosen: int | None,
    weighed: Weighed | None,
    relaxations: list[Relaxation],
    noise_by_runs: list[NoiseOfRuns],
    folder: str,
    ways: tuple[Way, ...] = (),
) -> Published:
    """Write tables and picture to `folder`, and log all but the lost examples' paths to the tracker.

    ways.csv (which way each entry goes). Where something is learned under noise, frontier.csv · frontier.png, and
    of the best point runs.csv and runs.png (noise by the number of runs that the targets hold for) ·
    secrets.csv (which bind, what is lost for them) · reliefs.csv · lost.parquet (which examples are lost and why;
    the only one with paths, so it stays here).
    """
    store, out, best = open_store(), Path(folder), None if chosen is None else rows[chosen]
    with staged(out) as work:
        if ways:
            frame(ways).write_csv(work / "ways.csv")
        if rows:
            table = frame_of(rows, chosen)
            table.write_csv(work / "frontier.csv")
            figures.frontier(table, work / "frontier.png")
        if noise_by_runs:
            kinds = {"from_start": pl.Float64, "from_previous": pl.Float64}
            kinds = {"runs": pl.UInt32, **kinds, "later_rounds": pl.UInt32}
            by_runs = pl.DataFrame([row.model_dump() for row in noise_by_runs], schema=kinds)
            by_runs.write_csv(work / "runs.csv")
            figures.noise_by_runs(by_runs, work / "runs.png")
        costly, lost = [], pl.DataFrame(schema={"weight": pl.Float64})
        if weighed:
            secrets, lost = _reasons(store, extracted, weighed)
            secrets.write_csv(work / "secrets.csv")
            lost.write_parquet(work / "lost.parquet")
            frame(relaxations).write_csv(work / "reliefs.csv")
            costly = [CostlySecret(**row) for row in secrets.head(MOST_COSTLY).iter_rows(named=True)]
    url = log_look(
        experiment=config.tracking.experiment,
        run_name="plan",
        params={
            "method": config.method, "capacities": config.weights.capacities, "rounds": config.train.rounds,
            "expected_batch": config.train.batch,
        },
        metrics={
            "recommended_c": best.c, "noise_multiplier": best.noise_multiplier,
            "weight_retained": best.weight_retained,
        } if best else {},
        files=[out / name for name in LOGGED if (out / name).is_file()],
    )  # fmt: skip
    outright = int((lost["weight"] == 0).sum())
    return Published(
        folder=str(out),
        run_url=url,
        costly=costly,
        lost_outright=outright,
        lost_partly=lost.height - outright,
    )


def _reasons(store: Store, extracted: Extracted, weighed: Weighed) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(secrets that cost weight, the costliest first; lost examples with their places and the secret to blame)."""
    names = store.read_frame(extracted.secrets).select("secret_id", "name", "posterior")
    binding = store.read_frame(weighed.binding).join(names, on="secret_id")
    places = store.read_frame(extracted.examples).select("example_id", "source", "path", "start", "end")
    lost = (
        store.read_frame(weighed.lost)
        .join(names.select("secret_id", pl.col("name").alias("because_of")), on="secret_id")
        .join(places, on="example_id")
        .select("source", "path", "start", "end", "weight", "because_of", "reasons", "price")
        .sort("weight", "source", "path", "start")
    )
    columns = ("name", "posterior", "examples", "capacity", "load", "binds", "price", "lost", "lost_examples")
    return binding.filter(pl.col("binds")).select(columns).sort(
        "lost", "name", descending=[True, False]
    ), lost
