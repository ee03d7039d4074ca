"""Step 6b: pictures, then one MLflow run with a registered model version that carries its certificate."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
from prefect import task
from prefect.states import State

from hush_core import figures
from hush_core.certificate import read_certificate, read_tables
from hush_core.config import HushConfig
from hush_core.mechanisms.unit_pools import without_reasons
from tasks.against import AgainstChampion
from tasks.description import describe, model_in_words
from tasks.outcome import Outcome, all_runs, learning_table, losses, worst_ratio
from tasks.run_numbers import numbers_of
from tasks.runtime.environment import retry_pauses
from tasks.runtime.registry import Registered, logged_version, record_run
from tasks.runtime.store import Store, open_store
from tasks.runtime.tracking import is_away
from tasks.runtime.versions import MADE_BY, versions_of
from tasks.wording import counted

PREVIEWED = 1000
"""Rows of a table that are logged as CSV too."""
AGAIN_AFTER = retry_pauses()
"""What was trained is in the store all the while; after them, the same command resumes from there."""
RELEASED = "rounds_released"
RUN, ALONE, TOGETHER = "runs_on_this_data", "worst_bound_to_target", "worst_all_runs_to_target"
"""Tags of a version: which run it is of, and its bounds of that run and of all so far nearest to their targets."""


def _tracker_is_away(task: object, run: object, state: State) -> bool:
    """Whether a step failed because nobody answered, after MLflow's own tries (minutes): it may tomorrow."""
    try:
        state.result()
    except Exception as error:
        return is_away(error)
    return False


@task(
    name="record",
    task_run_name="record-run",
    retries=len(AGAIN_AFTER),
    retry_delay_seconds=AGAIN_AFTER,
    retry_condition_fn=_tracker_is_away,
)
def record(
    config: HushConfig,
    outcome: Outcome,
    warnings: list[str],
    ways: list[str],
    against: AgainstChampion | None,
) -> Registered:
    """Log and register. Not cached: the tracker decides whether this certificate is registered already."""
    store = open_store()
    certificate_dir = store.path(outcome.certificate, verify=True)
    known = logged_version(config.tracking.experiment, config.tracking.model, certificate_dir)
    if known is not None:
        return known  # before any picture is drawn
    with store.scratch() as folder:
        return record_run(
            experiment=config.tracking.experiment,
            model_name=config.tracking.model,
            params=_params(config, outcome),
            metrics=numbers_of(store, outcome),
            folders={
                "tables": _tables(store, outcome, Path(folder)),
                "pictures": draw(store, config, outcome, Path(folder)),
            },
            certificate_dir=certificate_dir,
            model_dir=store.path(outcome.trained.model.files, verify=True),
            tags=_tags(store, outcome),
            description=describe(store, config, outcome, warnings, ways, against),
            training=outcome.trained.run,
        )


def parameter_name(name: str) -> str:
    """A name that MLflow takes; a repository may be called otherwise.

    >>> parameter_name("source.gtk+")
    'source.gtk_'
    """
    return re.sub(r"[^\w\-. :/]", "_", name)


def _params(config: HushConfig, outcome: Outcome) -> dict[str, object]:
    train = config.train
    return {
        "method": config.method,
        "mechanism": config.mechanism.kind,
        "capacities": config.weights.capacities,
        "c": float(f"{outcome.weighed.c:.12g}"),
        "rounds": outcome.calibrated.rounds,
        "goes_on_from": outcome.champion.uri if outcome.champion else "public start",
        "expected_batch": train.batch,
        "clip_norm": train.clip_norm,
        "learning_rate": outcome.learning_rate,
        "optimizer": train.optimizer,
        "untagged_batch": train.untagged_batch,
        "precision": train.precision,
        "processes": train.processes,
        "model": model_in_words(config),
        "pretrain_steps": config.pretrain.steps,
        "without_secret": config.weights.without_secret,
        "trained_without_noise": outcome.weighed.trained_plain,
        **{parameter_name(f"source.{name}"): mark[:16] for name, mark in outcome.extracted.commits.items()},
    }


def _tables(store: Store, outcome: Outcome, folder: Path) -> dict[str, Path]:
    tables = {
        "secrets": outcome.extracted.secrets,
        "weights": outcome.weighed.weights,
        "binding": outcome.weighed.binding,
        "bounds": outcome.calibrated.bounds,
        "exposure": outcome.attacked.table,
        "exposure_before": outcome.before_attacked.table,
        "coverage": outcome.extracted.coverage,
        "earlier_runs": outcome.trained.others.by_secret,
    }
    if outcome.redacted_before and outcome.redacted_attacked:
        tables["redacted"] = outcome.extracted.redacted
        tables["exposure_redacted"] = outcome.redacted_attacked.table
        tables["exposure_redacted_before"] = outcome.redacted_before.table
    if outcome.unprotected_attacked:
        tables["exposure_unprotected"] = outcome.unprotected_attacked.table
    paths = {name: store.path(ref) for name, ref in tables.items()}
    paths["edges"] = folder / "edges.parquet"
    without_reasons(store.read_frame(outcome.extracted.edges)).write_parquet(paths["edges"])
    if (curves := learning_table(outcome)).height:
        paths["learning_curves"] = folder / "learning_curves.parquet"
        curves.write_parquet(paths["learning_curves"])
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


def draw(store: Store, config: HushConfig, outcome: Outcome, folder: Path) -> dict[str, Path]:
    """Every picture of the job, drawn from its tables into `folder`."""
    read = store.read_frame
    edges, secrets = read(outcome.extracted.edges), read(outcome.extracted.secrets)
    certified = read_tables(store.path(outcome.certificate))
    unit = outcome.trained.model.unit

    def at(name: str) -> Path:
        return folder / f"{name}.png"

    pictures = {
        "weights_retained": figures.weights_retained(
            read(outcome.weighed.weights), edges, secrets, at("weights_retained")
        ),
        "secret_graph": figures.secret_graph(edges, secrets, at("secret_graph")),
        "posterior_against_target": figures.posterior_against_target(
            read(outcome.calibrated.bounds), secrets, at("posterior_against_target")
        ),
        "posterior_curves": figures.posterior_curves(
            certified["curves.parquet"], certified["bounds.parquet"], secrets, at("posterior_curves")
        ),
        "loss": figures.losses(losses(outcome), at("loss"), unit=unit),
    }
    noise = {method: plan.noise_multiplier for method, plan in outcome.by_method.items() if plan}
    if noise:
        pictures["noise_by_method"] = figures.noise_by_method(noise, at("noise_by_method"))
    if (curves := learning_table(outcome)).height:
        pictures["learning_curves"] = figures.learning_curves(curves, at("learning_curves"), unit=unit)
    if (runs := runs_so_far(store, config, outcome)).height > 1:
        promised = config.promise.runs if config.promise else None
        pictures["bound_by_run"] = figures.bound_by_run(runs, at("bound_by_run"), promised=promised)
    if outcome.attacked.secrets:
        theirs = read(outcome.unprotected_attacked.table) if outcome.unprotected_attacked else None
        ours, before = read(outcome.attacked.table), read(outcome.before_attacked.table)
        pictures["exposure"] = figures.exposure(ours, theirs, at("exposure"), before=before)
    return pictures


def runs_so_far(store: Store, config: HushConfig, outcome: Outcome) -> pl.DataFrame:
    """run · alone · together: the bound nearest to its target, of the registered versions and of this one."""
    earlier = sorted(versions_of(config.tracking.model), key=lambda version: int(version.version))
    told = [*(version.tags for version in earlier), _tags(store, outcome)]
    told = [tags for tags in told if RUN in tags and tags.get(RELEASED) != "0"]  # nothing is one of 0 rounds
    rows = [(int(tags[RUN]), _number(tags[ALONE]), _number(tags[TOGETHER])) for tags in told]
    kinds = {"run": pl.UInt32, "alone": pl.Float64, "together": pl.Float64}
    return pl.DataFrame(rows, schema=kinds, orient="row").unique("run", keep="last").sort("run")


def _number(text: str) -> float | None:
    """Of a tag; None where it says in words that there is no number."""
    try:
        return float(text)
    except ValueError:
        return None


def _tags(store: Store, outcome: Outcome) -> dict[str, str]:
    certificate, together = read_certificate(store.path(outcome.certificate)), all_runs(store, outcome)
    nothing = f"nothing promised of {counted(together.nothing, 'secret')}"
    return {
        "method": outcome.calibrated.method,
        "noise_multiplier": f"{outcome.calibrated.noise_multiplier or 0:.6g}",
        RELEASED: str(outcome.trained.rounds_released),
        ALONE: f"{worst_ratio(store, outcome):.6g}",
        "certificate_digest": certificate.digest,
        MADE_BY: f"{certificate.facts.store} {certificate.facts.run}",
        RUN: str(outcome.trained.others.most + (outcome.calibrated.rounds > 0)),
        "secrets_trained_before": str(outcome.trained.others.secrets),
        TOGETHER: nothing if together.nothing else f"{together.worst or 0.0:.6g}",
    }
