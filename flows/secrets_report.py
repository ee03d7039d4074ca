"""What an extraction found, for a reviewer: files in a folder, and a table for the terminal. Never a value.

secrets.sarif: where every secret stands. graph.png: how large the secrets are, and which stand together.
coverage.json: what was read, skipped and labelled. baseline.json: give it to the next report. changes.csv:
what is new and what is gone since the baseline given to this one; not written without one.

All but coverage.json and baseline.json name files of the repositories, so the folder is a private place.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hush_core import figures
from hush_core.errors import InputError
from hush_core.secrets.baseline import (
    baseline_of_items,
    changes,
    count_by_entry,
    items_of,
    read_baseline,
    write_baseline,
    write_whole,
)
from hush_core.secrets.sarif import sarif

MOST_ENTRIES = 40
"""Entries, and repositories, in the terminal's tables; the files have all."""

_ENTRY = pl.col("name").str.extract(r"^([^/]*)")


@dataclass(frozen=True)
class EntryRow:
    """One entry of the config. new, gone: its (secret, file) pairs since the baseline; None without one."""

    id: str
    kind: str
    secrets: int
    examples: int
    without_example: int
    propagated: int
    new: int | None
    gone: int | None


@dataclass(frozen=True)
class RepositoryRow:
    """One repository: files read, its examples, and entries of its tree left out by reason."""

    label: str
    files: int
    examples: int
    skipped: dict[str, int]


@dataclass(frozen=True)
class Summary:
    """What a report came to. gone_elsewhere: pairs gone whose entry is no longer in the config."""

    entries: tuple[EntryRow, ...]
    repositories: tuple[RepositoryRow, ...]
    examples: int
    with_secret: int
    results_left_out: int
    gone_elsewhere: int | None
    files: dict[str, Path]


def write_report(
    *,
    examples: pl.DataFrame,
    secrets: pl.DataFrame,
    edges: pl.DataFrame,
    coverage: dict[str, Any],
    key: bytes,
    out: Path,
    baseline: Path | None = None,
) -> Summary:
    """Write the files into `out`, each wholly or not at all; `baseline` may be the one in `out`.

    Args:
        examples, secrets, edges, coverage: of one extraction.
        key: the identity key of that extraction.

    Raises:
        InputError: the baseline cannot be used (then nothing is written), or the folder cannot be written.
    """
    old = None if baseline is None else read_baseline(baseline, key)
    items = items_of(secrets, edges, examples, key)
    new = baseline_of_items(items, key)
    log = sarif(examples, secrets, edges, tool_version=version("hush-secrets"))
    names = ("secrets.sarif", "graph.png", "coverage.json", "baseline.json", "changes.csv")
    files = {name: out / name for name in names}
    fresh: dict[str, int] | None = None
    gone: dict[str | None, int] | None = None
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(files["secrets.sarif"], json.dumps(log).encode())
        write_whole(files["coverage.json"], _json(_without_commits(coverage)))
        with tempfile.TemporaryDirectory() as folder:
            picture = figures.secret_graph(edges, secrets, Path(folder, "graph.png"))
            write_whole(files["graph.png"], picture.read_bytes())
        if old is None:
            files.pop("changes.csv").unlink(missing_ok=True)
        else:
            changed = changes(old, new)
            appeared = items.filter(pl.col("token").is_in(list(changed.new)))
            fresh = _by_entry(appeared)
            gone = count_by_entry(changed.gone, coverage["secrets"], key)
            table = _changes_table(appeared, secrets, changed.gone)
            write_whole(files["changes.csv"], table.write_csv().encode())
        write_baseline(files["baseline.json"], new)
    except OSError as error:
        mend = "name a folder that you may write to"
        raise InputError(str(out), error.strerror or "cannot be written", mend) from None
    return Summary(
        entries=_entry_rows(coverage, secrets, edges, fresh, gone),
        repositories=tuple(_repository_row(*item) for item in coverage["repositories"].items()),
        examples=examples.height,
        with_secret=edges["example_id"].n_unique(),
        results_left_out=log["runs"][0]["properties"]["leftOut"],
        gone_elsewhere=None if gone is None else gone[None],
        files=files,
    )


def render(summary: Summary, console: Console) -> None:
    """Two tables, what to look at, and where the files are."""
    compared = summary.gone_elsewhere is not None
    table = Table(
        title=f"{summary.with_secret:,} of {summary.examples:,} examples hold a secret",
        caption="new, gone: secrets in files, since the baseline" if compared else None,
    )
    table.add_column("entry", overflow="fold")
    table.add_column("kind")
    numbers = ["secrets", "examples", "in no example", "recognised elsewhere"]
    for column in numbers + (["new", "gone"] if compared else []):
        table.add_column(column, justify="right")
    for row in summary.entries[:MOST_ENTRIES]:
        cells = [row.secrets, row.examples, row.without_example, row.propagated]
        changed = [row.new, row.gone] if compared else []
        table.add_row(escape(row.id), escape(row.kind), *(f"{n:,}" for n in [*cells, *changed]))
    console.print(table)
    _more(console, len(summary.entries), "entries")
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
    _warn(summary, console)
    for name, path in summary.files.items():
        console.print(f"[bold]{name:<14}[/bold]{escape(str(path))}", soft_wrap=True)


def _warn(summary: Summary, console: Console) -> None:
    if summary.gone_elsewhere:
        text = f"{summary.gone_elsewhere:,} pairs are gone whose entry is no longer in the config"
        console.print(f"[yellow]![/yellow] {text}", soft_wrap=True)
    empty = [row.id for row in summary.entries if not row.examples]
    if empty:
        names = escape(", ".join(empty[:MOST_ENTRIES]))
        console.print(f"[yellow]![/yellow] no example holds a secret of: {names}", soft_wrap=True)
    if summary.results_left_out:
        text = f"{summary.results_left_out:,} further places are counted in secrets.sarif, not listed"
        console.print(f"[dim]{text}[/dim]", soft_wrap=True)


def _more(console: Console, rows: int, what: str) -> None:
    if rows > MOST_ENTRIES:
        console.print(f"[dim]… and {rows - MOST_ENTRIES:,} more {what}: coverage.json[/dim]")


def _entry_rows(
    coverage: dict[str, Any],
    secrets: pl.DataFrame,
    edges: pl.DataFrame,
    fresh: dict[str, int] | None,
    gone: dict[str | None, int] | None,
) -> tuple[EntryRow, ...]:
    held = edges.join(secrets.select("secret_id", "name"), on="secret_id")
    examples = _by_entry(held.select("example_id", _ENTRY.alias("name")).unique())
    return tuple(
        EntryRow(
            id=name,
            kind=facts["kind"],
            secrets=facts["secrets"],
            examples=examples.get(name, 0),
            without_example=facts["without_example"],
            propagated=facts["propagated"],
            new=None if fresh is None else fresh.get(name, 0),
            gone=None if gone is None else gone[name],
        )
        for name, facts in coverage["secrets"].items()
    )


def _by_entry(rows: pl.DataFrame) -> dict[str, int]:
    """Rows by the config's entry, which a secret's name begins with."""
    return dict(rows.group_by(_ENTRY.alias("entry")).len().iter_rows())


def _repository_row(label: str, facts: dict[str, Any]) -> RepositoryRow:
    skipped = {reason: n for reason, n in facts["skipped"].items() if n}
    return RepositoryRow(label, facts["files"], facts["examples"], skipped)


def _changes_table(new: pl.DataFrame, secrets: pl.DataFrame, gone: tuple[str, ...]) -> pl.DataFrame:
    """One row a pair; of one that is gone only its token is known, as a baseline tells nothing."""
    rows = (
        new.join(secrets.select("secret_id", "kind"), on="secret_id")
        .select(pl.lit("new").alias("change"), "name", "kind", "source", "path", "token")
        .sort("name", "source", "path")
    )
    lost = pl.DataFrame({"token": pl.Series(gone, dtype=pl.String)}).select(
        pl.lit("gone").alias("change"),
        *(pl.lit("").alias(column) for column in ("name", "kind", "source", "path")),
        "token",
    )
    # a spreadsheet would run a path that begins so as a formula
    return pl.concat([rows, lost]).with_columns(pl.col("source", "path").str.replace(r"^([=+\-@\t])", "'$1"))


def _without_commits(coverage: dict[str, Any]) -> dict[str, Any]:
    """A commit id is an unkeyed hash of all text, protected text included."""
    repositories = {
        label: {key: value for key, value in facts.items() if key != "commit"}
        for label, facts in coverage["repositories"].items()
    }
    return {**coverage, "repositories": repositories}


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False).encode() + b"\n"
