"""audit.json: what an audit found, as signed facts beside the certificate that it is of.

A certificate is sealed when its model is registered, and an audit comes later: so it is a document of its own. It
names the certificate by its digest, and is signed with the key of the home that made both. In it are numbers of
secrets and evidence, never a value or a text.
"""

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from hush_core.auditing.refutation import SIGNIFICANCE, Evidence
from hush_core.errors import VerificationError

AUDIT = "audit.json"
SCHEMA_VERSION = "hush-audit/1"
DIGEST = "^[0-9a-f]{64}$"
"""SHA-256; it becomes the name of a file."""
REFUTED, NOT_REFUTED, CANNOT_REFUTE = "refuted", "not refuted", "cannot refute"


class AttackFacts(BaseModel):
    """One attack: the adversary, what it found and between what limits, the most it could have found.

    evidence, ceiling, needed: of `refutation.Evidence`; null of an attack that is no test of the certificate.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    adversary: str
    tried: int
    """Secrets, texts or units."""
    found: str
    most: str
    """Its ceiling, in words."""
    outcome: Literal["refuted", "not refuted", "cannot refute", "not run", "no test of the certificate"]
    note: str = ""
    evidence: float | None = None
    ceiling: float | None = None
    needed: float | None = None


class AuditDocument(BaseModel):
    """audit.json. `signature` is over the canonical form without itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    schema_version: Literal["hush-audit/1"] = SCHEMA_VERSION
    model: str
    certificate_digest: str = Field(pattern=DIGEST)
    model_files: str = Field(pattern=DIGEST)
    """`files_digest` of the certificate's model files."""
    made_at: str
    store: str
    """The public name of the home whose key signs."""
    significance: float = SIGNIFICANCE
    outcome: Literal["refuted", "not refuted", "cannot refute"]
    attacks: tuple[AttackFacts, ...]
    tables: dict[str, str]
    """Name → SHA-256 of the published tables."""
    code: dict[str, str]
    signature: str = ""

    @property
    def made(self) -> list[AttackFacts]:
        """The attacks that were made."""
        return [a for a in self.attacks if a.outcome != "not run"]

    def not_run(self) -> str:
        """The others in a sentence, each with its reason; empty if all were made."""
        left = "; ".join(f"{a.name} ({a.note})" for a in self.attacks if a.outcome == "not run")
        return left and f"Not run: {left}."

    def unsigned(self) -> str:
        """What is signed: canonical JSON."""
        fields = self.model_copy(update={"signature": ""}).model_dump(mode="json")
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    def to_bytes(self) -> bytes:
        """The file."""
        return (self.model_dump_json(indent=2) + "\n").encode()

    def in_words(self) -> str:
        """One line for who verifies or reviews the version."""
        tests = [a for a in self.made if a.evidence is not None]
        able = sum(a.outcome in ("refuted", "not refuted") for a in tests)
        outcome = {
            REFUTED: "REFUTED: an attack found more than the certificate allows",
            NOT_REFUTED: f"not refuted; {able} of {len(tests)} attacks could have refuted it",
            CANNOT_REFUTE: f"NOT TESTED: none of {len(tests)} attacks could have refuted it",
        }[self.outcome]
        strongest = "; ".join(
            f"{a.name}: evidence {a.evidence:.3g} where {a.needed:.0f} would refute"
            + ("" if a.ceiling >= a.needed else f", and {a.ceiling:.3g} is the most it can give")
            for a in tests
        )
        return f"audit of {self.made_at}: {outcome} (significance {self.significance:g}). {strongest}"


def outcome_of(evidence: list[Evidence]) -> Literal["refuted", "not refuted", "cannot refute"]:
    """Of all attacks together: one that refutes is enough, and one that could have must have been made."""
    found = {one.outcome for one in evidence}
    if "refuted" in found:
        return "refuted"
    return "not refuted" if "not refuted" in found else "cannot refute"


def read_audit(data: bytes, where: str) -> AuditDocument:
    """Parse the document; only the holder of the key can check the signature.

    Raises:
        VerificationError: the bytes are no such document.
    """
    try:
        return AuditDocument.model_validate_json(data)
    except ValueError:
        raise VerificationError([f"{where}: is no audit of this version of hush"]) from None
