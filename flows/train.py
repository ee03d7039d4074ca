"""The job: extract → weigh → calibrate → train without noise → rehearse → train → attack → certify → register.

Every step is a task, reused if its inputs have not changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from prefect import Task, flow

from flows.answers import keep_answer
from flows.check import check_config
from flows.extraction import extracted_of
from flows.remedies import hopeless
from flows.reports.coverage_notes import as_asked
from flows.reports.job import build_report, page, warnings_of
from flows.reports.job_report import Report
from flows.reports.page.publish import publish_page
from flows.reports.ways import sentences
from flows.settling import settle
from hush_core.config import Changes, HushConfig, HushMechanism, LoraConfig, TrainConfig
from hush_core.errors import CertificationError
from hush_core.weights import weight_settings
from tasks.attack import Attacked, attack_model, attack_redactions
from tasks.audit import AuditInputs, note_inputs
from tasks.calibration import Calibrated, Promised, calibrate_noise, paper_noise, without_rounds
from tasks.certificate import Stated, write_model_certificate
from tasks.champion import continue_from
from tasks.description import against_champion
from tasks.earlier_runs import Before, find_earlier_runs, job_name
from tasks.extraction import Extracted, refuse_empty_entries, refuse_without_edges
from tasks.items import fill_items, with_targets
from tasks.leftovers import claim_flow_run
from tasks.models import base_model, base_name, lora_of, measure
from tasks.ordinary_training import pretrain, train_unprotected, train_untagged
from tasks.outcome import Attacks, Outcome, Planned, Start, TrainedRounds
from tasks.rate_search import check_public, choose_rate
from tasks.recording import record
from tasks.refutation import refuse_refuted
from tasks.runtime.flow_runs import ChosenRunner, named
from tasks.runtime.live import Live, watched
from tasks.runtime.progress import suspendable
from tasks.runtime.runner import elsewhere
from tasks.runtime.steps import run_logger, show_page
from tasks.runtime.store import Ref, open_store
from tasks.texts import all_trained, split_texts
from tasks.training import TRAIN_VERSION, Inputs, Noted, Trained, keep_without_rounds, train_protected
from tasks.weighing import Weighed, weigh_examples

METHODS = ("kl", "renyi", "blow_up")
"""Rivals whose noise the report shows beside that of the config's method."""


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


def plan(config: HushConfig, methods: Sequence[str]) -> Planned:
    """Extract, weigh, look back at earlier runs, calibrate."""
    extracted = _extract(config)
    settings, mechanism = weight_settings(config), config.mechanism
    weighed = weigh_examples(**extracted.graph, settings=settings, mechanism=mechanism)
    job = job_name(
        config, TRAIN_VERSION, extracted.examples, weighed.weights, extracted.edges, extracted.secrets
    )
    before, store = None, open_store()
    if config.promise:
        before = find_earlier_runs(
            config, job, extracted.examples, edges=extracted.edges, secrets=extracted.secrets,
            occurrences=extracted.occurrences, weights=weighed.weights, public=extracted.public,
        )  # fmt: skip
        if before.secrets != extracted.secrets:
            carried = {"secrets": before.secrets, "n_secrets": store.read_frame(before.secrets).height}
            extracted = extracted.model_copy(update=carried)
    train = config.after(before.made(store) if before else 0).train
    calibrated, by_method = _noise(config, train, extracted, weighed, before, methods)
    by_paper = None
    if methods and calibrated.rounds and isinstance(mechanism, HushMechanism):
        by_paper = paper_noise(
            weighed.weights, edges=extracted.edges, secrets=extracted.secrets, rounds=config.rounds_in_all,
            expected_batch=config.train.batch,
        )  # fmt: skip
    return Planned(config, train, extracted, weighed, job, before, calibrated, by_method, by_paper)


def begin(planned: Planned, base: Ref | None, repetition: int) -> Start:
    """The public start or the champion, then ordinary training on text without a secret."""
    config, extracted = planned.config, planned.extracted
    texts = split_texts(extracted.examples, planned.weighed.weights, extracted.edges)
    check_public(planned.train, extracted.n_public)
    if planned.champion:
        begun = continue_from(planned.champion, config.model, base, config.chunk_bytes, texts.held_out)
    else:
        begun = pretrain(
            extracted.public, texts.held_out, config.model, base, config.pretrain, config.chunk_bytes,
            config.train.micro_batch,
        )  # fmt: skip
    untagged = None
    if config.weights.without_secret == "plain":
        untagged = train_untagged(
            texts.plain, texts.validation, texts.held_out, begun, config.model, config.untagged,
            config.train.precision, config.train.micro_batch, repetition,
        )  # fmt: skip
    return Start(texts, begun, untagged)


def train_rounds(
    planned: Planned,
    begun: Start,
    lora: LoraConfig | None,
    *,
    repetition: int,
    apart: bool,
    live: Live | None,
) -> TrainedRounds:
    """The certified rounds; none are made where the plan has none."""
    config, extracted, champion = planned.config, planned.extracted, planned.champion
    inputs = Inputs(
        calibrated=planned.calibrated, edges=extracted.edges, secrets=extracted.secrets, public=extracted.public,
        examples=extracted.examples, texts_by_role=begun.texts, start=begun.start, lora=lora,
    )  # fmt: skip
    noted = Noted(
        occurrences=extracted.occurrences, base_name=champion.uri if champion else base_name(config.model),
        settings_digest=config.settings_digest, job=planned.job, before=planned.before,
    )  # fmt: skip
    if not planned.calibrated.rounds:
        return TrainedRounds(keep_without_rounds(inputs, noted), None, ())
    if warning := hopeless(config, planned.calibrated):  # before anything is released
        run_logger().warning("%s", warning)
    settings, tried = choose_rate(planned.train, planned.calibrated, extracted.public, begun.start, lora)
    filled = None
    if planned.weighed.pools is not None:
        filled = fill_items(
            extracted.examples, planned.weighed.weights, planned.weighed.pools, config.mechanism,
            config.chunk_bytes, begun.begun,
        )  # fmt: skip
    train = elsewhere(train_protected) if apart else train_protected
    trained = train(
        inputs, noted, items=filled, settings=settings.essential(), execution=settings.execution(),
        repetition=repetition, apart=apart, live=live,
    )  # fmt: skip
    return TrainedRounds(trained, settings.learning_rate, tried)


def attack_all(planned: Planned, begun: Start, trained: Trained) -> Attacks:
    """The same attacks on the start, the protected and, where the config asks for it, an unprotected model."""
    config, extracted = planned.config, planned.extracted
    values = (extracted.occurrences, extracted.secrets)
    on = (extracted.examples, values, config.audit.alternatives)
    before, protected = _attack("before")(begun.start, *on), _attack("protected")(trained.model, *on)
    redactions = attack_redactions(extracted, begun.start, trained.model, config.audit.alternatives)
    model = unprotected = None
    if config.audit.unprotected:
        more = begun.untagged.steps * config.untagged.batch if begun.untagged else 0
        everything = all_trained(extracted.examples, planned.weighed.weights)
        model = train_unprotected(
            begun.texts, everything, begun.begun, config.model, planned.train, config.untagged, more=more
        ).model
        unprotected = _attack("unprotected")(model, *on)
    bits = {}
    if config.audit.held_back:
        models = {"before its rounds": begun.start, "protected": trained.model, "unprotected": model}
        bits = {name: measure(one, begun.texts.held_back) for name, one in models.items() if one}
    return Attacks(before, protected, *redactions, model, unprotected, bits)


def _extract(config: HushConfig) -> Extracted:
    extracted = extracted_of(config)
    refuse_empty_entries(config, extracted)
    if config.mechanism.makes_noise or all(entry.protect in ("auto", "noise") for entry in config.secrets):
        refuse_without_edges(extracted)
    return with_targets(extracted, config.mechanism)


def _noise(
    config: HushConfig, train: TrainConfig, extracted: Extracted, weighed: Weighed, before: Before | None,
    methods: Sequence[str],
) -> tuple[Calibrated, dict[str, Calibrated | None]]:  # fmt: skip
    """The noise of this run, and what other methods would need for the same."""
    mechanism, promised = config.mechanism, None
    if config.promise and before:
        promised = Promised(
            runs=config.promise.runs, before=before, settings_digest=config.settings_digest,
            later_rounds=train.later_rounds,
        )  # fmt: skip
    on = {"edges": weighed.edges, "secrets": extracted.secrets}

    def calibrate(method: str) -> Calibrated:
        return calibrate_noise(
            weighed.weights, **on, rounds=train.rounds, expected_batch=train.batch, clip_norm=train.clip_norm,
            method=method, promised=promised, mechanism=mechanism,
        )  # fmt: skip

    quiet = before if before and before.without_rounds else None
    if quiet or not mechanism.makes_noise:
        calibrated = without_rounds(
            weighed.weights, **on, expected_batch=train.batch, clip_norm=train.clip_norm, method=config.method,
            before=quiet, settings_digest=config.settings_digest if quiet else "",
        )  # fmt: skip
    else:
        calibrated = calibrate(config.method)
    # under a promise another method is asked what runs planned by this one leave it, which is no comparison
    comparable = config.promise is None and mechanism.composes_over_runs and not mechanism.unit_dp
    by_method: dict[str, Calibrated | None] = dict.fromkeys(methods if comparable else ())
    for method in by_method:
        with suppress(CertificationError):  # one that cannot certify fails nothing
            by_method[method] = calibrate(method)
    return calibrated, by_method


def _attack(whom: str) -> Task[..., Attacked]:
    return attack_model.with_options(task_run_name=f"attack-{whom}")
