"""The main job: extract → weigh → calibrate → train as usual → rehearse → train → attack → certify → register."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from prefect import flow

from flows.answers import keep_answer
from flows.check import check_config
from flows.reports.job import build_report
from flows.reports.job_report import Report
from hush_core.config import Changes, HushConfig
from hush_core.errors import CertificationError
from hush_core.weights import weight_settings
from tasks.attack import attack_model, attack_redactions
from tasks.calibration import Calibrated, calibrate_noise, paper_noise, without_rounds
from tasks.certificate import write_model_certificate
from tasks.champion import go_on_from
from tasks.earlier_runs import job_name, look_back
from tasks.extraction import extract_secrets, refuse_without_edges
from tasks.leftovers import claim_flow_run
from tasks.models import base_model, base_name, lora_of, measure
from tasks.ordinary_training import pretrain, train_unprotected, train_untagged
from tasks.outcome import Outcome
from tasks.rate_search import check_public, choose_rate
from tasks.recording import record
from tasks.runtime.environment import home
from tasks.runtime.store import Store
from tasks.sources import sources
from tasks.texts import all_trained, split_texts
from tasks.training import TRAIN_VERSION, keep_without_rounds, train_protected
from tasks.weighing import weigh_examples

METHODS = ("kl", "renyi", "blow_up")


@flow(name="train", validate_parameters=True)
def train(config_file: str, changes: Changes | None = None) -> Report:
    """Train a protected model and register it with its certificate.

    Args:
        config_file: the YAML file, on the machine that runs the flow.
        changes: what to take in place of the file's values for this run.
    """
    claim_flow_run()
    config = check_config(Path(config_file), changes)
    outcome = run_job(config)
    registered = record(config, outcome)
    report = build_report(config, outcome, registered, Store(home().store))
    keep_answer(config, outcome, report)
    return report


def compare_noise(calibrate: Callable[[str], Calibrated], method: str) -> Calibrated | None:
    """The noise another method would need; None where it cannot certify, which fails nothing."""
    try:
        return calibrate(method)
    except CertificationError:
        return None


def run_job(config: HushConfig) -> Outcome:
    """All steps up to the certificate; every step is reused where its inputs have not changed."""
    lora, base = lora_of(config.model), base_model(config.model)  # first: a name that the hub does not know
    extracted = extract_secrets(sources(config), config)
    refuse_without_edges(extracted)
    graph = {"edges": extracted.edges, "secrets": extracted.secrets}
    weighed = weigh_examples(
        extracted.examples, **graph, n_examples=extracted.n_examples, settings=weight_settings(config)
    )

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
    tonight = config.after(before.made(Store(home().store)) if before else 0)

    def calibrate(method: str) -> Calibrated:
        settings = tonight.train
        return calibrate_noise(
            weighed.weights, **graph, rounds=settings.rounds, expected_batch=settings.batch,
            clip_norm=settings.clip_norm, method=method, promise=config.promise, before=before,
            mechanism=config.mechanism if config.promise else "", later_rounds=settings.later_rounds,
        )  # fmt: skip

    if before and before.without_rounds:
        calibrated = without_rounds(
            weighed.weights, **graph, expected_batch=config.train.batch, clip_norm=config.train.clip_norm,
            method=config.method, before=before, mechanism=config.mechanism,
        )  # fmt: skip
    else:
        calibrated = calibrate(config.method)
    # under a promise another method is asked what runs planned by this one leave it, which is no comparison
    compared = () if config.promise else METHODS
    by_method = {method: compare_noise(calibrate, method) for method in compared}
    by_paper = None
    if calibrated.rounds:
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
            config.train.precision, config.train.micro_batch,
        )  # fmt: skip
        start = untagged.model
    inputs = (
        calibrated, extracted.edges, extracted.secrets, extracted.occurrences, examples, texts, public, start, lora,
    )  # fmt: skip
    noted = {
        "base_name": champion.uri if champion else base_name(model), "mechanism": config.mechanism, "job": job,
        "before": before,
    }  # fmt: skip
    if calibrated.rounds:
        settings, tried = choose_rate(tonight.train, calibrated, public, start, lora)
        rate = settings.learning_rate
        trained = train_protected(
            *inputs, settings=settings.essential(), execution=settings.execution(), **noted
        )
    else:
        rate, tried = None, ()
        trained = keep_without_rounds(*inputs, **noted)
    attack_on = (examples, extracted.occurrences, extracted.secrets, config.audit.alternatives)
    before_attacked, attacked = attack_model(start, *attack_on), attack_model(trained.model, *attack_on)
    redacted_before, redacted_after = attack_redactions(
        extracted, start, trained.model, config.audit.alternatives
    )
    unprotected = unprotected_attacked = None
    if config.audit.unprotected:
        more = untagged.steps * config.untagged.batch if untagged else 0
        everything = all_trained(examples, weighed.weights)
        unprotected = train_unprotected(texts, everything, begun, model, tonight.train, more=more).model
        unprotected_attacked = attack_model(unprotected, *attack_on)
    tagged_bits = {}
    if config.audit.held_back:
        models = {"before its rounds": start, "protected": trained.model, "unprotected": unprotected}
        tagged_bits = {name: measure(one, texts.held_back) for name, one in models.items() if one}
    certificate = write_model_certificate(
        config.tracking.model, extracted, weighed, calibrated, trained, attacked,
        settings=config.weights, audit=config.audit, mechanism=config.mechanism, promise=config.promise,
        attacked_redacted=redacted_after, champion=champion,
    )  # fmt: skip
    return Outcome(
        extracted=extracted,
        weighed=weighed,
        calibrated=calibrated,
        by_method=by_method,
        by_paper=by_paper,
        champion=champion,
        begun=begun,
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
