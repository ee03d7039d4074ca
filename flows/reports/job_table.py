"""The secrets of a job as a table on a terminal: those to look at first, and no column that says nothing."""

from __future__ import annotations

from collections.abc import Callable

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from flows.reports.job_report import Report, SecretRow
from hush_core.figures import short_name

MOST_ROWS = 15
WIDTH = 100
LONGEST_NAME, NAMES_END = 40, 7


def telling_rows(rows: list[SecretRow], most: int = MOST_ROWS) -> list[SecretRow]:
    """The rows to show: values that came out or rank high first, then bounds nearest to their targets."""

    def attack(row: SecretRow) -> tuple[bool, bool, float, float]:
        exposed = row.unprotected_exposure_bits or 0.0
        return bool(row.extracted), bool(row.unprotected_extracted), exposed, row.exposure_bits or 0.0

    ranked = sorted((r for r in rows if r.rank is not None), key=attack, reverse=True)
    others = sorted((r for r in rows if r.rank is None), key=lambda r: r.bound / r.target, reverse=True)
    kept = max(most - len(others), most * 2 // 3)
    shown = ranked[:kept]
    return shown + others[: most - len(shown)]


def table(report: Report) -> Table:
    """Numbers are left whole; a long name gives its middle to them."""
    shown, columns = telling_rows(report.rows), _columns(report)
    cells = [[cell(row) for row in shown] for _, cell in columns]
    made = Table(box=None, pad_edge=False, collapse_padding=True, header_style="bold", caption_style="dim")
    made.add_column("secret", no_wrap=True)
    room = WIDTH
    for (head, _), column in zip(columns, cells, strict=True):
        made.add_column(head, justify="right", no_wrap=True)
        lines = (line for cell in (head, *column) for line in Text.from_markup(cell).split("\n"))
        room -= 1 + max(line.cell_len for line in lines)
    if ranks := max((row.alternatives or 0 for row in report.rows), default=0):
        made.caption_justify = "left"
        made.caption = (
            f"rank of the true value among {ranks + 1} (exposure in bits), before the rounds and after; "
            "OUT: completed word for word. Released WITHOUT noise, as the losses: no bound covers ranks and losses"
        )
    for row, *numbers in zip(shown, *cells, strict=True):
        made.add_row(escape(_fitting(short_name(row.name), min(room, LONGEST_NAME))), *numbers)
    return made


def _columns(report: Report) -> list[tuple[str, Callable[[SecretRow], str]]]:
    """Head and cells of each column of numbers; none that says nothing of any secret."""
    ranked = any(row.alternatives for row in report.rows)
    compared = ranked and any(row.unprotected_rank is not None for row in report.rows)

    def number(value: float | None) -> str:
        return "[dim]-[/dim]" if value is None else f"{value:.1e}"

    def all_runs(row: SecretRow) -> str:
        value = "-" if row.all_runs is None else f"{row.all_runs:.1e}"
        return value if row.all_runs is not None and row.all_runs <= row.target else f"[red]{value}[/red]"

    def rank(place: int | None, bits: float | None, extracted: bool | None) -> str:
        if place is None or bits is None:
            return "[dim]-[/dim]"
        return ("[red]OUT[/red] " if extracted else "") + f"{place} ({bits:.1f})"

    audited = bool(report.audit)
    columns: list[tuple[str, Callable[[SecretRow], str], bool]] = [
        ("ex.", lambda row: f"{row.examples:,}", True),
        ("prior", lambda row: number(row.prior), True),
        ("target", lambda row: number(row.target), True),
        ("bound", lambda row: number(row.bound), True),
        ("all runs", all_runs, any(row.earlier_runs for row in report.rows)),
        ("best\nguess", lambda row: number(row.every_step), audited),
        ("written", lambda row: number(row.attacked), audited),
        ("before", lambda r: "[dim]-[/dim]" if r.before_rank is None else str(r.before_rank), ranked),
        ("protected", lambda r: rank(r.rank, r.exposure_bits, r.extracted), ranked),
        (
            "unprotected",
            lambda r: rank(r.unprotected_rank, r.unprotected_exposure_bits, r.unprotected_extracted),
            compared,
        ),
    ]
    return [(head, cell) for head, cell, shown in columns if shown]


def _fitting(name: str, room: int) -> str:
    """A name, with its middle left out if it is too long: its end distinguishes it from others of its kind."""
    kept = max(room - 1, 2)
    end = min(NAMES_END, kept // 2)
    return name if len(name) <= room else f"{name[: kept - end]}…{name[-end:]}"
