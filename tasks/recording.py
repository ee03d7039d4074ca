"""Step 6b: pictures, then one MLflow run with a registered model version that carries its certificate."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
from prefect import task
from prefect.states import State

from hush_core import figures
from hush_core.certificate import read_certificate
from hush_core.mechanisms.unit_pools import without_reasons
from tasks.description import describe, numbers_of
from tasks.outcome import Outcome
from tasks.runtime.environment import retry_pauses
from tasks.runtime.registry import Registered, logged_version, record_run
from tasks.runtime.store import open_store
from tasks.runtime.tracking import is_unreachable
from tasks.runtime.versions import MADE_BY, versions_of
from tasks.wording import AgainstChampion, counted

PREVIEWED = 1000
"""Rows of a table that are logged as CSV too."""
AGAIN_AFTER = retry_pauses()
"""What was trained is in the store all the while; after them, the same command resumes from there."""
RELEASED = "rounds_released"
RUN, ALONE, TOGETHER = "runs_on_this_data", "worst_bound_to_target", "worst_all_runs_to_target"
"""Tags of a version: which run it is of, and its bounds of that run and of all so far nearest to their targets."""


def _tracker_is_unreachable(task: object, run: object, state: State) -> bool:
    """Whether a step failed because nobody answered, after MLflow's own tries (minutes): it may tomorrow."""
    try:
        state.result()
    except Exception as error:
        return is_unreachable(error)
    return False


@task(
    name="record",
    task_run_name="record-run",
    retries=len(AGAIN_AFTER),
    retry_delay_seconds=AGAIN_AFTER,
    retry_condition_fn=_tracker_is_unreachable,
)
def record(run: Outcome, warnings: list[str], ways: list[str], against: AgainstChampion | None) -> Registered:
    """Log and register. Not cached: the tracker decides whether this certificate is registered already."""
    store, tracking = open_store(), run.config.tracking
    certificate_dir = store.path(run.certificate, verify=True)
    known = logged_version(tracking.experiment, tracking.model, certificate_dir)
    if known is not None:
        return known  # before any picture is drawn
    with store.scratch() as folder:
        return record_run(
            experiment=tracking.experiment,
            model_name=tracking.model,
            params=_params(run),
            metrics=numbers_of(run),
            folders={"tables": _tables(run, Path(folder)), "pictures": draw(run, Path(folder))},
            certificate_dir=certificate_dir,
            model_dir=store.path(run.trained.model.files, verify=True),
            tags=_tags(run),
            description=describe(run, warnings, ways, against),
            training=run.trained.run,
        )


def parameter_name(name: str) -> str:
    """A name that MLflow takes; a repository may be called otherwise.

    >>> parameter_name("source.gtk+")
    'source.gtk_'
    """
    return re.sub(r"[^\w\-. :/]", "_", name)


def _params(run: Outcome) -> dict[str, object]:
    config, train = run.config, run.config.train
    return {
        "method": config.method,
        "mechanism": config.mechanism.kind,
        "capacities": config.weights.capacities,
        "c": float(f"{run.weighed.c:.12g}"),
        "rounds": run.calibrated.rounds,
        "goes_on_from": run.champion.uri if run.champion else "public start",
        "expected_batch": train.batch,
        "clip_norm": train.clip_norm,
        "learning_rate": run.learning_rate,
        "optimizer": train.optimizer,
        "untagged_batch": train.untagged_batch,
        "precision": train.precision,
        "processes": train.processes,
        "model": run.model_in_words,
        "pretrain_steps": config.pretrain.steps,
        "without_secret": config.weights.without_secret,
        "trained_without_noise": run.weighed.trained_plain,
        **{parameter_name(f"source.{name}"): mark[:16] for name, mark in run.extracted.commits.items()},
    }


def _tables(run: Outcome, folder: Path) -> dict[str, Path]:
    """By readable name: those of the store, two that are made into `folder`, and previews of all."""
    tables = {
        "secrets": run.extracted.secrets,
        "weights": run.weighed.weights,
        "binding": run.weighed.binding,
        "bounds": run.calibrated.bounds,
        "exposure": run.attacked.table,
        "exposure_before": run.before_attacked.table,
        "coverage": run.extracted.coverage,
        "earlier_runs": run.trained.others.by_secret,
    }
    if run.redacted_before and run.redacted_attacked:
        tables["redacted"] = run.extracted.redacted
        tables["exposure_redacted"] = run.redacted_attacked.table
        tables["exposure_redacted_before"] = run.redacted_before.table
    if run.unprotected_attacked:
        tables["exposure_unprotected"] = run.unprotected_attacked.table
    paths = {name: open_store().path(ref) for name, ref in tables.items()}
    made = {"edges": without_reasons(run.read(run.extracted.edges)), "learning_curves": run.learning_table}
    for name, table in made.items():
        if name == "edges" or table.height:
            paths[name] = folder / f"{name}.parquet"
            table.write_parquet(paths[name])
    previews = {f"{name}.preview": preview(path, folder) for name, path in paths.items()}
    return paths | {name: path for name, path in previews.items() if path}


def preview(table: Path, folder: Path) -> Path | None:
    """The first rows as CSV, as MLflow's UI shows no parquet; None of what is no table."""
    if table.suffix != ".parquet":
        return None
    rows = pl.read_parquet(table, n_rows=PREVIEWED)
    nested = [name for name, kind in rows.schema.items() if kind.is_nested()]
    shown = rows.with_columns(pl.col(name).map_elements(str, return_dtype=pl.String) for name in nested)
    shown.write_csv(folder / f"{table.parent.name}-{table.stem}.csv")
    return folder / f"{table.parent.name}-{table.stem}.csv"


def draw(run: Outcome, folder: Path) -> dict[str, Path]:
    """Every picture of the job, drawn from its tables into `folder`."""
    read, certified, unit = run.read, run.certified, run.trained.model.unit
    edges, secrets = read(run.extracted.edges), read(run.extracted.secrets)
    drawn: dict[str, Path] = {}

    def picture(name: str, *tables: object, **options: object) -> None:
        drawn[name] = getattr(figures, name)(*tables, folder / f"{name}.png", **options)

    picture("weights_retained", read(run.weighed.weights), edges, secrets)
    picture("secret_graph", edges, secrets)
    picture("posterior_against_target", read(run.calibrated.bounds), secrets)
    picture("posterior_curves", certified["curves.parquet"], certified["bounds.parquet"], secrets)
    drawn["loss"] = figures.losses(run.losses, folder / "loss.png", unit=unit)
    if noise := {method: plan.noise_multiplier for method, plan in run.by_method.items() if plan}:
        picture("noise_by_method", noise)
    if (curves := run.learning_table).height:
        picture("learning_curves", curves, unit=unit)
    if (runs := runs_so_far(run)).height > 1:
        picture("bound_by_run", runs, promised=run.config.promise.runs if run.config.promise else None)
    if run.attacked.secrets:
        theirs = read(run.unprotected_attacked.table) if run.unprotected_attacked else None
        drawn["exposure"] = figures.exposure(
            read(run.attacked.table), theirs, folder / "exposure.png", before=read(run.before_attacked.table)
        )
    return drawn


def runs_so_far(run: Outcome) -> pl.DataFrame:
    """run · alone · together: the bound nearest to its target, of the registered versions and of this one."""
    earlier = sorted(versions_of(run.config.tracking.model), key=lambda version: int(version.version))
    runs = [*(version.tags for version in earlier), _tags(run)]
    runs = [tags for tags in runs if RUN in tags and tags.get(RELEASED) != "0"]  # nothing is one of 0 rounds
    rows = [(int(tags[RUN]), _number(tags[ALONE]), _number(tags[TOGETHER])) for tags in runs]
    kinds = {"run": pl.UInt32, "alone": pl.Float64, "together": pl.Float64}
    return pl.DataFrame(rows, schema=kinds, orient="row").unique("run", keep="last").sort("run")


def _number(text: str) -> float | None:
    """Of a tag; None where it says in words that there is no number."""
    try:
        return float(text)
    except ValueError:
        return None


def _tags(run: Outcome) -> dict[str, str]:
    certificate, together, others = read_certificate(run.certificate_dir), run.all_runs, run.trained.others
    nothing = f"nothing promised of {counted(together.nothing, 'secret')}"
    return {
        "method": run.calibrated.method,
        "noise_multiplier": f"{run.calibrated.noise_multiplier or 0:.6g}",
        RELEASED: str(run.trained.rounds_released),
        ALONE: f"{run.worst_ratio:.6g}",
        "certificate_digest": certificate.digest,
        MADE_BY: f"{certificate.facts.store} {certificate.facts.run}",
        RUN: str(others.most + (run.calibrated.rounds > 0)),
        "secrets_trained_before": str(others.secrets),
        TOGETHER: nothing if together.nothing else f"{together.worst or 0.0:.6g}",
    }
