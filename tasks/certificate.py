"""Step 6a: the certificate of a trained model, as a directory in the store."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hush_core.certificate import Audit, Facts, write_certificate
from hush_core.certificate.document import PlanFacts, TrainingFacts
from hush_core.certificate.mechanism import MechanismFacts, sampler_words
from hush_core.config import AuditConfig, HushMechanism, MechanismConfig, PromiseConfig, WeightsConfig
from hush_core.weights import text_order
from tasks.attack import Attacked
from tasks.calibration import Calibrated
from tasks.champion import Champion
from tasks.extraction import Extracted
from tasks.runtime.caching import cached_task
from tasks.runtime.environment import home
from tasks.runtime.runner import in_parts
from tasks.runtime.store import Ref, open_store
from tasks.training import Trained
from tasks.weighing import Weighed

SAMPLER = "weighted Poisson, independent Bernoulli(rate) per item and round"
RELEASED_UNPROTECTED = (
    "loss on held-out examples without a secret, of every model from the start to the trained one",
    "which examples hold which secret, and the weights (public by definition)",
    "how many examples are longer than the model's context, and are cut there",
    "when each step began and ended and how far it was when (orchestrator, tracker, live metrics, logs): a round "
    "of more examples takes longer, and so does a text in which more is to be looked for; and how much disk is "
    "left (metrics of a worker)",
    "results of the attacks named under `audits`, on the trained model and on the one before its rounds, and of "
    "every `hush audit` of the model: rank and extraction of each secret's value, for which secrets a value was "
    "found to attack, how likely it is written out, losses of texts by number",
)
UNPROTECTED_MODEL = (
    "loss and attack results of an UNPROTECTED model trained on the same data (audit.unprotected): "
    "no bound covers them"
)
HELD_BACK = (
    "loss on examples WITH a secret that were held back from training (audit.held_back), before and after the "
    "certified rounds: no bound covers it"
)
PACKAGE = "hush-secrets"


@cache
def _installed() -> dict[str, str]:
    """hush and every package that it needs, as they are installed, by the field's one form of their names."""
    found: dict[str, str] = {}
    waiting = [PACKAGE]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:  # of another platform
            continue
        found[name] = package.version
        needed = (Requirement(line) for line in package.requires or ())
        waiting += [one.name for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


def code_versions() -> dict[str, str]:
    """What made the model, whole, and with it what a consumer needs to load it (`tasks/runtime/packaging.py`)."""
    return dict(sorted(_installed().items())) | {"python": platform.python_version()}


def released_unprotected(audit: AuditConfig) -> tuple[str, ...]:
    """What a run publishes without noise."""
    return (
        *RELEASED_UNPROTECTED,
        *([HELD_BACK] if audit.held_back else []),
        *([UNPROTECTED_MODEL] if audit.unprotected else []),
    )


@cached_task(name="certify", version=12)
@in_parts
def write_model_certificate(
    name: str,
    extracted: Extracted,
    weighed: Weighed,
    calibrated: Calibrated,
    trained: Trained,
    attacked: Attacked,
    *,
    settings: WeightsConfig,
    audit: AuditConfig,
    settings_digest: str,
    mechanism: MechanismConfig,
    promise: PromiseConfig | None = None,
    attacked_redacted: Attacked | None = None,
    champion: Champion | None = None,
    preconditioned: bool = False,
) -> Ref:
    """Gather the facts, write the certificate, keep it."""
    # torch comes with them, which a reused certificate does not need
    from hush_core.training.gradient_scale import IN_WORDS
    from hush_core.training.noise import SOURCE

    store = open_store()
    facts = Facts(
        name=name,
        plan=PlanFacts(
            noise_multiplier=calibrated.noise_multiplier,
            rounds=calibrated.rounds,
            expected_batch=calibrated.expected_batch,
            clip_norm=calibrated.clip_norm,
            method=calibrated.method,
            mechanism=MechanismFacts.of(mechanism),
            strategy=calibrated.strategy,
            capacities=settings.capacities if isinstance(mechanism, HushMechanism) else None,
            c=weighed.c if isinstance(mechanism, HushMechanism) else None,
            weight_objective=weighed.objective,
            weight_upper_bound=weighed.upper_bound,
            without_secret=settings.without_secret,
            held_back=audit.held_back,
            settings=settings_digest,
            promised_runs=promise.runs if promise else None,
        ),
        training=TrainingFacts(
            rounds_released=trained.rounds_released,
            rounds_applied=trained.rounds_applied,
            started_from=(champion.run or None) if champion else None,
            trained_without_noise=weighed.trained_plain,
            noise_source=SOURCE,
            sampler=sampler_words(mechanism, SAMPLER),
            gradient_scale=IN_WORDS if preconditioned and calibrated.rounds else None,
            released_unprotected=released_unprotected(audit),
        ),
        sources=extracted.commits,
        examples=extracted.n_examples,
        examples_fingerprint=extracted.fingerprint,
        run=trained.run,
        store=home().fingerprint("identity"),
        coverage=store.read_json(extracted.coverage),
        audits=(
            Audit(
                name="exposure",
                secrets=attacked.secrets,
                succeeded=attacked.extracted,
                note=f"greedy extraction; {attacked.ranked_first} values ranked first of "
                f"{audit.alternatives + 1} equally long ones",
            ),
            *_audits_of_redacted(attacked_redacted, audit.alternatives),
        ),
        code=code_versions(),
    )
    weights = store.read_frame(weighed.weights)["weight"].to_list()
    with store.scratch() as folder:
        path = Path(folder) / "certificate"
        write_certificate(
            path,
            facts,
            bounds=store.read_frame(calibrated.bounds),
            edges=store.read_frame(weighed.edges),
            secrets=store.read_frame(extracted.secrets),
            weights=weights,
            model_dir=store.path(trained.model.files, verify=True),
            earlier=trained.others.load(store),
            order=text_order(store.read_frame(extracted.examples)["text"].to_list()),
            redacted=store.read_frame(extracted.redacted),
        )
        return store.put_directory(path, kind="certificate")


def _audits_of_redacted(attacked: Attacked | None, alternatives: int) -> tuple[Audit, ...]:
    if attacked is None:
        return ()
    note = (
        f"greedy extraction where placeholders stand; {attacked.ranked_first} values ranked first of "
        f"{alternatives + 1} equally long ones"
    )
    name = "exposure of redacted values"
    return (Audit(name=name, secrets=attacked.secrets, succeeded=attacked.extracted, note=note),)
