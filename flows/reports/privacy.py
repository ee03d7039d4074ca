"""A verified certificate in the words of differential privacy, for the terminal and as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hush_core import figures
from hush_core.certificate import PrivacyReport, Verification, privacy_report
from hush_core.progress import Progress

MOST_ROWS = 20
"""Secrets in the terminal's table, largest ε first; `--out` writes all."""


def report_target(
    verification: Verification, delta: float, secrets: Sequence[str], out: Path | None, progress: Progress
) -> PrivacyReport:
    """The report; with `out`, also privacy.csv, trade_off.csv and trade_off.png in that folder."""
    report = privacy_report(verification, delta=delta, secrets=secrets, progress=progress)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        report.rows.write_csv(out / "privacy.csv")
        report.trade_off.write_csv(out / "trade_off.csv")
        figures.trade_off(report.trade_off, out / "trade_off.png")
    return report


def render_privacy(report: PrivacyReport, console: Console) -> None:
    """The largest ε, and a table of the secrets that have them."""
    rows = report.rows.sort("epsilon", descending=True, nulls_last=False)
    unknown = rows["epsilon"].null_count()
    table = Table(
        title=f"(ε, δ) at δ = {rows['delta'][0]:g}: all of a secret's examples contribute, or none does"
    )
    table.add_column("secret", overflow="ellipsis", max_width=48)
    for column in ("examples", "expected a round", "ε"):
        table.add_column(column, justify="right")
    for row in rows.head(MOST_ROWS).iter_rows(named=True):
        epsilon = "beyond dp_accounting" if row["epsilon"] is None else f"{row['epsilon']:.4g}"
        table.add_row(
            escape(figures.short_name(row["name"])),
            f"{row['examples']:,}",
            f"{row['expected_participation']:.3g}",
            f"≤ {epsilon}" if row["inherited"] and row["epsilon"] is not None else epsilon,
        )
    console.print(table)
    if rows.height > MOST_ROWS:
        console.print(f"[dim]… and {rows.height - MOST_ROWS:,} more secrets: --out FOLDER writes all[/dim]")
    if unknown:
        console.print(
            f"[yellow]![/yellow] {unknown} secrets are beyond dp_accounting's reach; their bounds hold"
        )
