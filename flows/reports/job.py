"""The report of a job: what the flow returns, and what `job_screen` shows. Never a secret's value."""

from __future__ import annotations

from pathlib import Path

import mlflow
import polars as pl
from prefect.context import FlowRunContext
from pydantic import BaseModel, ConfigDict

from flows.reports.job_rows import RedactedRow, SecretRow, redacted_row
from flows.reports.job_warnings import warnings_of
from hush_core.certificate import read_tables
from hush_core.config import HushConfig
from tasks.description import model_in_words
from tasks.outcome import Outcome, all_runs, gain, losses
from tasks.runtime.registry import Registered
from tasks.runtime.store import Store


class Report(BaseModel):
    """What a job came to. JSON-able; `rows` has every secret, by secret_id."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    model_uri: str
    run_url: str | None
    """Where a tracking server shows the run; None where the tracker is a local file."""
    tracker: str
    certificate_dir: str
    examples: int
    public_examples: int
    secrets: int
    edges: int
    planted: int | None = None
    planted_found: int | None = None
    weight_retained: float
    """Of the examples that the certified rounds may draw, as is `examples_kept`."""
    examples_kept: float
    without_secret: str
    trained_without_noise: int
    """Examples without a secret that ordinary training saw before the first round."""
    goes_on_from: str | None = None
    """The model of an earlier run that this one began with; None: the public start."""
    untagged_steps: int | None
    """Of ordinary training on them, up to the best on validation text; None where there was none."""
    gap: float
    noise_multiplier: float | None
    """None: no text of a secret was new, and no certified round was made."""
    method: str
    noise_by_method: dict[str, float | None]
    """On these weights."""
    paper_noise: float | None
    """The paper's method on the paper's own program, at equal retained weight."""
    rounds: int
    rounds_released: int
    promised_runs: int | None = None
    """So many runs keep every target together; None: this one alone is promised."""
    earlier_runs: int = 0
    """In this store, on any of its secrets."""
    worst_of_all_runs: float | None = None
    """The largest bound/target over all runs; None where nothing is promised of them."""
    expected_batch: int
    clip_norm: float
    model: str
    learning_rate: float | None
    """Of the certified rounds; None where there were none."""
    rates_rehearsed: int
    """Learning rates that were played through on public text to choose this one; 0 where one was given."""
    rows: list[SecretRow]
    losses: dict[str, float]
    """Bits per `loss_unit` on held-out examples without a secret, by model."""
    loss_unit: str
    gain: float | None
    """The share of what unprotected training gains on held-out text that the protected model gains too."""
    tagged_losses: dict[str, float | None]
    """The same on examples with a secret that were held back; released WITHOUT noise, as the config asks."""
    reused: bool
    """Nothing was trained: the model and its certificate are those of an earlier run."""
    redacted: RedactedRow | None = None
    warnings: list[str]


def build_report(config: HushConfig, outcome: Outcome, registered: Registered, store: Store) -> Report:
    """Gather the report of a finished job from its tables."""
    extracted, weighed, calibrated = outcome.extracted, outcome.weighed, outcome.calibrated
    certificate = store.path(outcome.certificate)
    rows, together = _rows(store, outcome), all_runs(store, outcome)
    return Report(
        model_uri=registered.model_uri,
        run_url=registered.link,
        tracker=mlflow.get_tracking_uri(),
        certificate_dir=str(certificate),
        examples=extracted.n_examples,
        public_examples=extracted.n_public,
        secrets=extracted.n_secrets,
        edges=extracted.n_edges,
        weight_retained=weighed.retained,
        examples_kept=weighed.kept,
        without_secret=config.weights.without_secret,
        trained_without_noise=weighed.trained_plain,
        goes_on_from=outcome.champion.uri if outcome.champion else None,
        untagged_steps=outcome.untagged.steps if outcome.untagged else None,
        gap=weighed.gap,
        noise_multiplier=calibrated.noise_multiplier,
        method=calibrated.method,
        noise_by_method={m: c.noise_multiplier if c else None for m, c in outcome.by_method.items()},
        paper_noise=outcome.by_paper,
        rounds=calibrated.rounds,
        rounds_released=outcome.trained.rounds_released,
        promised_runs=config.promise.runs if config.promise else None,
        earlier_runs=together.earlier,
        worst_of_all_runs=together.worst,
        expected_batch=calibrated.expected_batch,
        clip_norm=calibrated.clip_norm,
        model=model_in_words(config),
        learning_rate=outcome.learning_rate,
        rates_rehearsed=len(outcome.tried),
        rows=rows,
        losses=losses(outcome),
        gain=gain(outcome),
        tagged_losses=outcome.tagged_bits,
        loss_unit=outcome.trained.model.unit,
        reused=_older_than_this_run(certificate),
        redacted=redacted_row(outcome),
        warnings=warnings_of(config, outcome, store, rows),
    )


def _rows(store: Store, outcome: Outcome) -> list[SecretRow]:
    attack = ["secret_id", "rank", "alternatives", "exposure_bits", "extracted"]
    read = store.read_frame
    certified = read_tables(store.path(outcome.certificate))["bounds.parquet"]
    together = certified.select("secret_id", "earlier_runs", "all_runs")
    table = (
        read(outcome.calibrated.bounds)
        .select("secret_id", "examples", "prior", pl.col("posterior").alias("target"), "bound")
        .join(read(outcome.extracted.secrets).select("secret_id", "kind", "name"), on="secret_id", how="left")
        .join(together, on="secret_id", how="left")
        .join(read(outcome.attacked.table).select(attack), on="secret_id", how="left")
    )
    before = read(outcome.before_attacked.table).select("secret_id", before_rank="rank")
    table = table.join(before, on="secret_id", how="left")
    if outcome.unprotected_attacked:
        bare = read(outcome.unprotected_attacked.table).select(attack).drop("alternatives")
        bare = bare.rename({c: f"unprotected_{c}" for c in bare.columns if c != "secret_id"})
        table = table.join(bare, on="secret_id", how="left")
    return [SecretRow(**row) for row in table.sort("secret_id").drop("secret_id").iter_rows(named=True)]


def _older_than_this_run(certificate: Path) -> bool:
    run = FlowRunContext.get()
    return run is not None and certificate.stat().st_mtime < run.start_time.timestamp()
