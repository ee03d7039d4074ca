"""An audit as people read it: one table of attacks, one of secrets; for the terminal and for Prefect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markdown import Markdown

from flows.reports.verification import cell
from hush_core.auditing.document import AuditDocument
from hush_core.figures import short_name

SHOWN = 20
"""Secrets, those with most evidence first."""


def render(document: AuditDocument, rows: Sequence[dict[str, Any]], console: Console) -> None:
    console.print(Markdown(markdown(document, rows)))


def markdown(document: AuditDocument, rows: Sequence[dict[str, Any]]) -> str:
    """What was attacked, by whom, what was found between which limits, and the most that could have been found."""
    attacks = [
        f"| {a.name} | {a.adversary} | {a.tried} | {a.found} | {a.most} | {a.outcome} | {a.note} |"
        for a in document.made
    ]
    secrets = [
        "| secret | prior | certified, at most | best guess at every noisy step | extracted (95 %) | before "
        "| samples needed | exposure, bits (95 %) | before | unlikely by certificate | ceiling |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    telling = sorted(
        rows, reverse=True,
        key=lambda row: max((row["written"] or 0.0) / row["certified"], row["ranked_evidence"] or 0.0),
    )  # fmt: skip
    return "\n".join(
        [
            f"# Audit of {document.model}: {document.outcome}",
            "",
            document.in_words(),
            "",
            "| attack | adversary | tried | found (95 % intervals) | ceiling | outcome | |",
            "|---|---|---|---|---|---|---|",
            *attacks,
            "",
            document.not_run(),
            "",
            *(secrets if rows else []),
            *(_row(row) for row in telling[:SHOWN]),
            f"\n{len(rows) - SHOWN} more in secrets.parquet." if len(rows) > SHOWN else "",
            "An attack that finds nothing proves nothing: the certificate is the promise, and holds of attacks "
            "that nobody has tried. Which attack can show what: docs/auditing.md.",
        ]
    )


def _row(row: dict[str, Any]) -> str:
    written = _shown(row["written"])
    if row["written"] is not None:
        written += f" ({row['written_lower']:.2g} to {row['written_upper']:.2g})"
    exposed = "no value to rank"
    if row["exposure_bits"] is not None:
        exposed = f"{row['exposure_bits']:.1f} ({row['exposure_lower']:.1f} to {row['exposure_upper']:.1f})"
    allowed = row["allowed_bits"]
    cells = [
        cell(short_name(row["name"])), f"{row['prior']:.3g}", f"{row['certified']:.4g}",
        _shown(row["every_step"]), written,
        _shown(row["written_start"]), _shown(row["samples"]), exposed, _shown(row["start_bits"], ".1f"),
        "" if allowed is None else f"from {allowed:.1f}", _shown(row["ceiling_bits"], ".1f"),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _shown(value: float | None, form: str = ".3g") -> str:
    return "" if value is None else f"{value:{form}}"
