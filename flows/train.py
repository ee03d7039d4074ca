"""The main job: extract → weigh → calibrate → pre-train → rehearse → train → attack → certify → register."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from prefect import flow

from flows.check import check_config
from flows.reports.job import Report, build_report
from hush_core.config import Changes, HushConfig
from hush_core.errors import CertificationError
from hush_core.weights import weight_settings
from tasks.attack import attack_model, attack_redactions
from tasks.calibration import Calibrated, calibrate_noise
from tasks.certificate import write_model_certificate
from tasks.extraction import extract_secrets, refuse_without_edges, sources
from tasks.leftovers import claim_flow_run
from tasks.rate_search import check_public, choose_rate
from tasks.recording import Outcome, record
from tasks.runtime.environment import home
from tasks.runtime.store import Store
from tasks.training import base_model, base_name, lora_of, pretrain, train_protected, train_unprotected
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
    return build_report(config, outcome, registered, Store(home().store))


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
    weighed = weigh_examples(**graph, n_examples=extracted.n_examples, settings=weight_settings(config))

    def calibrate(method: str) -> Calibrated:
        settings = config.train
        return calibrate_noise(
            weighed.weights, **graph, rounds=settings.rounds, expected_batch=settings.batch,
            clip_norm=settings.clip_norm, method=method,
        )  # fmt: skip

    calibrated = calibrate(config.method)
    by_method = {method: compare_noise(calibrate, method) for method in METHODS}

    examples, held_out = extracted.examples, weighed.held_out
    public, model = extracted.public, config.model
    check_public(config.train, extracted.n_public)
    start = pretrain(
        public, examples, held_out, model, base, config.pretrain, config.chunk_bytes, config.train.micro_batch
    )
    settings, tried = choose_rate(config.train, calibrated, public, start, lora)
    attack_on = (examples, extracted.occurrences, extracted.secrets, config.audit.alternatives)
    trained = train_protected(
        calibrated, extracted.edges, extracted.secrets, examples, held_out, public, start, lora,
        settings=settings.essential(), execution=settings.execution(), base_name=base_name(model),
    )  # fmt: skip
    before, attacked = attack_model(start, *attack_on), attack_model(trained.model, *attack_on)
    redacted_before, redacted_after = attack_redactions(
        extracted, start, trained.model, config.audit.alternatives
    )
    unprotected = unprotected_attacked = None
    if config.audit.unprotected:
        unprotected = train_unprotected(examples, held_out, start, model, config.train)
        unprotected_attacked = attack_model(unprotected, *attack_on)
    certificate = write_model_certificate(
        config.tracking.model, extracted, weighed, calibrated, trained, attacked,
        capacities=config.weights.capacities, c=weighed.c,
        alternatives=config.audit.alternatives, unprotected=config.audit.unprotected,
        attacked_redacted=redacted_after,
    )  # fmt: skip
    return Outcome(
        extracted=extracted,
        weighed=weighed,
        calibrated=calibrated,
        by_method=by_method,
        pretrained=start,
        tried=tried,
        learning_rate=settings.learning_rate,
        trained=trained,
        before_attacked=before,
        attacked=attacked,
        redacted_before=redacted_before,
        redacted_attacked=redacted_after,
        unprotected=unprotected,
        unprotected_attacked=unprotected_attacked,
        certificate=certificate,
    )
