"""What each command gives as its result, and the schema of the documents that `--json` prints."""

from __future__ import annotations

from collections.abc import Callable
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

    rows = found.rows.rename({"posterior": "target"}).iter_rows(named=True)
    own = dict.fromkeys(VerifiedSecret.model_fields, True)
    told = None
    if privacy is not None:
        table = privacy.rows.select("name", "delta", "epsilon").iter_rows(named=True)
        told = [PrivateSecret(**row) for row in table]
    return Verified(
        target=target,
        digest=found.certificate.digest,
        schema_version=found.certificate.schema_version,
        model_seen=found.model_seen,
        said=verdict(found),
        secrets=[VerifiedSecret(**{k: v for k, v in row.items() if k in own}) for row in rows],
        unchecked=list(found.unchecked),
        privacy=told,
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


class Canaries(BaseModel):
    """Of `hush canaries`."""

    folder: str
    config: str
    """The lines to add to a config."""


def _report() -> Any:
    from flows.reports.job_report import Report

    return Report


def _secrets() -> Any:
    from tasks.publish_secrets import Summary

    return Summary


def _plan() -> Any:
    from flows.reports.plan_report import PlanReport
    from flows.reports.rehearsal import RehearsalReport

    return PlanReport | RehearsalReport


def _compare() -> Any:
    from flows.reports.comparison import ComparisonReport

    return ComparisonReport


def _audit() -> Any:
    from flows.audit import AuditReport

    return AuditReport | CodeAudit | StatisticalAudits


def _watch() -> Any:
    from flows.watch import Watched

    return Watched


def _review() -> Any:
    from flows.review import Reviewed

    return Reviewed


def _init() -> Any:
    from flows.init import Begun

    return Begun


RESULTS: dict[str, Callable[[], Any]] = {
    "run": _report, "demo": _report, "secrets": _secrets, "plan": _plan, "compare": _compare,
    "verify": lambda: Verified, "runs": lambda: CountedRuns, "audit": _audit, "review": _review,
    "watch": _watch, "init": _init,
    "canaries": lambda: Canaries, "replicate": lambda: ReplicationReport | KnownReplications,
    "doctor": lambda: Examined,
}  # fmt: skip
"""By command, the type of its result; loaded when it is asked for."""

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
        raise InputError(
            "hush schema", f"no command {command!r} has a result", f"name one of {', '.join(RESULTS)}"
        )
    result = TypeAdapter(RESULTS[command]()).json_schema(mode="serialization")
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
