"""A replication's claims, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from hush_core.replications.document import sign_of

if TYPE_CHECKING:
    from rich.console import Console

    from flows.replicate import ReplicationReport


def render(report: ReplicationReport, console: Console) -> None:
    """Every claim with both numbers and its mark."""
    table = Table("claim", "paper", "ours", "mark", title=f"{report.name}: the paper's claims and ours")
    for claim in report.claims:
        ours = "–" if claim["ours"] is None else f"{claim['ours']:.4g}{claim['unit']}"
        paper = f"{claim['paper']:.4g}{claim['unit']}" + " (target)" * claim["target"]
        table.add_row(escape(claim["text"]), paper, ours, sign_of(claim))
    console.print(table)
    console.print(f"Page, numbers and picture: {escape(report.folder)}")
