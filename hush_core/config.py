"""The user's YAML as typed, frozen models; every mistake names the file and the key, and how to mend it.

>>> config = load_config(Path("examples/demo.yaml"))        # doctest: +SKIP

Nothing here prints a value from the file beyond the key's name: a literal secret may be written in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from hush_core.errors import InputError
from hush_core.strict_yaml import read_yaml

Method = Literal["kl", "renyi", "blow_up", "best"]
Capacities = Literal["paper", "matched", "equalised"]
Level = str | float
"""A name out of `levels`, or the posterior itself."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=())


class Repository(_Model):
    """One git repository, read at one revision (`mode: tree`)."""

    path: Path
    rev: str = "HEAD"
    mode: Literal["tree"] = "tree"
    name: str | None = None

    @property
    def label(self) -> str:
        return self.name or self.path.name.removesuffix(".git")


class _Secret(_Model):
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=80)]
    level: Level
    bits: Annotated[float, Field(gt=0)] | None = None
    """Declared min-entropy of the best single guess; only ever lowered by the caps."""


class PathSecret(_Secret):
    """Every file whose path matches the globs (gitignore syntax, last match wins) holds this secret."""

    kind: Literal["path"]
    globs: Annotated[tuple[str, ...], Field(min_length=1)]


class CodeownersSecret(_Secret):
    """Every file that CODEOWNERS gives to one of the teams holds this secret."""

    kind: Literal["codeowners"]
    teams: Annotated[tuple[str, ...], Field(min_length=1)]


class ContributorsSecret(_Secret):
    """Every file that one of the people ever changed holds this secret (whole history, merges included)."""

    kind: Literal["contributors"]
    emails: Annotated[tuple[str, ...], Field(min_length=1)]
    attribute: Literal["file"] = "file"


class CredentialsSecret(_Secret):
    """Every credential that the rules find is a secret of its own; its value is searched everywhere."""

    kind: Literal["credentials"]
    weak: Literal["drop", "refuse"] = "refuse"
    """What to do with credentials under 20 bits: drop every example that holds one, or refuse to go on."""


class LiteralsSecret(_Secret):
    """Every line of `file` is a secret of its own, searched everywhere; `bits` must be declared."""

    kind: Literal["literals"]
    file: Path
    bits: Annotated[float, Field(gt=0)]


Secret = Annotated[
    PathSecret | CodeownersSecret | ContributorsSecret | CredentialsSecret | LiteralsSecret,
    Field(discriminator="kind"),
]


SECRET_KINDS = ("path", "codeowners", "contributors", "credentials", "literals")


class WeightsConfig(_Model):
    """How much each secret may weigh (`docs/guarantee.md` §7)."""

    capacities: Capacities = "matched"
    c: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Relative to c_max, the smallest c at which every weight is 1."""


class ModelConfig(_Model):
    """A byte-level GPT: no tokenizer is learned from protected data. One example is one sequence."""

    kind: Literal["byte_gpt"] = "byte_gpt"
    layers: Annotated[int, Field(ge=1)] = 4
    width: Annotated[int, Field(ge=8)] = 256
    heads: Annotated[int, Field(ge=1)] = 4


class PretrainConfig(_Model):
    """Ordinary training on the code named as public, before any protected example is read."""

    steps: Annotated[int, Field(ge=0)] = 0
    batch: Annotated[int, Field(ge=1)] = 32
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3


class TrainConfig(_Model):
    """The private run: T rounds of DP-SGD under weighted Poisson sampling (paper, Algorithm 2)."""

    rounds: Annotated[int, Field(ge=1)]
    batch: Annotated[int, Field(ge=1)]
    """The EXPECTED batch size B; the realised one is random and never used."""
    clip_norm: Annotated[float, Field(gt=0)] = 1.0
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    optimizer: Literal["adamw", "sgd"] = "adamw"
    micro_batch: Annotated[int, Field(ge=1)] = 32
    checkpoint_every: Annotated[int, Field(ge=1)] = 20


class AuditConfig(_Model):
    """The attack on the trained model."""

    alternatives: Annotated[int, Field(ge=1)] = 1000
    """Equally long strings of the same language that each secret's value is ranked among."""
    unprotected: bool = False
    """Also train the same model on the same data without protection, to show what would have leaked."""


class TrackingConfig(_Model):
    experiment: str = "hush"
    model: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = "hush-model"


class HushConfig(_Model):
    """One job. See `examples/` for whole files and `docs/configuration.md` for every key."""

    version: Literal[1]
    repos: Annotated[tuple[Repository, ...], Field(min_length=1)]
    levels: dict[str, Annotated[float, Field(gt=0, lt=1)]] = {}
    prior_cap_bits: Annotated[float, Field(gt=0, le=99)] = 33.2
    """No prior p_j is taken below 2^-prior_cap_bits."""
    public: tuple[str, ...] = ()
    secrets: Annotated[tuple[Secret, ...], Field(min_length=1)]
    chunk_bytes: Annotated[int, Field(ge=16, le=65536)] = 2048
    max_file_bytes: Annotated[int, Field(ge=1)] = 1 << 20
    weights: WeightsConfig = WeightsConfig()
    method: Method = "best"
    model: ModelConfig = ModelConfig()
    pretrain: PretrainConfig = PretrainConfig()
    train: TrainConfig
    audit: AuditConfig = AuditConfig()
    tracking: TrackingConfig = TrackingConfig()

    @field_validator("secrets")
    @classmethod
    def _unique(cls, secrets: tuple[_Secret, ...]) -> tuple[_Secret, ...]:
        seen: set[str] = set()
        for secret in secrets:
            if secret.id in seen:
                raise ValueError(f"two secrets are called {secret.id!r}; give each an id of its own")
            seen.add(secret.id)
        return secrets

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        for secret in self.secrets:
            posterior, prior = self.posterior(secret), self.prior(secret)
            if posterior <= prior:
                raise ValueError(
                    f"secrets.{secret.id}: target r = {posterior:g} is not above the prior p = {prior:g}; "
                    "raise the level, or declare more bits"
                )
        if self.model.width % self.model.heads:
            raise ValueError("model.width must be a multiple of model.heads")
        return self

    def posterior(self, secret: _Secret) -> float:
        """The target r_j of a secret of this config."""
        if isinstance(secret.level, str):
            try:
                return self.levels[secret.level]
            except KeyError:
                known = ", ".join(sorted(self.levels)) or "none"
                raise ValueError(
                    f"secrets.{secret.id}.level: no such level under `levels` (known: {known})"
                ) from None
        if not 0 < secret.level < 1:
            raise ValueError(f"secrets.{secret.id}.level: a posterior lies strictly between 0 and 1")
        return float(secret.level)

    def prior(self, secret: _Secret, bits: float | None = None) -> float:
        """2^-bits with bits = the least of what is declared, what is measured (`bits`) and the cap."""
        known = [b for b in (secret.bits, bits, self.prior_cap_bits) if b is not None]
        return 2.0 ** -min(known)


class Changes(_Model):
    """What may be changed for one run without editing the file: the form that the Prefect UI shows."""

    method: Method | None = Field(None, description="certificate method, instead of the file's")
    c: float | None = Field(None, gt=0, le=1, description="weights.c, relative to c_max")
    rounds: int | None = Field(None, ge=1, description="train.rounds")
    batch: int | None = Field(None, ge=1, description="train.batch, the expected batch size")
    learning_rate: float | None = Field(None, gt=0, description="train.learning_rate")

    def overrides(self) -> dict[str, Any]:
        """Dotted keys of the file → the values that replace them."""
        section = {"method": "method", "c": "weights.c"}
        given = self.model_dump(exclude_none=True)
        return {section.get(key, f"train.{key}"): value for key, value in given.items()}


def load_config(path: Path, changes: Changes | None = None) -> HushConfig:
    """Read one YAML file, with `changes` in place of its values.

    Relative paths in it are taken from the file's own folder.

    Raises:
        InputError: names the file, the key (or the line, where the YAML does not parse) and the mend.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(str(path), error.strerror or "cannot be read", "name a readable YAML file") from None
    except UnicodeDecodeError:
        raise InputError(str(path), "is not UTF-8 text", "save it as UTF-8") from None
    try:
        data = read_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        what = getattr(error, "problem", None) or "is not YAML"
        raise InputError(where, what, "correct the YAML on this line") from None
    if not isinstance(data, dict):
        raise InputError(str(path), "is not a mapping of keys", "start from examples/demo.yaml")
    for key, value in (changes or Changes()).overrides().items():
        _set(data, key.split("."), value)
    return parse_config(data, where=str(path), folder=path.parent)


def parse_config(data: Mapping[str, Any], *, where: str, folder: Path) -> HushConfig:
    """Validate a mapping as a config; `where` names its origin in messages."""
    try:
        config = HushConfig.model_validate(data)
    except ValidationError as error:
        raise InputError(where, *_explain(error)) from None
    repos = tuple(r.model_copy(update={"path": _anchor(r.path, folder)}) for r in config.repos)
    secrets = tuple(
        s.model_copy(update={"file": _anchor(s.file, folder)}) if isinstance(s, LiteralsSecret) else s
        for s in config.secrets
    )
    return config.model_copy(update={"repos": repos, "secrets": secrets})


def _anchor(path: Path, folder: Path) -> Path:
    return (folder / path.expanduser()).resolve()


def _set(data: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        data = data.setdefault(key, {})
        if not isinstance(data, dict):
            return  # the file has something else there; validation will name it
    data[keys[-1]] = value


def _explain(error: ValidationError) -> tuple[str, str]:
    """The first error as (what, mend), without the value that was given."""
    details = error.errors(include_input=False, include_url=False, include_context=False)
    first = details[0]
    key = ".".join(str(part) for part in first["loc"]) or "the file"
    more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
    message = re.sub(r"^Value error, ", "", first["msg"])
    if first["type"] == "extra_forbidden":
        return (
            f"unknown key {key}{more}",
            "remove it or correct its spelling; docs/configuration.md lists all",
        )
    if first["type"] == "union_tag_invalid":  # pydantic's own message shows what was given
        return f"{key}: unknown kind{more}", f"take one of {', '.join(SECRET_KINDS)}"
    if first["type"] == "missing":
        return f"missing key {key}{more}", "add it; docs/configuration.md says what it means"
    if first["type"] == "value_error":
        what, _, mend = message.partition("; ")
        return (what if first["loc"] == () else f"{key}: {what}") + more, mend or "correct this key"
    return f"{key}: {message}{more}", "correct this key; docs/configuration.md gives its type and range"
