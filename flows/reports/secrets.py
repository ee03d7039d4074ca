"""What an extraction found, for the terminal and for the Prefect UI. Never a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.reports.coverage_notes import as_asked, coverage_notes, leaves_out, redaction, sentence, ways
from flows.reports.lines import table_lines, where
from hush_core.errors import InputError
from hush_core.figures import short_name
from hush_core.secrets.coverage import published
from hush_core.secrets.priors import RANDOM_TOKEN
from hush_core.secrets.report.findings import LEFT_OUT
from hush_core.secrets.report.sarif import MOST_RESULTS
from tasks.publish_secrets import Summary
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
REDACTED = {"redacted": "redacted", "in places": "places"}
"""Columns that are only where something was redacted."""
FILES = ["files read", "examples", "left out"]
FIRST_AT, PLACE, FOLDED = "first at", 60, 16
"""The head of a column of places, the characters of one that are not folded, and those of other words."""
NUMBERS = {"examples": pl.Int64, "line": pl.Int64}


def render(summary: Summary, console: Console) -> None:
    """What was found in a sentence, what a person must decide, then tables, and where the files are."""
    console.print(sentence(summary.coverage), soft_wrap=True)
    _decide(summary, console)
    _values(summary, console)
    held = (
        f"{summary.with_secret:,} of {summary.examples:,} examples hold a secret{redaction(summary.coverage)}"
    )
    since = "new, gone: secrets in files, since the baseline" if summary.gone_elsewhere is not None else None
    numbers, entries = _entries(summary, {"recognised elsewhere": "propagated"})
    whole = (MOST_ENTRIES, "{} entries: whole_coverage.json")
    _show(console, ["entry", "kind", *numbers], numbers, entries, whole, title=held, caption=since)
    if (file := summary.files.get("changes.csv")) and (changes := _table(file)).height:
        names = changes["name"].map_elements(lambda name: short_name(name, DIGITS), pl.String)
        place = pl.format("{}:{}", "source", "path")
        rows = [list(row) for row in changes.select("change", names, place.alias("file")).iter_rows()]
        _show(
            console, ["change", "what", "file"], [], rows, (MOST_VALUES, "{}: changes.csv"), title="Changed"
        )
    for line in ways(summary.coverage)[:MOST_ENTRIES]:
        console.print(escape(line), soft_wrap=True)
    heads, whole = ["repository", *FILES], (MOST_ENTRIES, "{} repositories: whole_coverage.json")
    _show(console, heads, heads[1:3], _repositories(summary), whole, title="Files")
    folder = escape(str(summary.files["files.csv"].parent))
    console.print(f"[bold]report[/bold] {folder}: {', '.join(summary.files)}", soft_wrap=True)


def _show(
    console: Console,
    heads: list[str],
    numbers: list[str],
    rows: list[list[str]],
    most: tuple[int, str],
    **about: Any,
) -> None:
    """A table of the first rows; how many more there are, and where."""
    table, shown = Table(**about), rows[: most[0]]
    longest = {name: max(map(len, column)) for name, *column in zip(heads, heads, *shown, strict=True)}
    widths = _widths(longest, numbers, console.width) if FIRST_AT in longest else {}
    for name in heads:
        justify = "right" if name in numbers else "left"
        table.add_column(
            name, overflow="fold", justify=justify, width=widths.get(name), no_wrap=name in numbers
        )
    for row in shown:
        table.add_row(*map(escape, row))
    console.print(table)
    if (left := len(rows) - most[0]) > 0:
        console.print(f"[dim]… and {most[1].format(f'{left:,} more')}[/dim]")


def _widths(longest: dict[str, int], numbers: list[str], width: int) -> dict[str, int]:
    """Of each column: numbers are whole, and a place, which is read and opened, before other words."""
    room = width - 1 - 3 * len(longest) - sum(longest[name] for name in numbers)
    words = sorted((length, name) for name, length in longest.items() if name not in (FIRST_AT, *numbers))
    place = min(PLACE, longest[FIRST_AT], room - sum(min(length, FOLDED) for length, _ in words))
    found = {name: longest[name] for name in numbers} | {FIRST_AT: max(1, place)}
    room -= found[FIRST_AT]
    for left, (length, name) in zip(range(len(words), 0, -1), words, strict=True):
        found[name] = max(1, min(length, room // left))
        room -= found[name]
    return found


def _entries(summary: Summary, more: dict[str, str]) -> tuple[list[str], list[list[str]]]:
    """Heads of the numbers, with `more` (head → of an entry), and each entry's id, kind and numbers."""
    columns = {"secrets": "secrets", "examples": "examples", "in no example": "without_example", **more}
    columns |= REDACTED if any(row.redacted for row in summary.entries) else {}
    columns |= {"new": "new", "gone": "gone"} if summary.gone_elsewhere is not None else {}
    return list(columns), [
        [row.id, row.kind, *(f"{getattr(row, name) or 0:,}" for name in columns.values())]
        for row in summary.entries
    ]


def _repositories(summary: Summary) -> list[list[str]]:
    """Label · files read · examples · files that were not read, and examples that hold a weak or dropped secret, or
    are public."""
    rows, coverage = [], summary.coverage
    why = "with a secret left out" if leaves_out(coverage) else "with a weak value"
    for one in summary.repositories:
        facts = coverage["repositories"][one.label]
        parts = [f"{n:,} {reason.replace('_', ' ')}" for reason, n in one.skipped.items()]
        parts += [f"{counted(n, 'example')} {why}"] if (n := facts["dropped_weak"]) else []
        parts += [counted(n, "public example")] if (n := facts["public"]) else []
        rows.append([one.label, f"{one.files:,}", f"{one.examples:,}", ", ".join(parts) or "–"])
    return rows


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


def _found(summary: Summary) -> pl.DataFrame:
    """Where every secret is or was: name · kind · source · path · line · examples (or places) · reason (why it is
    one, or what becomes of its text) · weak (whether text is left out for it)."""
    no, places = pl.lit(False), pl.col("places").cast(pl.Int64)
    made = {
        "files.csv": {"weak": no},
        "dropped.csv": {"reason": pl.col("fate"), "weak": pl.col("weak") == "true"},
        "redacted.csv": {"examples": places, "reason": pl.lit("redacted"), "weak": no},
    }
    columns = ("name", "kind", "source", "path", "line", "examples", "reason", "weak")
    there = [(summary.files[name], new) for name, new in made.items() if name in summary.files]
    return pl.concat(_table(file).with_columns(**new).select(columns) for file, new in there)


def _table(file: Path) -> pl.DataFrame:
    return pl.read_csv(file, infer_schema=False, schema_overrides=NUMBERS)


def _places(rows: pl.DataFrame, title: str, caption: str | None, file: str, console: Console) -> None:
    """One row a value: where it first is, found before recognised, and in how many files and examples."""
    line = pl.when(pl.col("line") > 0).then(pl.format(":{}", "line")).otherwise(pl.lit(""))
    values = (
        rows.with_columns(first=pl.format("{}:{}", "source", "path") + line)
        .sort(pl.col("reason").str.starts_with("propagated:"), "source", "path", "line")
        .group_by("name", maintain_order=True)
        .agg(pl.first("first"), pl.len().alias("files"), pl.sum("examples"), pl.first("reason"))
        .sort(
            pl.col("name").str.contains(UNNAMED, literal=True), -pl.col("examples"), maintain_order=True
        )
    )  # fmt: skip
    counts = values["reason"].eq("redacted")
    unit = "examples" if not counts.any() else "places" if counts.all() else "examples or places"
    says = ["why"] if "fate" in rows.columns else []
    shown = [
        [
            short_name(name, DIGITS),
            place,
            *[reason.partition(": ")[2] or reason for _ in says],
            f"{n:,}",
            f"{held:,}",
        ]
        for name, place, n, held, reason in values.iter_rows()
    ]
    heads, more = ["what", FIRST_AT, *says, "files", unit], (MOST_VALUES, "{}: " + file)
    _show(console, heads, ["files", unit], shown, more, title=title, caption=caption)


def _decide(summary: Summary, console: Console) -> None:
    """What cost text and where it first is, then all that a person should look at, before what only informs."""
    if (file := summary.files.get("dropped.csv")) is not None:
        weak = _table(file).filter(pl.col("weak") == "true").with_columns(reason="fate")
        number = counted(weak["name"].n_unique(), "value")
        fates = weak["fate"].str.split(":").list.first()
        title = f"To decide: {number} too weak for noise, {' or '.join(fates.unique().sort())}"
        hint = "rotate what is real, and take it out of the file"
        if (fates == LEFT_OUT).any():
            title = f"To decide: {number} left out of training, with the text around them"
            hint = (
                "rotate what is real, take it out of the file; or keep the text without it: `protect: redact`"
            )
        _places(weak, title, hint, "dropped.csv", console)
    stops = "`weak: refuse` stops hush plan and hush run until its weak credentials are gone"
    notes = [f"{entry}: {stops}" for entry in summary.refused]
    if summary.gone_elsewhere:
        notes.append(f"{summary.gone_elsewhere:,} pairs are gone whose entry is no longer in the config")
    for line in as_asked(summary.coverage):
        console.print(escape(line), soft_wrap=True)
    for note in [*notes, *coverage_notes(summary.coverage)]:
        console.print(f"[yellow]![/yellow] {escape(note)}", soft_wrap=True)
    if summary.results_left_out:
        text = (
            f"secrets.sarif lists at most {MOST_RESULTS} places a secret ({summary.results_left_out:,} more); "
            "files.csv has every file"
        )
        console.print(f"[dim]{text}[/dim]", soft_wrap=True)


def render_files(summary: Summary, asked: list[str], console: Console) -> None:
    """Which files hold the secrets asked for, each a name of a secret or an entry's id. Raises InputError: none is
    called so."""
    rows = _found(summary)
    names = set(rows["name"])
    known = {entry.id for entry in summary.entries} | names
    for shown in asked:
        meant = [name for name in names if shown in (short_name(name), short_name(name, DIGITS))]
        name = meant[0] if shown not in known and len(meant) == 1 else shown
        if name not in known:
            hint = "take a name out of files.csv"
            raise InputError("--secret", f"no secret or entry is called {name!r}", hint)
        own = rows.filter((pl.col("name") == name) | pl.col("name").str.starts_with(f"{name}/"))
        files = [
            [
                short_name(row["name"], DIGITS),
                row["source"] or "",
                (row["path"] or "") + (f":{row['line']}" if row["line"] else ""),
                f"{row['examples']:,}",
                short_name(row["reason"].replace(":", "/")).replace("/", ":"),
            ]
            for row in own.iter_rows(named=True)
        ]
        title = f"{escape(name)}: in {counted(own.n_unique(['source', 'path']), 'file')}"
        heads, more = ["secret", "source", "path", "examples", "because"], (MOST_FILES, "{}: files.csv")
        _show(console, heads, ["examples"], files, more, title=title)


def markdown(summary: Summary, url: str | None) -> str:
    """The tables for the Prefect UI; no path of a repository, no name that a repository chose, and nothing that
    tagged text decides beyond which examples hold which secret."""
    numbers, entries = _entries(summary, {})
    return "\n".join([
        f"{summary.with_secret:,} of {summary.examples:,} examples hold a secret{redaction(summary.coverage)}.",
        "",
        *table_lines(["entry", "kind", *numbers], ([f"`{first}`", *cells] for first, *cells in entries)),
        "",
        *(f"- {line}" for line in as_asked(published(summary.coverage))),
        *(f"- **!** {note}" for note in coverage_notes(published(summary.coverage))),
        "",
        *table_lines(["source", *FILES], ([f"`{first}`", *cells] for first, *cells in _repositories(summary))),
        "",
        f"Files and picture: {where(str(summary.files['files.csv'].parent), url)}",
    ])  # fmt: skip
