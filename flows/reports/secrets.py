"""What an extraction found, for the terminal and for the Prefect UI. Never a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.reports.coverage_notes import as_asked, coverage_notes, leaves_out, redaction, sentence, ways
from hush_core.errors import InputError
from hush_core.figures import short_name
from hush_core.secrets.coverage import published
from hush_core.secrets.priors import RANDOM_TOKEN
from hush_core.secrets.report.findings import LEFT_OUT
from hush_core.secrets.report.sarif import MOST_RESULTS
from tasks.publish_secrets import RepositoryRow, Summary
from tasks.wording import counted

MOST_ENTRIES = 40
"""Entries, and repositories, in the terminal's tables; the files have all."""
MOST_FILES = 200
MOST_VALUES = 20
"""Values that the terminal lists as left out and as found: most examples first, UNNAMED last. Files have all."""
VALUES = ("credentials", "literals", "patterns", "rare_words")
"""Kinds whose secrets are values, which are on a line."""
UNNAMED = f"/{RANDOM_TOKEN}:"
"""In the name of a random value that no name announces; few are credentials."""
DIGITS = 12
"""Of a value's name, as a config and a file of decisions name it."""
REDACTED = ["redacted", "in places"]
"""Columns that are only where something was redacted."""


def render(summary: Summary, console: Console) -> None:
    """What was found in a sentence, what a person must decide, then tables, and where the files are."""
    console.print(sentence(summary.coverage), soft_wrap=True)
    _decide(summary, console)
    _values(summary, console)
    compared = summary.gone_elsewhere is not None
    table = Table(
        title=f"{summary.with_secret:,} of {summary.examples:,} examples hold a secret"
        + redaction(summary.coverage),
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
        left_out = _left_out(repository, summary.coverage)
        cells = (repository.label, f"{repository.files:,}", f"{repository.examples:,}", left_out or "–")
        table.add_row(*map(escape, cells))
    console.print(table)
    _more(console, len(summary.repositories), "repositories")
    folder = escape(str(summary.files["files.csv"].parent))
    console.print(f"[bold]report[/bold] {folder}: {', '.join(summary.files)}", soft_wrap=True)


def _left_out(repository: RepositoryRow, coverage: dict[str, Any]) -> str:
    """Files that were not read, and examples that hold a weak or dropped secret, or are public."""
    facts = coverage["repositories"][repository.label]
    parts = [f"{n:,} {reason.replace('_', ' ')}" for reason, n in repository.skipped.items()]
    why = "with a secret left out" if leaves_out(coverage) else "with a weak value"
    parts += [f"{counted(n, 'example')} {why}"] if (n := facts["dropped_weak"]) else []
    return ", ".join(parts + ([counted(n, "public example")] if (n := facts["public"]) else []))


def _values(summary: Summary, console: Console) -> None:
    """The values that were found and are not weak, and where each first is."""
    rows = _found(summary).filter(pl.col("kind").is_in(VALUES) & ~pl.col("weak"))
    if rows.is_empty():
        return
    values = rows.group_by("name").agg(beside=pl.col("reason").str.starts_with(LEFT_OUT).all())
    unnamed, beside = values["name"].str.contains(UNNAMED, literal=True).sum(), values["beside"].sum()
    captions = [f"{beside:,} only in text that is left out for a weak value beside it"] if beside else []
    if unnamed:
        captions.append(f"last: {unnamed:,} random without a telling name, which are protected too")
    _places(rows, f"Found: {counted(values.height, 'value')}", "; ".join(captions), "files.csv", console)


NUMBERS = {"examples": pl.Int64, "line": pl.Int64}


def _found(summary: Summary) -> pl.DataFrame:
    """Where every secret is or was: name · kind · source · path · line · examples (or places) · reason (why it is
    one, or what becomes of its text) · weak (whether text is left out for it)."""
    columns = ("name", "kind", "source", "path", "line", "examples", "reason", "weak")
    no = pl.lit(False)
    tables = [_table(summary.files["files.csv"]).with_columns(weak=no).select(columns)]
    if (file := summary.files.get("dropped.csv")) is not None:
        tables.append(_table(file).with_columns(reason="fate", weak=pl.col("weak") == "true").select(columns))
    if (file := summary.files.get("redacted.csv")) is not None:
        places = pl.col("places").cast(pl.Int64)
        tables.append(
            _table(file).with_columns(examples=places, reason=pl.lit("redacted"), weak=no).select(columns)
        )
    return pl.concat(tables)


def _table(file: Path) -> pl.DataFrame:
    return pl.read_csv(file, infer_schema=False, schema_overrides=NUMBERS)


def _places(rows: pl.DataFrame, title: str, caption: str | None, file: str, console: Console) -> None:
    """One row a value: where it first is, found before recognised, and in how many files and examples."""
    first = pl.format("{}:{}", "source", "path") + pl.when(pl.col("line") > 0).then(
        pl.format(":{}", "line")
    ).otherwise(pl.lit(""))
    ordered = rows.with_columns(first=first).sort(
        pl.col("reason").str.starts_with("propagated:"), "source", "path", "line"
    )
    values = ordered.group_by("name", maintain_order=True).agg(
        pl.first("first"), pl.len().alias("files"), pl.sum("examples"), pl.first("reason")
    )
    counts = values["reason"].eq("redacted")
    unit = "examples" if not counts.any() else "places" if counts.all() else "examples or places"
    says = "fate" in rows.columns
    table = Table(title=title, caption=caption)
    for column in ("what", "first at", *(["why"] if says else [])):
        table.add_column(column, overflow="fold")
    for column in ("files", unit):
        table.add_column(column, overflow="fold", justify="right")
    unnamed = pl.col("name").str.contains(UNNAMED, literal=True)
    order = values.sort(unnamed, -pl.col("examples"), maintain_order=True)
    for name, place, files, examples, reason in order.head(MOST_VALUES).iter_rows():
        why = [reason.partition(": ")[2] or reason] if says else []
        cells = (short_name(name, DIGITS), place, *why, f"{files:,}", f"{examples:,}")
        table.add_row(*map(escape, cells))
    console.print(table)
    if values.height > MOST_VALUES:
        console.print(f"[dim]… and {values.height - MOST_VALUES:,} more: {file}[/dim]")


def _decide(summary: Summary, console: Console) -> None:
    """What cost text and where it first is, then all that a person should look at, before what only informs."""
    file = summary.files.get("dropped.csv")
    if file is not None:
        weak = _table(file).filter(pl.col("weak") == "true").with_columns(reason="fate")
        number = counted(weak["name"].n_unique(), "value")
        fates = weak["fate"].str.split(":").list.first()
        if (fates == LEFT_OUT).any():
            title = f"To decide: {number} left out of training, with the text around them"
            hint = (
                "rotate what is real, take it out of the file; or keep the text without it: `protect: redact`"
            )
        else:
            title = f"To decide: {number} too weak for noise, {' or '.join(fates.unique().sort())}"
            hint = "rotate what is real, and take it out of the file"
        _places(weak, title, hint, "dropped.csv", console)
    _warn(summary, console)


def _warn(summary: Summary, console: Console) -> None:
    for entry in summary.refused:
        text = f"{entry}: `weak: refuse` stops hush plan and hush run until its weak credentials are gone"
        console.print(f"[yellow]![/yellow] {escape(text)}", soft_wrap=True)
    if summary.gone_elsewhere:
        text = f"{summary.gone_elsewhere:,} pairs are gone whose entry is no longer in the config"
        console.print(f"[yellow]![/yellow] {text}", soft_wrap=True)
    for line in as_asked(summary.coverage):
        console.print(escape(line), soft_wrap=True)
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
        console.print(f"[dim]… and {rows - MOST_ENTRIES:,} more {what}: whole_coverage.json[/dim]")


def render_files(summary: Summary, asked: list[str], console: Console) -> None:
    """Which files hold the secrets asked for, each a name of a secret or an entry's id. Raises InputError: none is
    called so."""
    rows = _found(summary)
    names = set(rows["name"])
    known = {entry.id for entry in summary.entries} | names
    for shown in asked:
        meant = (
            [shown]
            if shown in known
            else [name for name in names if shown in (short_name(name), short_name(name, DIGITS))]
        )
        name = meant[0] if len(meant) == 1 else shown
        if name not in known:
            raise InputError(
                "--secret", f"no secret or entry is called {name!r}", "take a name out of files.csv"
            )
        own = rows.filter((pl.col("name") == name) | pl.col("name").str.starts_with(f"{name}/"))
        table = Table(title=f"{escape(name)}: in {counted(own.n_unique(['source', 'path']), 'file')}")
        for column in ("secret", "source", "path"):
            table.add_column(column, overflow="fold")
        table.add_column("examples", justify="right")
        table.add_column("because", overflow="fold")
        for row in own.head(MOST_FILES).iter_rows(named=True):
            because = short_name(row["reason"].replace(":", "/")).replace("/", ":")
            cells = (
                short_name(row["name"], DIGITS),
                row["source"],
                row["path"] + (f":{row['line']}" if row["line"] else ""),
                f"{row['examples']:,}",
                because,
            )
            table.add_row(*(escape(cell or "") for cell in cells))
        console.print(table)
        if own.height > MOST_FILES:
            console.print(f"[dim]… and {own.height - MOST_FILES:,} more: files.csv[/dim]")


def markdown(summary: Summary, url: str | None) -> str:
    """The tables for the Prefect UI; no path of a repository, no name that a repository chose, and nothing that
    tagged text decides beyond which examples hold which secret."""
    compared = summary.gone_elsewhere is not None
    names = ["entry", "kind", "secrets", "examples", "in no example"]
    redacts = any(row.redacted for row in summary.entries)
    names += REDACTED if redacts else []
    names += ["new", "gone"] if compared else []
    lines = [
        f"{summary.with_secret:,} of {summary.examples:,} examples hold a secret{redaction(summary.coverage)}.",
        "",
        "| " + " | ".join(names) + " |",
        "|" + "---|" * len(names),
    ]
    for row in summary.entries:
        cells = [row.secrets, row.examples, row.without_example]
        cells += [row.redacted, row.places] if redacts else []
        cells += [row.new or 0, row.gone or 0] if compared else []
        lines.append(f"| `{row.id}` | {row.kind} | " + " | ".join(f"{n:,}" for n in cells) + " |")
    lines += ["", *(f"- {line}" for line in as_asked(published(summary.coverage)))]
    lines += [f"- **!** {note}" for note in coverage_notes(published(summary.coverage))]
    lines += ["", "| source | files read | examples | left out |", "|---|---|---|---|"]
    for one in summary.repositories:
        left_out = _left_out(one, summary.coverage)
        lines.append(f"| `{one.label}` | {one.files:,} | {one.examples:,} | {left_out or '–'} |")
    where = f"[MLflow]({url}), " if url else ""
    return "\n".join([*lines, "", f"Files and picture: {where}`{summary.files['files.csv'].parent}`"])
