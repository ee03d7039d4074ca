"""The audits of the training step as the terminal shows them: of the code, and of what it draws."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.results import CodeAudit, CodeCheck, StatisticalAudit, StatisticalAudits


def audit_code() -> CodeAudit:
    """Replay this installation's step on neighbouring batches."""
    from lab.code_audit import audit_step

    checks = audit_step()
    return CodeAudit(checks=[CodeCheck(name=c.name, passed=c.passed, evidence=c.evidence) for c in checks])


def audit_draws() -> StatisticalAudits:
    """Play the statistical audits on this installation's sampler and noise."""
    from lab.statistical_audits.battery import statistical_audits

    return StatisticalAudits(
        audits=[
            StatisticalAudit(
                name=row.name,
                played=row.played,
                unit=row.shown.unit,
                certified=row.certified,
                shown=row.shown.value,
                ceiling=row.shown.ceiling,
                outcome=row.outcome,
            )
            for row in statistical_audits()
        ]
    )


def render(audit: CodeAudit | StatisticalAudits, console: Console) -> None:
    (_render_code if isinstance(audit, CodeAudit) else _render_draws)(audit, console)  # type: ignore[arg-type]


def _render_code(audit: CodeAudit, console: Console) -> None:
    """Each property, those that broke first."""
    from lab.code_audit import Check, code_report

    checks = [Check(**check.model_dump()) for check in audit.checks]
    console.print(escape(code_report(checks)), highlight=False, soft_wrap=True)


def _render_draws(audits: StatisticalAudits, console: Console) -> None:
    """A row an audit: what is certified, what was shown, the most that could have been shown."""
    table = Table(box=None, pad_edge=False)
    for name in ("audit", "played", "certified", "shown", "could have shown", "outcome"):
        table.add_column(name, overflow="fold")
    for row in audits.audits:
        unit = "" if row.unit == "posterior" else "ε "
        numbers = (f"{unit}{value:.3g}" for value in (row.certified, row.shown, row.ceiling))
        table.add_row(row.name, escape(row.played), *numbers, row.outcome)
    console.print(table)
    console.print(
        "shown: at least so much leaks, all rows together at 99 %. `cannot tell`: too small an audit to refute "
        "what is certified, whatever leaks. One shot is an estimate. docs/auditing.md"
    )
