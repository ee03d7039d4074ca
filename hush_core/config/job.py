"""One job: the whole file."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, field_validator

from hush_core.config.digest import CHOSEN, read_otherwise
from hush_core.config.mechanism import MECHANISMS, HushMechanism, MechanismConfig
from hush_core.config.models import ByteGptModel, ModelConfig
from hush_core.config.promise import PromiseConfig
from hush_core.config.secrets import Secret, SecretEntry, Text, UnitSecret
from hush_core.config.section import Section
from hush_core.config.settings import (
    AuditConfig,
    Method,
    PretrainConfig,
    TrackingConfig,
    TrainConfig,
    UntaggedConfig,
    WeightsConfig,
)
from hush_core.config.sources import RepositoryOrPath, Table


class HushConfig(Section):
    """One job. See `examples/` for whole files and `docs/configuration.md` for every key."""

    version: Literal[1]
    """Version of this format."""
    repos: tuple[RepositoryOrPath, ...] = ()
    """Git repositories to read, each a mapping or its path alone. At least one entry here or under `tables`."""
    tables: tuple[Table, ...] = ()
    """Text tables to read."""
    levels: dict[str, Annotated[float, Field(gt=0, lt=1)]] = Field(default_factory=dict)
    """Names for targets r_j, each strictly between 0 and 1."""
    prior_cap_bits: Annotated[float, Field(gt=0, le=99)] = 33.2
    """No prior is taken below 2^-prior_cap_bits (33.2 bits: 1e-10), however many bits are measured or
    declared."""
    public: tuple[Text, ...] = ()
    """Globs of files that anyone can read elsewhere: pre-training only, without noise. Some file must match.
    A public example that holds a secret is protected like any other."""
    secrets: Annotated[tuple[Secret, ...], Field(min_length=1)]
    """What must stay inside."""
    chunk_bytes: Annotated[int, Field(ge=16, le=65536)] = 2048
    """One chunk of a file is one training example and one sequence. It is also the model's context."""
    max_file_bytes: Annotated[int, Field(ge=1, le=1 << 30)] = 1 << 20
    """A larger file is neither scanned nor trained on, and is counted."""
    mechanism: MechanismConfig = HushMechanism()
    """What a private round draws, and what its noise is planned for."""
    weights: WeightsConfig = WeightsConfig()
    """How much each secret may weigh."""
    method: Method = "best"
    """How a bound is proved. `best` takes `blow_up`, and where that cannot certify the least valid bound. `kl` is
    the paper's and needs many times the noise."""
    promise: PromiseConfig | None = None
    """For how many runs the targets hold. Without it each run is promised by itself."""
    model: ModelConfig = ByteGptModel()
    """The model that is trained."""
    pretrain: PretrainConfig = PretrainConfig()
    """Ordinary training on public text, before any protected example is read."""
    untagged: UntaggedConfig = UntaggedConfig()
    """Ordinary training on examples without a secret, with `weights.without_secret: plain`."""
    train: TrainConfig = TrainConfig()
    """The private rounds."""
    audit: AuditConfig = AuditConfig()
    """The attack on the trained model."""
    tracking: TrackingConfig = TrackingConfig()
    """Names in MLflow."""
    _chosen: frozenset[str] = PrivateAttr(frozenset())
    """Dotted keys whose values are the plan's and not the file's (`with_chosen`)."""

    @field_validator("secrets")
    @classmethod
    def _unique(cls, secrets: tuple[SecretEntry, ...]) -> tuple[SecretEntry, ...]:
        for name, times in Counter(secret.id for secret in secrets).items():
            if times > 1:
                raise ValueError(f"two secrets are called {name!r}; give each an id of its own")
        return secrets

    def conflicts(self) -> Iterator[str]:
        if not self.repos and not self.tables:
            yield "no source of text; give at least one entry under `repos` or `tables`"
        yield from self._mechanism_conflicts()
        if self.train.start == "champion":
            if self.promise is None:
                yield (
                    "train.start: champion: the champion's releases are in the new model, so only a promise of "
                    "several runs bounds it; give promise.runs"
                )
            for secret in (one for one in self.secrets if one.protect == "redact"):
                yield (
                    f"secrets.{secret.id}: protect: redact promises that no copy was trained on, and nothing shows "
                    "that of the model from which train.start: champion continues; protect it by noise, or start "
                    "from the public model"
                )
        several = not isinstance(self.train.learning_rate, float)
        plain = self.without_secret == "plain"
        if self.train.untagged_batch and not plain:
            yield (
                "train.untagged_batch: mixes in text that is trained on without noise; "
                "set weights.without_secret to plain, or leave it out"
            )
        if self.train.optimizer == "preconditioned" and not plain:
            yield (
                "train.optimizer: preconditioned scales gradients by those of text that is trained on without "
                "noise; set weights.without_secret to plain, or take adamw"
            )
        for key, asked in (
            ("learning_rate: several rates", several),
            ("early_stopping", self.train.early_stopping is not None and not plain),
            ("keep: best", self.train.keep == "best" and not plain),
            ("evaluate_every", self.train.evaluate_every is not None and not plain),
        ):
            if asked and not self.public:
                yield (
                    f"train.{key}: looks at public text, and nothing is named public; "
                    "name globs under `public`" + (", or give one rate" if several else ", or leave it out")
                )
        tables = {table.label for table in self.tables}
        for secret in self.secrets:
            if isinstance(secret, UnitSecret) and (not tables or secret.table not in {None, *tables}):
                yield (
                    f"secrets.{secret.id}: protects units, and the job has no such table; "
                    "name one of `tables`, or leave `table` out for all of them"
                )
            try:
                target, prior = self.target(secret), self.prior(secret)
            except ValueError as error:
                yield str(error)
                continue
            if target <= prior:
                yield (
                    f"secrets.{secret.id}: target r = {target:g} is not above the prior p = {prior:g}; "
                    "raise the level, or prior_cap_bits or the declared bits if they are what makes p so large"
                )

    def _mechanism_conflicts(self) -> Iterator[str]:
        """Keys that the mechanism has no use for, and what it cannot promise."""
        kind = self.mechanism.kind
        if kind != "hush":
            solved = {"capacities", "c", "noise_multiplier", "objective"}
            for key in sorted(solved & self.weights.model_fields_set):
                yield (
                    f"weights.{key}: mechanism {kind} solves no program for weights; leave it out, or take "
                    "mechanism hush"
                )
        if self.weights.without_secret in ("noise", "drop") and not self.mechanism.makes_noise:
            yield (
                f"weights.without_secret: mechanism {kind} makes no noise, so the rest is trained on without; "
                "leave it out"
            )
        cut = getattr(self.mechanism, "select", None) == "chunks"
        if cut and any(table.loss_on == "completions" for table in self.tables):
            yield (
                "mechanism.select: chunks cuts a unit's text at new places, and loses which of it is a completion; "
                "take another selection, or loss_on: all"
            )
        if self.promise is None:
            return
        if not self.mechanism.composes_over_runs:
            composed = ", ".join(name for name, one in MECHANISMS.items() if one.composes_over_runs)
            yield (
                f"mechanism {kind}: a promise of several runs needs rounds that are sampled; take one of "
                f"{composed}, or leave `promise` out"
            )
        if self.mechanism.unit_dp:
            yield (
                "mechanism.epsilon: is of one run, and a promise of several runs is of the secrets' levels; leave "
                "one of them out"
            )

    def for_mechanism(self) -> HushConfig:
        """The job with what its mechanism decides of other keys: without noise, text without a secret is trained on
        as it is, and `redaction` redacts every secret that is a value."""
        if self.mechanism.makes_noise:
            return self
        changed: dict[str, Any] = {"weights": self.weights.model_copy(update={"without_secret": "plain"})}
        if self.mechanism.kind == "redaction":
            changed["secrets"] = tuple(
                entry.model_copy(update={"protect": "redact"}) if entry.are_values else entry
                for entry in self.secrets
            )
        return self.model_copy(update=changed)

    @property
    def asks_for_noise(self) -> str:
        """The key by which a person asks for certified rounds, so that `protect: auto` is noise; else empty."""
        if self.mechanism != HushMechanism():
            return f"mechanism: {self.mechanism.kind}"
        if self.promise is not None:
            return "promise"
        without = self.weights.without_secret
        return f"weights.without_secret: {without}" if without in ("noise", "drop") else ""

    @property
    def without_secret(self) -> Literal["noise", "plain", "drop"]:
        """What becomes of examples without a secret: the file's word, or `noise` where it asks for certified rounds
        in any other way, else `plain`."""
        if self.weights.without_secret is not None:
            return self.weights.without_secret
        asked = self.asks_for_noise or any(entry.protect == "noise" for entry in self.secrets)
        return "noise" if asked else "plain"

    @property
    def c_of_promise(self) -> float | None:
        """`weights.c` of a promise of several runs whose file leaves it open: what it was before the plan chose, so
        that a promise that is being kept continues. None without a promise."""
        return 0.5 if self.promise is not None and self.weights.c is None else None

    def with_chosen(self, chosen: Mapping[str, Any]) -> HushConfig:
        """The job with values that the plan chose: dotted keys of a section → value. The digest of its settings
        stays that of the file: a choice follows from the graph and the file."""
        data: dict[str, Any] = {}
        for key, value in chosen.items():
            section, _, name = key.partition(".")
            if not name:
                data[section] = value
                continue
            data[section] = data.get(section, getattr(self, section)).model_copy(update={name: value})
        changed = self.model_copy(update=data)
        changed._chosen = self._chosen | chosen.keys()
        return changed

    @property
    def chosen(self) -> frozenset[str]:
        """Dotted keys whose values the plan chose, as the file leaves them open."""
        return self._chosen

    def target(self, secret: SecretEntry) -> float:
        """The target r_j of a secret of this config."""
        level, where = secret.level, f"secrets.{secret.id}.level"
        if isinstance(level, str):
            if level in self.levels:
                return self.levels[level]
            known = ", ".join(sorted(self.levels))
            hint = f"known: {known}" if known else f"there are none: add levels: {{{level}: 1.0e-4}}"
            raise ValueError(f"{where}: no such level under `levels` ({hint})")
        if not 1e-30 <= level < 1:
            raise ValueError(f"{where}: a posterior lies strictly between 0 and 1")
        return float(level)

    @property
    def runs(self) -> int:
        """For so many runs the targets are promised."""
        return self.promise.runs if self.promise else 1

    @property
    def rounds_in_all(self) -> int:
        """Of all promised runs."""
        return self.train.rounds + (self.runs - 1) * (self.train.later_rounds or self.train.rounds)

    def after(self, runs: int) -> HushConfig:
        """The job of the run that follows so many others of its promise.

        Only their number decides, never a model that somebody looked at (docs/mathematics.md, Proposition 13).
        """
        if not runs or self.train.start == "public":
            return self
        return self.model_copy(update={"train": self.train.of_later_run()})

    @property
    def settings_digest(self) -> str:
        """A digest of what decides, with the graph alone, how a run draws and how much noise it adds.

        Where it is equal in several runs, nothing of that was decided after looking at a model, so that their
        bounds compose as a product (docs/mathematics.md §8). `digest.py` says of every other key why it is not.
        """
        keys = {"levels", "prior_cap_bits", "chunk_bytes", "weights", "method"}
        chosen = self.model_dump(mode="json", include=keys)
        chosen["weights"]["without_secret"] = self.without_secret
        chosen["promise"] = {"runs": self.promise.runs} if self.promise else None
        if self.train.start == "champion":
            chosen["later_rounds"] = self.train.later_rounds
        if self.mechanism != HushMechanism() and "mechanism" not in self._chosen:
            chosen["mechanism"] = self.mechanism.model_dump(mode="json")
        if self.max_file_bytes != HushConfig.model_fields["max_file_bytes"].default:
            chosen["max_file_bytes"] = self.max_file_bytes
        if read := read_otherwise(self.repos, self.tables):
            chosen["read"] = read
        chosen |= {"rounds": self.train.rounds, "batch": self.train.batch, "held_back": self.audit.held_back}
        for key in self._chosen & {"train.rounds", "train.batch"}:
            chosen[key.partition(".")[2]] = None
        if "weights.c" in self._chosen and self.promise is None:
            chosen["weights"]["c"] = None
        elif self.c_of_promise:
            chosen["weights"]["c"] = self.c_of_promise
        if None in (chosen["rounds"], chosen["batch"]) or chosen["weights"]["c"] is None:
            chosen["chosen"] = CHOSEN
        return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()

    def prior(self, secret: SecretEntry, bits: float | None = None) -> float:
        """2^-bits with bits = the least of what is declared, what is measured (`bits`) and the cap."""
        known = [b for b in (secret.bits, bits, self.prior_cap_bits) if b is not None]
        return 2.0 ** -min(known)
