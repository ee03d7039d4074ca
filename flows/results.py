"""What each command gives as its result, and the schema of the documents that `--json` prints."""

from __future__ import annotations

from datetime import datetime
from functools import reduce
from operator import or_
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter

from flows.output import SCHEMA
from hush_core.errors import InputError

if TYPE_CHECKING:
    from hush_core.certificate import PrivacyReport, Verification


class VerifiedSecret(BaseModel):
    """One secret of a certificate that holds."""

    secret_id: int
    name: str
    prior: float
    target: float
    bound: float
    second: float | None
    """By the second route; null where that is not accurate."""
    route: str


class PrivateSecret(BaseModel):
    """One secret in the words of differential privacy, at the δ that was asked for."""

    name: str
    delta: float
    epsilon: float | None
    """null: beyond dp_accounting's reach."""


class Verified(BaseModel):
    """Of `hush verify`."""

    target: str
    digest: str
    schema_version: str
    model_seen: bool
    said: list[str]
    """The lines that people read."""
    secrets: list[VerifiedSecret]
    unchecked: list[str]
    privacy: list[PrivateSecret] | None = None


def verified(target: str, found: Verification, privacy: PrivacyReport | None) -> Verified:
    from flows.reports.verification import verdict

    columns = [name for name in VerifiedSecret.model_fields if name != "target"]
    rows = found.rows.select(*columns, target="posterior").iter_rows(named=True)
    epsilons = privacy and privacy.rows.select("name", "delta", "epsilon").iter_rows(named=True)
    return Verified(
        target=target,
        digest=found.certificate.digest,
        schema_version=found.certificate.schema_version,
        model_seen=found.model_seen,
        said=verdict(found),
        secrets=[VerifiedSecret(**row) for row in rows],
        unchecked=list(found.unchecked),
        privacy=epsilons and [PrivateSecret(**row) for row in epsilons],
    )


class CountedRun(BaseModel):
    """A run whose releases are counted in this home; null where it does not say how it drew."""

    key: str
    noise_multiplier: float | None
    rounds: int | None
    released: int
    secrets: int | None
    added: bool
    """From another store."""
    noted: datetime | None
    """When it was last noted: its model, or where it came from another store."""
    refuted: str | None = None
    """What the audit said that refuted its model; null where none did."""


class CountedRuns(BaseModel):
    """Of `hush runs`."""

    runs: list[CountedRun]
    new: int | None = None
    """Counted from now on, with --add."""
    known: int | None = None
    unasked: str = ""
    """Why the registry was not asked for what other homes refuted; empty where it was."""


class CodeCheck(BaseModel):
    """One property of the training step that `hush audit --code` tried."""

    name: str
    passed: bool
    evidence: str
    """Measured numbers, in a line."""


class CodeAudit(BaseModel):
    """Of `hush audit --code`."""

    checks: list[CodeCheck]

    @property
    def holds(self) -> bool:
        return all(check.passed for check in self.checks)


class StatisticalAudit(BaseModel):
    """One game that `hush audit --statistics` played."""

    name: str
    played: str
    unit: str
    """What the three numbers are: a posterior, or ε."""
    certified: float
    shown: float
    """At least so much leaks."""
    ceiling: float
    """The most that the game could have shown."""
    outcome: str


class StatisticalAudits(BaseModel):
    """Of `hush audit --statistics`."""

    audits: list[StatisticalAudit]

    @property
    def holds(self) -> bool:
        return all(audit.outcome != "refuted" for audit in self.audits)


class Examined(BaseModel):
    """Of `hush doctor`."""

    mistakes: list[str]
    """Each with its hint."""


class KnownReplication(BaseModel):
    """A figure or table of a paper that can be computed again."""

    name: str
    title: str
    source: str


class KnownReplications(BaseModel):
    """Of `hush replicate --list`."""

    replications: list[KnownReplication]

    def lines(self) -> list[str]:
        return [f"{one.name:22} {one.title} ({one.source})" for one in self.replications]


class ReplicationReport(BaseModel, frozen=True):
    """Of `hush replicate NAME`: what it came to, and where it lies."""

    name: str
    claims: tuple[dict[str, Any], ...]
    folder: str


class CanaryFiles(BaseModel):
    """Of `hush canaries`."""

    folder: str
    config: str
    """The lines to add to a config."""


RESULTS = {
    "run": ("flows.reports.job_report:Report",), "demo": ("flows.reports.job_report:Report",),
    "secrets": ("tasks.publish_secrets:Summary",),
    "plan": ("flows.reports.plan_report:PlanReport", "flows.reports.rehearsal:RehearsalReport"),
    "compare": ("flows.reports.comparison:ComparisonReport",),
    "verify": ("flows.results:Verified",), "runs": ("flows.results:CountedRuns",),
    "audit": ("flows.audit:AuditReport", "flows.results:CodeAudit", "flows.results:StatisticalAudits"),
    "review": ("flows.review:Reviewed",), "watch": ("flows.watch:Watched",), "init": ("flows.init:WrittenConfig",),
    "canaries": ("flows.results:CanaryFiles",),
    "replicate": ("flows.results:ReplicationReport", "flows.results:KnownReplications"),
    "doctor": ("flows.results:Examined",),
}  # fmt: skip
"""By command, the types that its result may have."""

ERROR = {
    "type": "object",
    "properties": {
        "status": {"type": "integer", "description": "the exit status"},
        "where": {"type": "string"}, "what": {"type": "string"}, "hint": {"type": "string"},
        "failures": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["status", "what"],
    "additionalProperties": False,
}  # fmt: skip


def output_schema(command: str) -> dict[str, Any]:
    """The JSON Schema of a command's document. Raises InputError: it has no result."""
    if command not in RESULTS:
        hint = f"name one of {', '.join(RESULTS)}"
        raise InputError("hush schema", f"no command {command!r} has a result", hint)
    result = TypeAdapter(reduce(or_, map(resolve_name, RESULTS[command]))).json_schema(mode="serialization")
    parts = result.pop("$defs", {})
    known = {"schema": {"const": SCHEMA}, "command": {"const": command}}

    def either(name: str, body: dict[str, Any]) -> dict[str, Any]:
        return {
            "properties": {**known, name: body},
            "required": [*known, name],
            "additionalProperties": False,
        }

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"hush {command} --json",
        "type": "object",
        "oneOf": [either("result", result), either("error", ERROR)],
        "$defs": parts,
    }
