"""What an extraction found, for the terminal and for the Prefect UI. Never a value."""

from __future__ import annotations

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.reports.coverage_notes import coverage_notes, ways
from hush_core.errors import InputError
from hush_core.figures import short_name
from hush_core.secrets.report.sarif import MOST_RESULTS
from tasks.publish_secrets import Summary
from tasks.wording import counted

MOST_ENTRIES = 40
"""Entries, and repositories, in the terminal's tables; the files have all."""
MOST_FILES = 200
MOST_DECIDED = 20
"""Values that the terminal lists as left out, those that cost most first; dropped.csv has all."""
REDACTED = ["redacted", "in places"]
"""Columns that stand only where something was redacted."""


def render(summary: Summary, console: Console) -> None:
    """What a person must decide; then two tables, and where the files are."""
    _decide(summary, console)
    compared = summary.gone_elsewhere is not None
    table = Table(
        title=f"{summary.with_secret:,} of {summary.examples:,} examples hold a secret",
        caption="new, gone: secrets in files, since the baseline" if compared else None,
    )
    table.add_column("entry", overflow="fold")
    table.add_column("kind")
    numbers = ["secrets", "examples", "in no example", "recognised elsewhere"]
    redacts = any(row.redacted for row in summary.entries)
    numbers += REDACTED if redacts else []
    for column in numbers + (["new", "gone"] if compared else []):
        table.add_column(column, justify="right")
    for row in summary.entries[:MOST_ENTRIES]:
        cells = [row.secrets, row.examples, row.without_example, row.propagated]
        cells += [row.redacted, row.places] if redacts else []
        changed = [row.new, row.gone] if compared else []
        table.add_row(escape(row.id), escape(row.kind), *(f"{n:,}" for n in [*cells, *changed]))
    console.print(table)
    _more(console, len(summary.entries), "entries")
    for line in ways(summary.coverage)[:MOST_ENTRIES]:
        console.print(escape(line), soft_wrap=True)
    table = Table(title="Files")
    table.add_column("repository", overflow="fold")
    for column in ("files read", "examples"):
        table.add_column(column, justify="right")
    table.add_column("left out")
    for repository in summary.repositories[:MOST_ENTRIES]:
        skipped = ", ".join(f"{n:,} {reason.replace('_', ' ')}" for reason, n in repository.skipped.items())
        table.add_row(
            escape(repository.label),
            f"{repository.files:,}",
            f"{repository.examples:,}",
            escape(skipped) or "–",
        )
    console.print(table)
    _more(console, len(summary.repositories), "repositories")
    for name, path in summary.files.items():
        console.print(f"[bold]{name:<14}[/bold]{escape(str(path))}", soft_wrap=True)


def _decide(summary: Summary, console: Console) -> None:
    """What cost text and where it first stands, then all that a person should look at, before what only informs."""
    file = summary.files.get("dropped.csv")
    if file is not None:
        weak = pl.read_csv(file, infer_schema=False, schema_overrides={"examples": pl.Int64})
        weak = weak.filter(pl.col("weak") == "true").sort("source", "path")
        values = weak.group_by("name", maintain_order=True).agg(
            pl.first("source", "path"), pl.len().alias("files"), pl.sum("examples")
        )
        table = Table(
            title=f"To decide: {counted(values.height, 'value')} left out of training, with the text around them",
            caption="rotate what is real, take it out of the file; or keep the text without it: `protect: redact`",
        )
        for column in ("what", "first in", "files", "examples"):
            table.add_column(
                column, overflow="fold", justify="left" if column in ("what", "first in") else "right"
            )
        order = values.sort("examples", descending=True, maintain_order=True)
        for name, source, path, files, examples in order.head(MOST_DECIDED).iter_rows():
            table.add_row(escape(short_name(name)), escape(f"{source}:{path}"), f"{files:,}", f"{examples:,}")
        console.print(table)
        if values.height > MOST_DECIDED:
            console.print(f"[dim]… and {values.height - MOST_DECIDED:,} more: dropped.csv[/dim]")
    _warn(summary, console)


def _warn(summary: Summary, console: Console) -> None:
    if summary.gone_elsewhere:
        text = f"{summary.gone_elsewhere:,} pairs are gone whose entry is no longer in the config"
        console.print(f"[yellow]![/yellow] {text}", soft_wrap=True)
    for note in coverage_notes(summary.coverage):
        console.print(f"[yellow]![/yellow] {escape(note)}", soft_wrap=True)
    if summary.results_left_out:
        text = (
            f"secrets.sarif lists at most {MOST_RESULTS} places a secret ({summary.results_left_out:,} more); "
            "files.csv has every file"
        )
        console.print(f"[dim]{text}[/dim]", soft_wrap=True)


def _more(console: Console, rows: int, what: str) -> None:
    if rows > MOST_ENTRIES:
        console.print(f"[dim]… and {rows - MOST_ENTRIES:,} more {what}: coverage.json[/dim]")


def render_files(summary: Summary, asked: list[str], console: Console) -> None:
    """Which files hold the secrets asked for, each a name of a secret or an entry's id.

    Raises:
        InputError: none is called so.
    """
    rows = pl.read_csv(summary.files["files.csv"], infer_schema=False)
    names = set(rows["name"])
    known = {entry.id for entry in summary.entries} | names
    for shown in asked:
        meant = [shown] if shown in known else [name for name in names if short_name(name) == shown]
        name = meant[0] if len(meant) == 1 else shown
        if name not in known:
            raise InputError(
                "--secret", f"no secret or entry is called {name!r}", "take a name out of files.csv"
            )
        own = rows.filter((pl.col("name") == name) | pl.col("name").str.starts_with(f"{name}/"))
        table = Table(title=f"{escape(name)}: in {counted(own.height, 'file')}")
        for column in ("secret", "source", "path"):
            table.add_column(column, overflow="fold")
        table.add_column("examples", justify="right")
        table.add_column("because", overflow="fold")
        for row in own.head(MOST_FILES).iter_rows(named=True):
            because = short_name(row["reason"].replace(":", "/")).replace("/", ":")
            cells = (short_name(row["name"]), row["source"], row["path"], row["examples"], because)
            table.add_row(*(escape(cell or "") for cell in cells))
        console.print(table)
        if own.height > MOST_FILES:
            console.print(f"[dim]… and {own.height - MOST_FILES:,} more: files.csv[/dim]")


def markdown(summary: Summary, url: str | None) -> str:
    """The tables for the Prefect UI; no path of a repository, and no name that a repository chose."""
    compared = summary.gone_elsewhere is not None
    names = ["entry", "kind", "secrets", "examples", "in no example", "recognised elsewhere"]
    redacts = any(row.redacted for row in summary.entries)
    names += REDACTED if redacts else []
    names += ["new", "gone"] if compared else []
    lines = [
        f"{summary.with_secret:,} of {summary.examples:,} examples hold a secret.",
        "",
        "| " + " | ".join(names) + " |",
        "|" + "---|" * len(names),
    ]
    for row in summary.entries:
        cells = [row.secrets, row.examples, row.without_example, row.propagated]
        cells += [row.redacted, row.places] if redacts else []
        cells += [row.new or 0, row.gone or 0] if compared else []
        lines.append(f"| `{row.id}` | {row.kind} | " + " | ".join(f"{n:,}" for n in cells) + " |")
    lines += ["", *(f"- {line}" for line in ways(summary.coverage))]
    lines += ["", *(f"- **!** {note}" for note in coverage_notes(summary.coverage))]
    lines += ["", "| source | files read | examples | left out |", "|---|---|---|---|"]
    for one in summary.repositories:
        skipped = ", ".join(f"{n:,} {reason.replace('_', ' ')}" for reason, n in one.skipped.items())
        lines.append(f"| `{one.label}` | {one.files:,} | {one.examples:,} | {skipped or '–'} |")
    where = f"[MLflow]({url}), " if url else ""
    return "\n".join([*lines, "", f"Files and picture: {where}`{summary.files['files.csv'].parent}`"])
