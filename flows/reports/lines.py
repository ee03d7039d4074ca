"""What the reports share: lines with a label, and tables, for a terminal and in markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table


def say(console: Console, label: str, text: str) -> None:
    """A line of the screen; `!` is a warning's label, and an empty one continues the line before."""
    mark = f"[yellow]{label}[/yellow]" if label == "!" else f"[bold]{label}[/bold]"
    console.print(f"{mark}{' ' * (6 - len(label))}{escape(text)}", soft_wrap=True)


def grid(heads: Iterable[str], left: str = "", style: str = "bold", **column: Any) -> Table:
    """An empty table of numbers; the column called `left`, and one without a name, is of text."""
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style=style)
    for name in heads:
        table.add_column(name, justify="left" if name in ("", left) else "right", **column)
    return table


def table_lines(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(name or "note" for name in heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(cells) + " |" for cells in rows]


def where(folder: str, url: str | None) -> str:
    """Where tables and picture lie, in markdown."""
    return (f"[MLflow]({url}), " if url else "") + f"`{folder}`"


def by_runs(rows: Iterable[Any], field: str, form: str) -> str:
    """A number of each row by how many runs it is for."""
    found = ((row.runs, getattr(row, field)) for row in rows)
    return " · ".join(f"{runs:,}: {'-' if value is None else f'{value:{form}}'}" for runs, value in found)
