"""The job: extract → weigh → calibrate → train without noise → rehearse → train → attack → certify → register."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from prefect import flow

from flows.answers import keep_answer
from flows.check import check_config
from flows.job import METHODS, attack_all, begin, plan, train_rounds
from flows.reports.coverage_notes import as_asked
from flows.reports.job import build_report, page, warnings_of
from flows.reports.job_report import Report
from flows.reports.page.publish import publish_page
from flows.reports.ways import sentences
from flows.settling import settle
from hush_core.config import Changes, HushConfig
from tasks.audit import AuditInputs, note_inputs
from tasks.certificate import Stated, write_model_certificate
from tasks.description import against_champion
from tasks.leftovers import claim_flow_run
from tasks.models import base_model, lora_of
from tasks.outcome import Outcome
from tasks.recording import record
from tasks.refutation import refuse_refuted
from tasks.runtime.live import Live, watched
from tasks.runtime.names import ChosenRunner, named
from tasks.runtime.progress import suspendable
from tasks.runtime.steps import run_logger, show_page
from tasks.runtime.store import open_store


@flow(name="train", flow_run_name=named("train"), validate_parameters=True, task_runner=ChosenRunner())
@suspendable
def train(config_file: str, changes: Changes | None = None) -> Report:
    """Train a protected model and register it with its certificate.

    Args:
        config_file: the YAML file, on the machine that runs the flow.
        changes: what to take in place of the file's values for this run.
    """
    claim_flow_run()
    asked = check_config(Path(config_file), changes)
    with watched(asked.tracking.experiment, asked.tracking.model) as live:
        settled = settle(asked, trains=True)
        for warning in settled.warnings:  # before anything is released
            run_logger().warning("%s", warning)
        outcome = run_job(settled.config, live=live)
        refuse_refuted(outcome.certificate)
        warnings, against = [*settled.warnings, *warnings_of(outcome)], against_champion(outcome)
        ways = [*sentences(settled.ways), *as_asked(outcome.coverage)]
        registered = record(outcome, warnings, ways, against)
    report = build_report(outcome, registered, warnings, ways, against)
    report = report.model_copy(update={"page": str(publish_page(report, registered.run_id))})
    show_page(page(report), "hush-train", f"report of {registered.model_uri}")
    keep_answer(asked, outcome, report)
    return report


def run_job(
    config: HushConfig,
    *,
    repetition: int = 0,
    methods: Sequence[str] = METHODS,
    apart: bool = False,
    live: Live | None = None,
) -> Outcome:
    """All steps up to the certificate; every step is reused where its inputs have not changed.

    Args:
        repetition: of a comparison: each repeats the same run.
        methods: their noise is reported beside that of the config's method.
        apart: train in a process of its own.
        live: where the rounds are shown while they run.
    """
    lora, base = lora_of(config.model), base_model(config.model)  # first: a name that the hub does not know
    planned = plan(config, methods)
    begun = begin(planned, base, repetition)
    rounds = train_rounds(planned, begun, lora, repetition=repetition, apart=apart, live=live)
    attacks = attack_all(planned, begun, rounds.trained)
    extracted, started_from = planned.extracted, planned.champion.run if planned.champion else None
    certificate = write_model_certificate(
        Stated.of(config), extracted, planned.weighed, planned.calibrated, rounds.trained, attacks.attacked,
        attacks.redacted_attacked, started_from or None,
    )  # fmt: skip
    read = {name: getattr(extracted, name) for name in AuditInputs.model_fields if name != "start"}
    note_inputs(open_store(), certificate, AuditInputs(start=begun.start, **read))
    parts = (planned, begun, rounds, attacks)
    return Outcome(
        certificate=certificate, **{name: part for one in parts for name, part in vars(one).items()}
    )
