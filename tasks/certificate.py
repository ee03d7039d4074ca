"""Step 6a: the certificate of a trained model, as a directory in the store."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pydantic import BaseModel

from hush_core.certificate import Audit, Facts, write_certificate
from hush_core.certificate.document import PlanFacts, TrainingFacts
from hush_core.certificate.mechanism import MechanismFacts
from hush_core.config import (
    AuditConfig,
    HushConfig,
    HushMechanism,
    MechanismConfig,
    PromiseConfig,
    WeightsConfig,
)
from hush_core.weights import text_order
from tasks.attack import Attacked
from tasks.calibration import Calibrated
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
        facts = package.metadata  # parsed at each look
        found[name] = facts["Version"]
        needed = map(Requirement, facts.get_all("Requires-Dist") or package.requires or ())
        waiting += [one.name for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


def code_versions() -> dict[str, str]:
    """What made the model, whole, and with it what a consumer needs to load it (`tasks/runtime/packaging.py`)."""
    return dict(sorted(_installed().items())) | {"python": platform.python_version()}


class Stated(BaseModel, frozen=True):
    """Of a config, what its certificate states."""

    name: str
    weights: WeightsConfig
    audit: AuditConfig
    settings_digest: str
    mechanism: MechanismConfig
    promise: PromiseConfig | None
    preconditioned: bool

    @classmethod
    def of(cls, config: HushConfig) -> Stated:
        same = {name: getattr(config, name) for name in cls.model_fields if hasattr(config, name)}
        preconditioned = config.train.optimizer == "preconditioned"
        return cls(name=config.tracking.model, preconditioned=preconditioned, **same)


@cached_task(name="certify", version=12)
@in_parts
def write_model_certificate(
    stated: Stated,
    extracted: Extracted,
    weighed: Weighed,
    calibrated: Calibrated,
    trained: Trained,
    attacked: Attacked,
    redacted: Attacked | None,
    started_from: str | None,
) -> Ref:
    """Gather the facts, write the certificate, keep it. `redacted`: the attack at placeholders; `started_from`: the
    run whose model this one started from."""
    store = open_store()
    read = store.read_frame
    facts = Facts(
        name=stated.name, plan=_plan_facts(stated, weighed, calibrated), sources=extracted.commits,
        training=_training_facts(stated, weighed, calibrated, trained, started_from), run=trained.run,
        examples=extracted.n_examples, examples_fingerprint=extracted.fingerprint,
        store=home().fingerprint("identity"), coverage=store.read_json(extracted.coverage),
        audits=_audits(attacked, redacted, stated.audit.alternatives), code=code_versions(),
    )  # fmt: skip
    with store.scratch() as folder:
        path = Path(folder) / "certificate"
        write_certificate(
            path, facts, bounds=read(calibrated.bounds), edges=read(weighed.edges),
            secrets=read(extracted.secrets), weights=read(weighed.weights)["weight"].to_list(),
            model_dir=store.path(trained.model.files, verify=True), earlier=trained.others.load(store),
            order=text_order(read(extracted.examples)["text"].to_list()), redacted=read(extracted.redacted),
        )  # fmt: skip
        return store.put_directory(path, kind="certificate")


def _plan_facts(stated: Stated, weighed: Weighed, calibrated: Calibrated) -> PlanFacts:
    hush = isinstance(stated.mechanism, HushMechanism)
    same = ("noise_multiplier", "rounds", "expected_batch", "clip_norm", "method", "strategy")
    return PlanFacts(
        **{name: getattr(calibrated, name) for name in same},
        mechanism=MechanismFacts.of(stated.mechanism),
        capacities=stated.weights.capacities if hush else None,
        c=weighed.c if hush else None,
        weight_objective=weighed.objective,
        weight_upper_bound=weighed.upper_bound,
        without_secret=stated.weights.without_secret,
        held_back=stated.audit.held_back,
        settings=stated.settings_digest,
        promised_runs=stated.promise.runs if stated.promise else None,
    )


def _training_facts(
    stated: Stated, weighed: Weighed, calibrated: Calibrated, trained: Trained, started_from: str | None
) -> TrainingFacts:
    # torch comes with them, which a reused certificate does not need
    from hush_core.training.gradient_scale import IN_WORDS
    from hush_core.training.noise import SOURCE

    return TrainingFacts(
        rounds_released=trained.rounds_released,
        rounds_applied=trained.rounds_applied,
        started_from=started_from,
        trained_without_noise=weighed.trained_plain,
        noise_source=SOURCE,
        sampler=stated.mechanism.how_drawn(SAMPLER),
        gradient_scale=IN_WORDS if stated.preconditioned and calibrated.rounds else None,
        released_unprotected=(
            *RELEASED_UNPROTECTED,
            *([HELD_BACK] if stated.audit.held_back else []),
            *([UNPROTECTED_MODEL] if stated.audit.unprotected else []),
        ),
    )


def _audits(attacked: Attacked, redacted: Attacked | None, alternatives: int) -> tuple[Audit, ...]:
    where = " where placeholders stand"
    attacks = [("exposure", "", attacked), ("exposure of redacted values", where, redacted)]
    among = f"values ranked first of {alternatives + 1} equally long ones"
    return tuple(
        Audit(
            name=name, secrets=one.secrets, succeeded=one.extracted,
            note=f"greedy extraction{where}; {one.ranked_first} {among}",
        )
        for name, where, one in attacks if one is not None
    )  # fmt: skip
