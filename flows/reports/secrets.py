"""What an extraction found, for the terminal and for the Prefect UI. Never a value."""

from __future__ import annotations

from typing import Any

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.reports.coverage_notes import coverage_notes, ways
from hush_core.errors import InputError
from hush_core.figures import short_name
from hush_core.secrets.coverage import published
from hush_core.secrets.priors import RANDOM_TOKEN
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
    console.print(sentence(summary), soft_wrap=True)
    _decide(summary, console)
    _values(summary, console)
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
        left_out = _left_out(repository, summary.coverage)
        cells = (repository.label, f"{repository.files:,}", f"{repository.examples:,}", left_out or "–")
        table.add_row(*map(escape, cells))
    console.print(table)
    _more(console, len(summary.repositories), "repositories")
    folder = escape(str(summary.files["files.csv"].parent))
    console.print(f"[bold]report[/bold] {folder}: {', '.join(summary.files)}", soft_wrap=True)


def sentence(summary: Summary) -> str:
    """How many credentials were found in how many files, and what becomes of them."""
    read = counted(sum(repository.files for repository in summary.repositories), "file")
    facts = [one for one in summary.coverage["secrets"].values() if one["kind"] == "credentials"]
    keys = ("secrets", "weak_secrets", "left_out_secrets", "redacted_secrets")
    strong, weak, dropped, redacted = (sum(one[key] for one in facts) for key in keys)
    if not facts:
        return f"{read} read"
    if not (every := strong + weak + dropped + redacted):
        return f"no credential found in {read}"
    ways = [
        f"{n:,} {words}"
        for n, words in (
            (strong, "can be protected"),
            (weak, "too weak to be protected (left out of training, with the text around)"),
            (dropped, "left out of training, as the config asks"),
            (redacted, "redacted"),
        )
        if n
    ]
    return f"{counted(every, 'credential')} found in {read}: {', '.join(ways)}"


def _left_out(repository: RepositoryRow, coverage: dict[str, Any]) -> str:
    """Files that were not read, and examples that hold a weak or dropped secret, or are public."""
    facts = coverage["repositories"][repository.label]
    parts = [f"{n:,} {reason.replace('_', ' ')}" for reason, n in repository.skipped.items()]
    parts += [counted(n, "example") + " with a secret left out"] if (n := facts["dropped_weak"]) else []
    return ", ".join(parts + ([counted(n, "public example")] if (n := facts["public"]) else []))


def _values(summary: Summary, console: Console) -> None:
    """The values that were found and are not weak, and where each first is."""
    rows = _found(summary).filter(pl.col("kind").is_in(VALUES) & (pl.col("reason") != WEAK))
    if rows.is_empty():
        return
    values = rows.group_by("name").agg(beside=(pl.col("reason") == BESIDE).all())
    unnamed, beside = values["name"].str.contains(UNNAMED, literal=True).sum(), values["beside"].sum()
    captions = [f"{beside:,} only in text that is left out for a weak value beside it"] if beside else []
    if unnamed:
        captions.append(f"last: {unnamed:,} random without a telling name, which are protected too")
    _places(rows, f"Found: {counted(values.height, 'value')}", "; ".join(captions), "files.csv", console)


NUMBERS = {"examples": pl.Int64, "line": pl.Int64}
WEAK, BESIDE = "left out: too weak", "left out: beside a weak one"


def _found(summary: Summary) -> pl.DataFrame:
    """Where every secret is, in text that is trained on and in text that is left out: name · kind · source · path ·
    line · examples · reason (why it is one, or WEAK or BESIDE)."""
    tables = [pl.read_csv(summary.files["files.csv"], infer_schema=False, schema_overrides=NUMBERS)]
    if (file := summary.files.get("dropped.csv")) is not None:
        dropped = pl.read_csv(file, infer_schema=False, schema_overrides=NUMBERS)
        why = pl.when(pl.col("weak") == "true").then(pl.lit(WEAK)).otherwise(pl.lit(BESIDE))
        tables.append(dropped.with_columns(reason=why))
    columns = ("name", "kind", "source", "path", "line", "examples", "reason")
    return pl.concat([table.select(columns) for table in tables])


def _places(rows: pl.DataFrame, title: str, caption: str | None, file: str, console: Console) -> None:
    """One row a value: where it first is, found before recognised, and in how many files and examples."""
    first = pl.format("{}:{}", "source", "path") + pl.when(pl.col("line") > 0).then(
        pl.format(":{}", "line")
    ).otherwise(pl.lit(""))
    if "reason" in rows.columns:
        rows = rows.sort(pl.col("reason").str.starts_with("propagated:"), "source", "path", "line")
    else:
        rows = rows.sort("source", "path", "line")
    ordered = rows.with_columns(first=first)
    values = ordered.group_by("name", maintain_order=True).agg(
        pl.first("first"), pl.len().alias("files"), pl.sum("examples")
    )
    table = Table(title=title, caption=caption)
    for column in ("what", "first at", "files", "examples"):
        table.add_column(
            column, overflow="fold", justify="left" if column in ("what", "first at") else "right"
        )
    unnamed = pl.col("name").str.contains(UNNAMED, literal=True)
    order = values.sort(unnamed, -pl.col("examples"), maintain_order=True)
    for name, place, files, examples in order.head(MOST_VALUES).iter_rows():
        table.add_row(escape(short_name(name, DIGITS)), escape(place), f"{files:,}", f"{examples:,}")
    console.print(table)
    if values.height > MOST_VALUES:
        console.print(f"[dim]… and {values.height - MOST_VALUES:,} more: {file}[/dim]")


def _decide(summary: Summary, console: Console) -> None:
    """What cost text and where it first is, then all that a person should look at, before what only informs."""
    file = summary.files.get("dropped.csv")
    if file is not None:
        weak = pl.read_csv(file, infer_schema=False, schema_overrides=NUMBERS)
        weak = weak.filter(pl.col("weak") == "true")
        number = counted(weak["name"].n_unique(), "value")
        _places(
            weak,
            f"To decide: {number} left out of training, with the text around them",
            "rotate what is real, take it out of the file; or keep the text without it: `protect: redact`",
            "dropped.csv",
            console,
        )
    _warn(summary, console)


def _warn(summary: Summary, console: Console) -> None:
    for entry in summary.refused:
        text = f"{entry}: `weak: refuse` stops hush plan and hush run until its weak credentials are gone"
        console.print(f"[yellow]![/yellow] {escape(text)}", soft_wrap=True)
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
                row["path"],
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
        f"{summary.with_secret:,} of {summary.examples:,} examples hold a secret.",
        "",
        "| " + " | ".join(names) + " |",
        "|" + "---|" * len(names),
    ]
    for row in summary.entries:
        cells = [row.secrets, row.examples, row.without_example]
        cells += [row.redacted, row.places] if redacts else []
        cells += [row.new or 0, row.gone or 0] if compared else []
        lines.append(f"| `{row.id}` | {row.kind} | " + " | ".join(f"{n:,}" for n in cells) + " |")
    lines += ["", *(f"- **!** {note}" for note in coverage_notes(published(summary.coverage)))]
    lines += ["", "| source | files read | examples | left out |", "|---|---|---|---|"]
    for one in summary.repositories:
        left_out = _left_out(one, summary.coverage)
        lines.append(f"| `{one.label}` | {one.files:,} | {one.examples:,} | {left_out or '–'} |")
    where = f"[MLflow]({url}), " if url else ""
    return "\n".join([*lines, "", f"Files and picture: {where}`{summary.files['files.csv'].parent}`"])
