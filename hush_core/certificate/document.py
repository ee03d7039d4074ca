"""certificate.json as typed models, in one canonical byte form with its own digest."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hush_core.accounting.correlated import Cycle, Strategy, assign_groups, cycle_length
from hush_core.certificate.mechanism import MechanismFacts
from hush_core.certificate.redaction import REDACTED, REDACTION_PROMISE, RedactionFacts
from hush_core.config import Capacities, Method
from hush_core.errors import OlderSchema, VerificationError
from hush_core.weights import sampling_rates
from hush_core.weights.roles import WithoutSecret

DOCUMENT = "certificate.json"
SCHEMA_VERSION = "hush-certificate/8"
OLDER = tuple(f"hush-certificate/{n}" for n in range(1, 8))
TABLES = (
    "bounds.parquet", "curves.parquet", "edges.parquet", "history.parquet", REDACTED, "runs.parquet",
    "secrets.parquet", "weights.parquet",
)  # fmt: skip

PROMISE = (
    "For every secret j: no adversary who sees the noisy sum of every round that this run released, and with it "
    "every model and checkpoint made from them, names the right one among candidates that differ only in the "
    "examples tagged with j, each of prior probability at most `prior`, with probability above `bound` (paper, "
    "Definition 3.1, arbitrary changes of the tagged examples); this leaves out what "
    "`facts.training.released_unprotected` names, which was released WITHOUT noise (losses, results of attacks), "
    "and what `not_promised` names. Where `facts.training.started_from` names a run, the model goes on from that "
    "run's, and `bound`, its curves and anything computed from this run's rounds alone leave out what it has from "
    "there: of the model itself `all_runs` is the promise. A round draws items, each named by an example whose "
    "weight is the item's. Its text is that of the example itself; where `facts.plan.mechanism.kind` is "
    "`group_privacy` and `select` is not `random`, of one example chosen among all that hold the same secrets "
    "(which one is not told); where it is `user_wise`, of up to `records` examples of a unit, or pieces of their "
    "joined text, averaged. An item is tagged with every secret of an example whose text may be in it: these tags "
    "are in edges.parquet, too."
)
ALL_RUNS_PROMISE = (
    "For every secret with a number in `all_runs`: the same, with probability above `all_runs`, of an adversary "
    "who sees besides the noisy sum of every round of every run of runs.parquet. Where `all_runs_method` is "
    "`renyi_filter` it is the secret's target, proved for runs that were planned after seeing earlier ones."
)
"""Of this run and the store's earlier ones together."""
NOT_PROMISED = (
    "Nothing is promised of what was released without noise; `facts.training.released_unprotected` names it.",
    "Which examples hold which secret is public, and so are the weights; and, where one of the runs together made "
    "no round, that its tagged texts are equal to earlier runs'.",
    "Text that an earlier run protected and that no entry names now is text like any other: this run may have "
    "trained on it WITHOUT noise.",
    "A copy of a secret in an example that is not tagged with it is not protected.",
    "Text that is also public is no secret.",
    "Where `facts.plan.without_secret` is `plain`, the examples that no secret names were trained on WITHOUT noise "
    "(`facts.training.trained_without_noise` counts them): a secret that no entry names, or a copy that no search "
    "found, may have been learned by heart.",
    "`bound` is of this run alone. Where `all_runs` is null nothing is promised of all runs together: an earlier "
    "run does not say how it drew the secret's text, was planned otherwise, or trained on the text WITHOUT noise "
    "before an entry named it. Runs of other stores are counted only where they were added to this one; text that "
    "an earlier run cut otherwise and did not tag is not, nor is what earlier runs released without noise (losses, "
    "attacks). That entries, globs and the choice to make a run do not follow from what a model showed is assumed.",
    "A copy of a redacted value that the search did not find was trained on like any other text.",
)
"""Both are part of the schema: a document with any other words is not of this version."""

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, strict=True)]
Whole = Annotated[int, Field(ge=1, strict=True)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Fingerprint = Annotated[str, Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]
Text = Annotated[str, Field(min_length=1)]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=())


class PlanFacts(_Document):
    """The mechanism: σ, T, B, C, the certificate method, how the weights were made, and what became of examples
    without a secret (which decides every example's role, with the graph)."""

    noise_multiplier: Positive | None
    """null where `rounds` is 0."""
    rounds: Count
    """0: no text of a secret was new to the runs before, so this one drew none, and made no noise."""
    expected_batch: Whole
    clip_norm: Positive
    method: Method
    mechanism: MechanismFacts
    strategy: tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...] | None = None
    """Of mechanism correlated: the coefficients by which a release mixes rounds, the first of them 1; else null."""
    capacities: Capacities | None
    """null of a mechanism that solves no program, and so is `c`."""
    c: Annotated[float, Field(gt=0, le=1 + 1e-9, allow_inf_nan=False)] | None
    weight_objective: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    weight_upper_bound: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    without_secret: WithoutSecret
    held_back: Annotated[bool, Field(strict=True)]
    settings: Sha256
    """A digest of what decided all this with the graph alone; where runs differ in it, they do not compose as a
    product."""
    promised_runs: Whole | None
    """So many runs, this one included, were planned to keep every target together; null: this one alone. A run of
    0 rounds is not one of them."""

    @model_validator(mode="after")
    def _no_rounds(self) -> Self:
        if (self.noise_multiplier is None) != (self.rounds == 0):
            raise ValueError("noise_multiplier is null where, and only where, rounds is 0")
        never = not self.mechanism.config.makes_noise
        if never != (not self.rounds and self.promised_runs is None):
            raise ValueError(
                "rounds is 0, which only a promise of several runs allows, or a mechanism without noise"
            )
        if not self.rounds and self.without_secret != "plain":
            raise ValueError("rounds is 0, which is possible only if text is trained on without noise")
        if (self.mechanism.kind == "correlated") != (self.strategy is not None):
            raise ValueError("strategy is that of mechanism correlated, and of no other")
        if (self.mechanism.kind == "hush") != (self.capacities is not None) or (self.c is None) != (
            self.capacities is None
        ):
            raise ValueError("capacities and c are those of mechanism hush, and of no other")
        if self.weight_objective == 0 and self.rounds:
            raise ValueError("weight_objective is 0, and rounds were made")
        return self

    def cycle(self, weights: np.ndarray, edges: pl.DataFrame) -> Cycle | None:
        """Who took part in which round, laid out again from the graph of items; None where rounds were sampled."""
        if self.strategy is None:
            return None
        drawn = np.asarray(weights) > 0
        period = cycle_length(int(drawn.sum()), self.expected_batch)
        return Cycle(assign_groups(edges, drawn, period), period, Strategy(self.strategy))

    def as_run(self, weights: np.ndarray, edges: pl.DataFrame) -> tuple[np.ndarray, float, int]:
        """(n,) the rates at which the rounds drew by these weights, σ and T; of a cycle, those of sampled rounds
        that tell at least as much. Without rounds nothing was drawn, and any mechanism does: a secret in no item
        that is ever drawn is bounded by its prior."""
        weights = np.asarray(weights, np.float64)
        if self.noise_multiplier is None:
            return np.zeros_like(weights), 1.0, 1
        if cycle := self.cycle(weights, edges):
            return *cycle.as_sampled(self.noise_multiplier, self.rounds), self.rounds
        return sampling_rates(weights, self.expected_batch), self.noise_multiplier, self.rounds


class TrainingFacts(_Document):
    """What was really run. `rounds_released` counts every release, those of lost rounds
    included; `rounds_applied` those that shaped the model."""

    rounds_released: Count
    rounds_applied: Count
    started_from: Fingerprint | None
    """The run whose model this one continues from, a `key` of runs.parquet; null: a model made without this
    data."""
    trained_without_noise: Count
    """Examples that no secret names, handed to ordinary training before the first round."""
    noise_source: Text
    sampler: Text
    gradient_scale: Annotated[Text | None, Field(exclude_if=lambda scale: scale is None)] = None
    """How gradients were scaled before they were clipped; absent: not at all, as in older certificates."""
    released_unprotected: tuple[Text, ...]

    @model_validator(mode="after")
    def _scaled_by_something(self) -> Self:
        if self.gradient_scale is not None and not self.trained_without_noise:
            raise ValueError("gradient_scale is of examples without a secret, and none are stated")
        return self


class Audit(_Document):
    """One attack: what it tried, on how many secrets, how many it got."""

    name: Text
    secrets: Count
    succeeded: Count
    note: str


class Facts(_Document):
    """Everything in the certificate that is not computed when it is written."""

    name: Text
    plan: PlanFacts
    training: TrainingFacts
    sources: dict[str, Fingerprint]
    """Repository label → keyed fingerprint of the commit read. The commit id itself is a hash of the text, against
    which a guess at a secret could be tried."""
    examples: Whole
    examples_fingerprint: Fingerprint
    """Keyed, for the same reason."""
    run: Fingerprint
    """A keyed name of this run, by which later certificates of the store count it."""
    store: Fingerprint
    """A public name of the store's identity key."""
    runs_on_this_data: Count = 1
    """The most earlier runs of any secret (`earlier_runs` in bounds.parquet), and this one if it made a round."""
    unknown_runs: Count = 0
    """Of the earlier runs: those that do not say how they drew; each counts for every secret."""
    coverage: dict[str, object]
    audits: tuple[Audit, ...]
    redaction: RedactionFacts = RedactionFacts()
    code: dict[str, str]
    """Name → version, of hush and of what computes for it."""


class Certificate(_Document):
    """certificate.json. `digest` is the SHA-256 of the canonical form without the digest itself."""

    schema_version: Literal["hush-certificate/8"] = SCHEMA_VERSION
    promise: str = PROMISE
    all_runs_promise: str = ALL_RUNS_PROMISE
    redaction_promise: str = REDACTION_PROMISE
    """Of the secrets in redacted.parquet, which are in no other table."""
    not_promised: tuple[str, ...] = NOT_PROMISED
    facts: Facts
    tables: dict[str, Sha256]
    """Table file → SHA-256."""
    model_files: Annotated[dict[str, Sha256], Field(min_length=1)]
    """File of the model → SHA-256."""
    digest: str = ""

    @model_validator(mode="after")
    def _words(self) -> Self:
        said = {
            "promise": PROMISE,
            "all_runs_promise": ALL_RUNS_PROMISE,
            "redaction_promise": REDACTION_PROMISE,
        }
        for name, words in (said | {"not_promised": NOT_PROMISED}).items():
            if getattr(self, name) != words:
                raise ValueError(f"{name}: is not that of this version of the certificate")
        if set(self.tables) != set(TABLES):
            raise ValueError(f"tables: are not {', '.join(TABLES)}")
        return self

    def canonical(self) -> bytes:
        """The only byte form that verifies: sorted keys, two spaces, a final newline."""
        return (json.dumps(self.model_dump(mode="json"), indent=2, sort_keys=True) + "\n").encode()

    def sealed(self) -> Certificate:
        """The same certificate with its digest filled in."""
        blank = self.model_copy(update={"digest": ""})
        return blank.model_copy(update={"digest": hashlib.sha256(blank.canonical()).hexdigest()})


def read_certificate(directory: Path) -> Certificate:
    """Read and check the document alone: form, canonical bytes, digest.

    Raises:
        OlderSchema: it is of an older hush. VerificationError: the file is missing, was edited, or is of an unknown
            schema.
    """
    path = directory / DOCUMENT
    try:
        data = path.read_bytes()
    except OSError:
        raise VerificationError([f"{path}: missing or unreadable"]) from None
    _check_version(path, data)
    try:
        certificate = Certificate.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        key = ".".join(map(str, first["loc"])) or "the document"
        raise VerificationError([f"{path}: {key}: {first['msg']}"]) from None
    if data != certificate.canonical() or certificate != certificate.sealed():
        raise VerificationError([f"{path}: was edited: its bytes do not give its digest"])
    return certificate


def _check_version(path: Path, data: bytes) -> None:
    try:
        version = json.loads(data).get("schema_version")
    except (ValueError, AttributeError, RecursionError):
        raise VerificationError([f"{path}: is no JSON document of a certificate"]) from None
    if version in OLDER:
        raise OlderSchema(
            [
                f"{path}: is of schema {version}, which this hush no longer reads: its promise was worded "
                "otherwise, and less of it was checked. Certify the model again, or verify it with the hush that "
                "its facts.code names"
            ]
        )
    if version != SCHEMA_VERSION:
        raise VerificationError([f"{path}: schema_version: is not {SCHEMA_VERSION}"])


def read_tables(directory: Path) -> dict[str, pl.DataFrame]:
    """The tables by file name, unchecked; `verify_certificate` checks them."""
    return {name: pl.read_parquet(directory / name) for name in TABLES}
