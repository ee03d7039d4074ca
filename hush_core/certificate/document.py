"""certificate.json as typed models, in one canonical byte form with its own digest."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from hush_core.errors import VerificationError
from hush_core.files import file_sha256

DOCUMENT = "certificate.json"
TABLES = ("bounds.parquet", "curves.parquet", "edges.parquet", "secrets.parquet", "weights.parquet")

PROMISE = (
    "For every secret j: no adversary who sees everything this training released names the right one among "
    "candidates that differ only in the examples tagged with j, each of prior probability at most `prior`, "
    "with probability above `bound` (paper, Definition 3.1, arbitrary changes of the tagged examples)."
)
NOT_PROMISED = (
    "Which examples hold which secret is public, and so are the weights.",
    "A copy of a secret in an example that is not tagged with it is not protected.",
    "Text that is also public is no secret.",
    "What other runs on the same data released adds up; `runs_on_this_data` counts those of this store.",
)


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=())


class PlanFacts(_Document):
    """The mechanism: σ, T, B, C, the certificate method, and how the weights were made."""

    noise_multiplier: float
    rounds: int
    expected_batch: int
    clip_norm: float
    method: str
    capacities: str
    c: float
    weight_objective: float
    weight_upper_bound: float


class TrainingFacts(_Document):
    """What was really run. `rounds_released` counts every release, those of lost rounds
    included; `rounds_applied` those that shaped the model."""

    rounds_released: int
    rounds_applied: int
    noise_source: str
    sampler: str
    released_unprotected: tuple[str, ...]


class Audit(_Document):
    """One attack: what it tried, on how many secrets, how many it got."""

    name: str
    secrets: int
    succeeded: int
    note: str


class Facts(_Document):
    """Everything in the certificate that is not computed when it is written."""

    name: str
    plan: PlanFacts
    training: TrainingFacts
    sources: dict[str, str]
    """Repository label → keyed fingerprint of the commit read. The commit id itself is a hash of the text, against
    which a guess at a secret could be tried."""
    examples: int
    examples_fingerprint: str
    """Keyed, for the same reason."""
    runs_on_this_data: int
    coverage: dict[str, object]
    audits: tuple[Audit, ...]
    code: dict[str, str]
    """Name → version, of hush and of what computes for it."""


class Certificate(_Document):
    """certificate.json. `digest` is the SHA-256 of the canonical form without the digest itself."""

    schema_version: Literal["hush-certificate/2"] = "hush-certificate/2"
    promise: str = PROMISE
    not_promised: tuple[str, ...] = NOT_PROMISED
    facts: Facts
    tables: dict[str, str]
    """Table file → SHA-256."""
    model_files: dict[str, str]
    """File of the model → SHA-256."""
    digest: str = ""

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
        VerificationError: the file is missing, was edited, or is of another schema.
    """
    path = directory / DOCUMENT
    try:
        data = path.read_bytes()
    except OSError:
        raise VerificationError([f"{path}: missing or unreadable"]) from None
    try:
        certificate = Certificate.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        key = ".".join(map(str, first["loc"])) or "the document"
        raise VerificationError([f"{path}: {key}: {first['msg']}"]) from None
    if data != certificate.canonical() or certificate != certificate.sealed():
        raise VerificationError([f"{path}: was edited: its bytes do not give its digest"])
    return certificate


def read_tables(directory: Path) -> dict[str, pl.DataFrame]:
    """The tables by file name, unchecked; `verify_certificate` checks them."""
    return {name: pl.read_parquet(directory / name) for name in TABLES}


def hash_directory(directory: Path) -> dict[str, str]:
    """Relative path → SHA-256 of every file below `directory`, sorted."""
    files = sorted(p for p in directory.rglob("*") if p.is_file())
    return {p.relative_to(directory).as_posix(): file_sha256(p) for p in files}
