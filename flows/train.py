"""The main job: extract → weigh → calibrate → train as usual → rehearse → train → attack → certify → register."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from prefect import Task, flow

from flows.answers import keep_answer
from flows.check import check_config
from flows.reports.job import build_report, gather_warnings
from flows.reports.job_page import page
from flows.reports.job_report import Report
from flows.reports.page.publish import publish_page
from hush_core.config import (
    Changes,
    CorrelatedMechanism,
    HuggingFaceModel,
    HushConfig,
    HushMechanism,
    makes_noise,
    unit_dp,
)
from hush_core.errors import CertificationError
from hush_core.weights import weight_settings
from tasks.attack import Attacked, attack_model, attack_redactions
from tasks.audit_inputs import AuditInputs, note_inputs
from tasks.calibration import Calibrated, calibrate_noise, paper_noise, without_noise, without_rounds
from tasks.certificate import write_model_certificate
from tasks.champion import go_on_from
from tasks.earlier_runs import job_name, look_back
from tasks.extraction import extract_secrets, refuse_empty_entries, refuse_without_edges
from tasks.items import fill_items, imply_targets
from tasks.leftovers import claim_flow_run
from tasks.models import base_model, base_name, lora_of, measure
from tasks.ordinary_training import pretrain, train_unprotected, train_untagged
from tasks.outcome import Outcome
from tasks.rate_search import check_public, choose_rate
from tasks.recording import publish_summary, record
from tasks.refutation import refuse_refuted
from tasks.run_numbers import against_champion
from tasks.runtime.environment import home
from tasks.runtime.live import Live, watched
from tasks.runtime.names import named
from tasks.runtime.progress import suspendable
from tasks.runtime.store import Store
from tasks.sources import sources
from tasks.texts import all_trained, split_texts
from tasks.training import TRAIN_VERSION, keep_without_rounds, train_protected
from tasks.weighing import weigh_examples

METHODS = ("kl", "renyi", "blow_up")


@flow(name="train", flow_run_name=named("train"), validate_parameters=True)
@suspendable
def train(config_file: str, changes: Changes | None = None) -> Report:
    """Train a protected model and register it with its certificate.

    Args:
        config_file: the YAML file, on the machine that runs the flow.
        changes: what to take in place of the file's values for this run.
    """
    claim_flow_run()
    config = check_config(Path(config_file), changes)
    with watched(config.tracking.experiment, config.tracking.model) as live:
        outcome = run_job(config, live=live)
        refuse_refuted(outcome.certificate)
        store = Store(home().store)
        warnings, against = gather_warnings(config, outcome, store), against_champion(config, outcome)
        registered = record(config, outcome, warnings, against)
    report = build_report(config, outcome, registered, store, warnings, against)
    report = report.model_copy(update={"page": str(publish_page(report, registered.run_id))})
    publish_summary(page(report), registered)
    keep_answer(config, outcome, report)
    return report


def compare_noise(calibrate: Callable[[str], Calibrated], method: str) -> Calibrated | None:
    """The noise another method would need; None where it cannot certify, which fails nothing."""
    try:
        return calibrate(method)
    except CertificationError:
        return None


def begun_as(config: HushConfig, n_public: int, *, champion: bool) -> str:
    """What the model is called that a run begins with."""
    if champion:
        return "champion"
    if config.pretrain.steps and n_public:
        return "pretrained"
    return "base model" if isinstance(config.model, HuggingFaceModel) else "untrained"


def attack(whom: str) -> Task[..., Attacked]:
    """The attack, by the name under which the orchestrator shows it."""
    return attack_model.with_options(task_run_name=f"attack-{whom}")


def plain_targets(config: HushConfig) -> bool:
    """Whether the noise is that of one run for the secrets' levels, which each method can be asked for."""
    sampled = makes_noise(config.mechanism) and not isinstance(config.mechanism, CorrelatedMechanism)
    return config.promise is None and sampled and not unit_dp(config.mechanism)


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
        repetition: of a comparison: each makes the same run anew. methods: whose noise is told beside the config's.
        apart: train in a process of its own. live: where the rounds are shown while they go on.
    """
    lora, base = lora_of(config.model), base_model(config.model)  # first: a name that the hub does not know
    extracted = extract_secrets(sources(config), config)
    mechanism = config.mechanism
    refuse_empty_entries(config, extracted)
    if makes_noise(mechanism):
        refuse_without_edges(extracted)
    if target := unit_dp(mechanism):
        implied = imply_targets(extracted.secrets, *target)
        extracted = extracted.model_copy(update={"secrets": implied})
    graph = {"edges": extracted.edges, "secrets": extracted.secrets}
    weighed = weigh_examples(
        extracted.examples, **graph, n_examples=extracted.n_examples, settings=weight_settings(config),
        mechanism=mechanism,
    )  # fmt: skip
    items = {"edges": weighed.edges, "secrets": extracted.secrets}

    job = job_name(config, TRAIN_VERSION, extracted.examples, weighed.weights, *graph.values())
    before = None
    if config.promise:
        before = look_back(
            config, job, extracted.examples, **graph, occurrences=extracted.occurrences,
            weights=weighed.weights, public=extracted.public,
        )  # fmt: skip
    champion = before.champion if before else None
    if before and before.secrets != extracted.secrets:
        carried = Store(home().store).read_frame(before.secrets).height
        extracted = extracted.model_copy(update={"secrets": before.secrets, "n_secrets": carried})
        graph |= {"secrets": before.secrets}
        items |= {"secrets": before.secrets}
    tonight = config.after(before.made(Store(home().store)) if before else 0)

    def calibrate(method: str) -> Calibrated:
        settings = tonight.train
        return calibrate_noise(
            weighed.weights, **items, rounds=settings.rounds, expected_batch=settings.batch,
            clip_norm=settings.clip_norm, method=method, promise=config.promise, before=before,
            settings_digest=config.settings_digest if config.promise else "", later_rounds=settings.later_rounds,
            mechanism=mechanism,
        )  # fmt: skip

    if before and before.without_rounds:
        calibrated = without_rounds(
            weighed.weights, **items, expected_batch=config.train.batch, clip_norm=config.train.clip_norm,
            method=config.method, before=before, settings_digest=config.settings_digest,
        )  # fmt: skip
    elif not makes_noise(mechanism):
        calibrated = without_noise(
            weighed.weights, **items, expected_batch=config.train.batch, clip_norm=config.train.clip_norm,
            method=config.method,
        )  # fmt: skip
    else:
        calibrated = calibrate(config.method)
    # under a promise another method is asked what runs planned by this one leave it, which is no comparison
    compared = methods if plain_targets(config) else ()
    by_method = {method: compare_noise(calibrate, method) for method in compared}
    by_paper = None
    if methods and calibrated.rounds and isinstance(mechanism, HushMechanism):
        by_paper = paper_noise(
            weighed.weights, **graph, rounds=config.rounds_in_all, expected_batch=config.train.batch
        )

    public, examples, model = extracted.public, extracted.examples, config.model
    texts = split_texts(examples, weighed.weights, extracted.edges)
    check_public(tonight.train, extracted.n_public)
    if champion:
        begun = go_on_from(champion, model, base, config.chunk_bytes, texts.held_out)
    else:
        begun = pretrain(
            public, texts.held_out, model, base, config.pretrain, config.chunk_bytes, config.train.micro_batch
        )
    start = begun
    untagged = None
    if config.weights.without_secret == "plain":
        untagged = train_untagged(
            texts.plain, texts.validation, texts.held_out, start, model, config.untagged,
            config.train.precision, config.train.micro_batch, repetition,
        )  # fmt: skip
        start = untagged.model
    inputs = (
        calibrated, extracted.edges, extracted.secrets, extracted.occurrences, examples, texts, public, start, lora,
    )  # fmt: skip
    noted = {
        "base_name": champion.uri if champion else base_name(model), "settings_digest": config.settings_digest,
        "job": job, "before": before,
    }  # fmt: skip
    if calibrated.rounds:
        settings, tried = choose_rate(tonight.train, calibrated, public, start, lora)
        rate = settings.learning_rate
        filled = None
        if weighed.pools is not None:
            filled = fill_items(
                examples, weighed.weights, weighed.pools, mechanism, config.chunk_bytes, begun
            )
        trained = train_protected(
            *inputs, items=filled, settings=settings.essential(), execution=settings.execution(),
            repetition=repetition, apart=apart, live=live, **noted,
        )  # fmt: skip
    else:
        rate, tried = None, ()
        trained = keep_without_rounds(*inputs, **noted)
    attack_on = (examples, extracted.occurrences, extracted.secrets, config.audit.alternatives)
    before_attacked = attack("before")(start, *attack_on)
    attacked = attack("protected")(trained.model, *attack_on)
    redacted_before, redacted_after = attack_redactions(
        extracted, start, trained.model, config.audit.alternatives
    )
    unprotected = unprotected_attacked = None
    if config.audit.unprotected:
        more = untagged.steps * config.untagged.batch if untagged else 0
        everything = all_trained(examples, weighed.weights)
        unprotected = train_unprotected(texts, everything, begun, model, tonight.train, more=more).model
        unprotected_attacked = attack("unprotected")(unprotected, *attack_on)
    tagged_bits = {}
    if config.audit.held_back:
        models = {"before its rounds": start, "protected": trained.model, "unprotected": unprotected}
        tagged_bits = {name: measure(one, texts.held_back) for name, one in models.items() if one}
    certificate = write_model_certificate(
        config.tracking.model, extracted, weighed, calibrated, trained, attacked,
        settings=config.weights, audit=config.audit, settings_digest=config.settings_digest, mechanism=mechanism,
        promise=config.promise,
        attacked_redacted=redacted_after, champion=champion,
    )  # fmt: skip
    read = {name: getattr(extracted, name) for name in AuditInputs.model_fields if name != "start"}
    note_inputs(Store(home().store), certificate, AuditInputs(start=start, **read))
    return Outcome(
        extracted=extracted,
        weighed=weighed,
        calibrated=calibrated,
        by_method=by_method,
        by_paper=by_paper,
        champion=champion,
        begun=begun,
        begun_as=begun_as(config, extracted.n_public, champion=champion is not None),
        untagged=untagged,
        tried=tried,
        learning_rate=rate,
        trained=trained,
        before_attacked=before_attacked,
        attacked=attacked,
        redacted_before=redacted_before,
        redacted_attacked=redacted_after,
        unprotected=unprotected,
        tagged_bits=tagged_bits,
        unprotected_attacked=unprotected_attacked,
        certificate=certificate,
    )
