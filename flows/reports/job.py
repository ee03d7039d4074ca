"""How the report of a job (`job_report.Report`) is gathered from its tables. Never a secret's value."""

from __future__ import annotations

import mlflow
import polars as pl
from prefect.context import FlowRunContext

from flows.remedies import hopeless
from flows.reports.coverage_notes import coverage_notes
from flows.reports.job_report import Report, SecretRow, redacted_row
from hush_core.certificate import read_tables
from hush_core.config import HushConfig
from tasks.against import AgainstChampion
from tasks.description import model_in_words, runs_in_words
from tasks.outcome import AllRuns, Outcome, all_runs, gain, losses
from tasks.runtime.registry import Registered
from tasks.runtime.store import Store
from tasks.wording import counted


def build_report(
    config: HushConfig,
    outcome: Outcome,
    registered: Registered,
    store: Store,
    warnings: list[str],
    ways: list[str],
    against: AgainstChampion | None,
) -> Report:
    """Gather the report of a finished job from its tables."""
    extracted, weighed, calibrated = outcome.extracted, outcome.weighed, outcome.calibrated
    certificate = store.path(outcome.certificate)
    rows, together, run = _rows(store, outcome), all_runs(store, outcome), FlowRunContext.get()
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
        mechanism=config.mechanism.in_words,
        gap=weighed.gap,
        **calibrated.model_dump(
            include={"noise_multiplier", "method", "rounds", "expected_batch", "cycle_batch", "clip_norm"}
        ),
        noise_by_method={m: c.noise_multiplier if c else None for m, c in outcome.by_method.items()},
        paper_noise=outcome.by_paper,
        rounds_released=outcome.trained.rounds_released,
        promised_runs=config.promise.runs if config.promise else None,
        earlier_runs=together.earlier,
        worst_of_all_runs=together.worst,
        model=model_in_words(config),
        learning_rate=outcome.learning_rate,
        rates_rehearsed=len(outcome.tried),
        rows=rows,
        losses=losses(outcome),
        gain=gain(outcome),
        tagged_losses=outcome.tagged_bits,
        loss_unit=outcome.trained.model.unit,
        reused=run is not None and certificate.stat().st_mtime < run.start_time.timestamp(),
        redacted=redacted_row(outcome),
        against=against,
        warnings=warnings,
        ways=ways,
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


BITS_OF_A_BYTE = 8.0


def warnings_of(config: HushConfig, outcome: Outcome, store: Store) -> list[str]:
    """What a reader should know before using the model, the most serious first; no value and no path."""
    trained, rows = outcome.trained, _rows(store, outcome)
    leaked = sum(bool(row.extracted) for row in rows)
    notes = []
    if leaked:
        notes.append(
            f"{counted(leaked, 'value')} came out of the PROTECTED model word for word: look at "
            "the edges and priors"
        )
    together = all_runs(store, outcome)
    if together.above or together.nothing:
        notes.append(runs_in_words(together, trained.others.unknown))
    if ending := promise_ends(config, together, outcome):
        notes.append(ending)
    if trained.rounds_released < outcome.calibrated.rounds:
        notes.append(
            f"stopped early: {trained.rounds_released} of {outcome.calibrated.rounds} rounds were released"
        )
    if drowned := hopeless(config, outcome.calibrated):
        notes.append(drowned)
    if worthless := no_better(outcome):
        notes.append(worthless)
    notes += coverage_notes(store.read_json(outcome.extracted.coverage))
    if unranked := not_attacked(rows):
        said = "was not attacked: it is" if unranked == 1 else "were not attacked: they are"
        notes.append(
            f"{counted(unranked, 'value')} {said} whole in no example (cut where chunks meet: "
            "larger chunk_bytes cut fewer; or encoded), or fewer than four letters and digits are free"
        )
    if config.pretrain.steps and not outcome.extracted.n_public:
        notes.append("nothing was pre-trained on: no example is public")
    return notes


def promise_ends(config: HushConfig, together: AllRuns, outcome: Outcome) -> str:
    """Said while a promise can still be changed: where a tenth of its runs is left, or one."""
    if config.promise is None:
        return ""
    runs = config.promise.runs
    left = runs - together.earlier - (outcome.calibrated.rounds > 0)
    if left > max(1, runs // 10):
        return ""
    return (
        f"{left} of {runs} promised runs left; then a run with new text of a secret is refused. A higher "
        "promise.runs helps before the last ones: they leave little of the targets"
    )


def no_better(outcome: Outcome) -> str:
    """Said where the protected model predicts no better than what it began with, or than none at all."""
    bits, start = losses(outcome), outcome.begun_as
    protected = bits.get("protected")
    if protected is None:
        return ""
    if outcome.trained.model.unit == "byte" and protected >= BITS_OF_A_BYTE:
        return f"the protected model is no better than none: {protected:.3f} bits per byte, of 8 by guessing"
    before = bits.get("without secrets", bits.get(start))
    if before is not None and protected >= before and outcome.calibrated.rounds:
        return (
            f"the protected model is no better than before its certified rounds: {protected:.3f}, was {before:.3f} "
            f"bits per {outcome.trained.model.unit}; `hush plan` says what a larger batch would do"
        )
    return ""


def not_attacked(rows: list[SecretRow]) -> int:
    """Credentials and literals in some example that no attack could rank."""
    return sum(
        row.rank is None and row.examples > 0 and row.kind in ("credentials", "literals") for row in rows
    )
