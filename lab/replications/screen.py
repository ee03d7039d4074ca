"""The replications that there are, and one's claims, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from flows.results import KnownReplication, KnownReplications, ReplicationReport
from lab.replications.catalogue import NAMES, find_replication
from lab.replications.document import sign_of

if TYPE_CHECKING:
    from rich.console import Console


def known_replications() -> KnownReplications:
    """Name, title and source of each."""
    found = map(find_replication, NAMES)
    return KnownReplications(
        replications=[KnownReplication(name=one.name, title=one.title, source=one.source) for one in found]
    )


def render(report: ReplicationReport, console: Console) -> None:
    """Every claim with both numbers and its mark."""
    table = Table("claim", "paper", "ours", "mark", title=f"{report.name}: the paper's claims and ours")
    for claim in report.claims:
        ours = "–" if claim["ours"] is None else f"{claim['ours']:.4g}{claim['unit']}"
        paper = f"{claim['paper']:.4g}{claim['unit']}" + " (target)" * claim["target"]
        table.add_row(escape(claim["text"]), paper, ours, sign_of(claim))
    console.print(table)
    console.print(f"Page, numbers and picture: {escape(report.folder)}")
