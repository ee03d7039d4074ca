"""What the page shows, as a document that can be kept and shown again when an audit comes later. Never a value.

`report.json` beside `report.html` is this document. Secrets are cut to those that a reviewer must see first, so
that neither grows with the number of secrets: the certificate and the tables of the run have all of them. Each is
in a state, and its numbers are on a logarithmic axis.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from flows.reports.job_report import Report, SecretRow
from hush_core.auditing.document import REFUTED, AuditDocument
from hush_core.certificate.document import Certificate
from tasks.wording import counted

STATES = {
    "came out": "bad",
    "above target": "bad",
    "no promise": "bad",
    "near target": "good",
    "kept": "good",
    "no example": "plain",
}
"""What a secret can be in, the most serious first, and how it looks."""
_ORDER = {state: number for number, state in enumerate(STATES)}
NEAR = 0.9
"""The share of its target from which a bound is near it."""
WIDTH, EDGE = 132.0, 7.0
"""Of a row's picture in pixels, and the room beside its axis."""


def state_of(row: SecretRow) -> str:
    """The most serious that holds: a name of STATES."""
    if row.extracted:
        return "came out"
    if row.bound > row.target or (row.all_runs is not None and row.all_runs > row.target):
        return "above target"
    if row.earlier_runs and row.all_runs is None:
        return "no promise"
    if not row.examples:
        return "no example"
    return "near target" if share(row) >= NEAR else "kept"


def share(row: SecretRow) -> float:
    """Of its target, what its bound takes; of all runs together where there were earlier ones."""
    return (row.all_runs or row.bound) / row.target


def severity(row: SecretRow) -> tuple[int, float, str]:
    """Sorts the most serious first."""
    return _ORDER[state_of(row)], -share(row), row.name


@dataclass(frozen=True)
class Axis:
    """From the least probability of a page to 1, logarithmic."""

    least: float

    @classmethod
    def of(cls, rows: Iterable[SecretRow]) -> Axis:
        least = min((min(row.prior, row.bound) for row in rows), default=1e-6)
        return cls(10.0 ** math.floor(math.log10(max(least, 1e-300))))

    def place(self, probability: float) -> float:
        """Pixels from the left; a value below the axis is drawn at its end."""
        decades = -math.log10(self.least) or 1.0
        at = 1 + math.log10(max(probability, self.least)) / decades
        return round(EDGE + min(max(at, 0.0), 1.0) * (WIDTH - 2 * EDGE), 1)


SHOWN = 1000
"""Secrets on the page, those that need looking at first."""
MOST_OTHERS = 20
"""Secrets of an audit that have no row on the page, by evidence."""


class CertificateWords(BaseModel, frozen=True):
    """What the certificate says in words, and where it came from."""

    promise: tuple[str, ...]
    not_promised: tuple[str, ...]
    released_unprotected: tuple[str, ...]
    digest: str
    run: str
    schema_version: str
    sources: dict[str, str]
    code: dict[str, str]
    noise_source: str
    sampler: str
    gradient_scale: str | None = None


class AuditedRow(BaseModel, frozen=True):
    """What an audit found of one secret; None where an attack was not made."""

    name: str
    certified: float
    written: float | None
    written_lower: float | None
    written_upper: float | None
    exposure_bits: float | None
    evidence: float | None


class Audited(BaseModel, frozen=True):
    """An audit: its signed document, and its rows of the secrets on the page, and of those with most evidence."""

    document: AuditDocument
    rows: dict[str, AuditedRow]
    told: int
    """Secrets that the audit has a row of."""


class PageDocument(BaseModel):
    """report.json."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal["hush-report/1"] = "hush-report/1"
    made_at: str
    report: Report
    """With the rows that are shown, the most serious first."""
    states: dict[str, int]
    """How many of ALL secrets are in each state."""
    stated: CertificateWords
    audit: Audited | None = None

    @property
    def hidden(self) -> int:
        """Secrets without a row here."""
        return sum(self.states.values()) - len(self.report.rows)


def page_document(report: Report, stated: CertificateWords, made_at: str) -> PageDocument:
    rows = sorted(report.rows, key=severity)
    found = Counter(state_of(row) for row in rows)
    return PageDocument(
        made_at=made_at,
        report=report.model_copy(update={"rows": rows[:SHOWN]}),
        states={state: found[state] for state in STATES if found[state]},
        stated=stated,
    )


def stated_by(certificate: Certificate, *, several: bool) -> CertificateWords:
    """The certificate's words; `several`: those of all runs together among them."""
    facts = certificate.facts
    promise = [certificate.promise]
    promise += [certificate.all_runs_promise] if several else []
    promise += [certificate.redaction_promise] if facts.redaction.secrets else []
    trained = ("released_unprotected", "noise_source", "sampler", "gradient_scale")
    return CertificateWords(
        promise=tuple(promise),
        not_promised=certificate.not_promised,
        digest=certificate.digest,
        schema_version=certificate.schema_version,
        run=facts.run,
        sources=facts.sources,
        code=facts.code,
        **{name: getattr(facts.training, name) for name in trained},
    )


def with_audit(
    page: PageDocument, document: AuditDocument, rows: Sequence[Mapping[str, Any]]
) -> PageDocument:
    """The same page with what an audit found; `rows` as of `hush_core.auditing.against_certificate.TABLE`."""
    shown = {row.name for row in page.report.rows}
    found = [_audited(row) for row in rows]
    kept = [row for row in found if row.name in shown]
    others = sorted((row for row in found if row.name not in shown), key=lambda r: -(r.evidence or 0.0))
    by_name = {row.name: row for row in [*kept, *others[:MOST_OTHERS]]}
    return page.model_copy(update={"audit": Audited(document=document, rows=by_name, told=len(found))})


def _audited(row: Mapping[str, Any]) -> AuditedRow:
    evidence = [row[name] for name in ("written_evidence", "ranked_evidence") if row[name] is not None]
    return AuditedRow(
        evidence=max(evidence, default=None),
        **{name: row[name] for name in AuditedRow.model_fields if name != "evidence"},
    )


def verdict(page: PageDocument) -> tuple[Literal["bad", "warn", "good"], str, str]:
    """(how it looks, in a few words, in a sentence)."""
    counts, report, audit = page.states, page.report, page.audit
    if audit is not None and audit.document.outcome == REFUTED:
        return "bad", "Refuted", "An audit found more in the model than its certificate allows."
    if out := counts.get("came out", 0):
        verb = "value was" if out == 1 else "values were"
        return "bad", "Came out", f"{out:,} {verb} completed word for word by the protected model."
    if above := counts.get("above target", 0) + counts.get("no promise", 0):
        which = "secret is" if above == 1 else "secrets are"
        return (
            "bad",
            "Over target",
            f"{above:,} {which} above the target, or without a promise, over all runs.",
        )
    kept = f"Every certified bound of {counted(sum(counts.values()), 'secret')} is at most its target."
    if not counts:
        kept = (
            "No secret that was found was trained on: values are redacted, other text with one is left out."
        )
    if report.warnings:
        warnings = counted(len(report.warnings), "warning")
        return "warn", "Certified, with warnings", f"{kept} {warnings} to read first."
    return "good", "Certified", kept


def worst(rows: Sequence[SecretRow]) -> float | None:
    """The largest share of its target that a bound takes, of this run."""
    return max((row.bound / row.target for row in rows), default=None)
