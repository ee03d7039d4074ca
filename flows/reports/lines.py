"""A report is blocks, each written once: they are shown on a terminal and, in markdown, in the Prefect UI."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

TAKE, WARNING = "take", "!"
"""The labels of what to do, and of a warning."""


@dataclass(frozen=True)
class Line:
    """An empty label continues the line before."""

    label: str
    text: str


@dataclass(frozen=True)
class Small:
    """What explains the block above."""

    text: str


@dataclass(frozen=True)
class Grid:
    """A table of numbers; the column called `left`, and one without a name, is of text.

    chosen: the row that is recommended. most: rows on a terminal; the others are in `file`. fold: whether a number
    that is too wide is folded.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: str = ""
    chosen: int | None = None
    most: int = 100
    file: str = ""
    fold: bool = True


@dataclass(frozen=True)
class Where:
    """Where tables and picture lie. shown: what to look at first; the folder if empty."""

    folder: str
    url: str | None
    shown: str = ""


Block = str | Line | Small | Grid | Where
"""A text with markup is the head of a report."""


def show(blocks: Iterable[Block], console: Console) -> None:
    """On a terminal."""
    for block in blocks:
        match block:
            case Line(label, text):
                say(console, label, text)
            case Small(text):
                console.print(f"[dim]      {escape(text)}[/dim]", soft_wrap=True)
            case Grid():
                _show_grid(block, console)
            case Where(folder, url, shown):
                say(console, "look", f"{folder}/{shown}" if shown else folder)
                if url:
                    say(console, "", url)
            case _:
                console.print(block, soft_wrap=True)


def _show_grid(block: Grid, console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    for name in block.heads:
        words = name in ("", block.left)
        justify = "left" if words else "right"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=not (words or block.fold))
    for place, row in enumerate(block.rows[: block.most]):
        table.add_row(*map(escape, row), style="bold green" if place == block.chosen else None)
    console.print(table)
    if (hidden := len(block.rows) - block.most) > 0:
        console.print(f"[dim]{hidden:,} more in {block.file}[/dim]")


def say(console: Console, label: str, text: str) -> None:
    mark = f"[yellow]{label}[/yellow]" if label == WARNING else f"[bold]{label}[/bold]"
    console.print(f"{mark}{' ' * (6 - len(label))}{escape(text)}", soft_wrap=True)


def markdown(blocks: Iterable[Block]) -> str:
    """For the Prefect UI: lines are a list, those that continue another below it; what to do is bold."""
    lines: list[str] = []
    for _, group in groupby(blocks, type):
        lines += [""] if lines else []
        for place, block in enumerate(group):
            match block:
                case Line("", text):
                    lines.append(f"{'  ' if place else ''}- {text}")
                case Line(label, text):
                    mark = "**!**" if label == WARNING else f"{label}:"
                    lines.append(f"- {mark} {f'**{text}**' if label == TAKE else text}")
                case Small(text):
                    lines += ["", text] if place else [text]
                case Grid(heads, rows):
                    lines += table_lines(heads, rows)
                case Where(folder, url):
                    lines.append(f"Tables and picture: {where(folder, url)}")
                case _:
                    lines.append(plain(block))
    return "\n".join(lines)


def plain(text: str) -> str:
    """Without the terminal's markup."""
    return Text.from_markup(text).plain


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
