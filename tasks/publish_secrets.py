"""Step 1b: what an extraction found, for a reviewer, as files in a folder and a run in the tracker. Never a value.

- files.csv: which file holds which secret, and why.
- secrets.sarif: the same by place, for code hosts and editors, and where values were replaced.
- graph.png: how large the secrets are, and which occur together.
- coverage.json: what was read, skipped and labelled.
- whole_coverage.json: also by which ways, and what each could not see.
- baseline.json: give it to the next report.
- changes.csv: what is new and what is gone since the baseline given to this one; not written without one.
- dropped.csv: which files lost text to a secret too weak to protect; not written where none did.
- redacted.csv: in which files placeholders replace which secret; not written where none do.
- skipped.csv: which files were neither scanned nor trained on, and why; not written where all were.

files.csv, secrets.sarif, changes.csv, dropped.csv, redacted.csv and skipped.csv name files of the repositories, and
whole_coverage.json depends on tagged text, so the folder is a private place; the tracker gets the others.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from hush_core import figures
from hush_core.config import HushConfig
from hush_core.errors import InputError
from hush_core.files import write_whole
from hush_core.secrets.coverage import published
from hush_core.secrets.report.baseline import (
    baseline_of_items,
    changes,
    count_by_entry,
    items_of,
    read_baseline,
    write_baseline,
)
from hush_core.secrets.report.findings import with_fate, with_plan
from hush_core.secrets.report.paths import without_credentials
from hush_core.secrets.report.sarif import sarif
from hush_core.secrets.report.tables import (
    changes_table,
    dropped_table,
    files_beside,
    files_table,
    redacted_table,
    skipped_table,
)
from tasks.extraction import Extracted
from tasks.runtime.environment import home
from tasks.runtime.steps import step
from tasks.runtime.store import open_store
from tasks.runtime.tracking import log_look

NAMES = (
    "files.csv", "secrets.sarif", "graph.png", "coverage.json", "whole_coverage.json", "baseline.json",
    "changes.csv", "dropped.csv", "redacted.csv", "skipped.csv",
)  # fmt: skip
SHOWN = ("graph.png", "coverage.json", "baseline.json")
"""What the tracker gets: nothing that names a file, or that tagged text decides beyond the graph."""

_ENTRY = pl.col("name").str.extract(r"^([^/]*)")


@dataclass(frozen=True)
class EntryRow:
    """One entry of the config.

    redacted: its values that were replaced, in `places` of files. new, gone: its (secret, file) pairs since the
    baseline; None without one.
    """

    id: str
    kind: str
    secrets: int
    examples: int
    without_example: int
    propagated: int
    redacted: int
    places: int
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
    """What a report came to. gone_elsewhere: pairs gone whose entry is no longer in the config. refused: entries
    whose weak credentials stop `hush plan` and `hush run` (`weak: refuse`). coverage: all of it, for the
    terminal."""

    entries: tuple[EntryRow, ...]
    repositories: tuple[RepositoryRow, ...]
    examples: int
    with_secret: int
    results_left_out: int
    gone_elsewhere: int | None
    coverage: dict[str, Any]
    files: dict[str, Path]
    refused: tuple[str, ...] = ()


@step(name="report-secrets")
def report_secrets(
    config: HushConfig, extracted: Extracted, folder: Path, baseline: Path | None
) -> tuple[Summary, str | None]:
    """Write the report of an extraction into `folder`, and log what may be shown of it to the tracker. `baseline`:
    compare with this one; with the report in `folder` where None. Returns the summary, and where a tracking server
    shows the run, or None."""
    store = open_store()
    read, tables = store.read_frame, ("examples", "secrets", "edges", "occurrences", "dropped", "replaced")
    summary = write_report(
        **{name: read(getattr(extracted, name)) for name in tables},
        redacted=(read(extracted.redacted), read(extracted.redactions)),
        coverage=with_plan(store.read_json(extracted.whole_coverage), config),
        skipped=store.read_json(extracted.skipped),
        key=home().identity_key(),
        out=folder,
        baseline=baseline,
    )
    counts = {"examples": summary.examples, "examples_with_secret": summary.with_secret}
    counts |= {"secrets": extracted.n_secrets, "edges": extracted.n_edges}
    url = log_look(
        experiment=config.tracking.experiment,
        run_name="secrets",
        params={f"source.{name}": mark[:16] for name, mark in extracted.commits.items()},
        metrics={name: float(count) for name, count in counts.items()},
        files=[summary.files[name] for name in SHOWN],
    )
    return summary, url


def write_report(
    *,
    examples: pl.DataFrame,
    secrets: pl.DataFrame,
    edges: pl.DataFrame,
    occurrences: pl.DataFrame,
    dropped: pl.DataFrame,
    coverage: dict[str, Any],
    key: bytes,
    out: Path,
    baseline: Path | None = None,
    redacted: tuple[pl.DataFrame, pl.DataFrame] | None = None,
    replaced: pl.DataFrame | None = None,
    skipped: dict[str, list[tuple[str, str]]] | None = None,
) -> Summary:
    """Write the files into `out`, each wholly or not at all.

    Without a `baseline` the report is compared with the one in `out`, which moves to `out`/before. Where nothing
    has changed since, it is compared with what that one was: a second look at the same shows the same.

    Args:
        examples, secrets, edges, occurrences, dropped, coverage: of one extraction.
        key: the identity key of that extraction.
        redacted: its tables `redacted` and `redactions`. replaced: where those values were.
        skipped: source → (reason, path) of files that were not read.

    Raises:
        InputError: the baseline cannot be used (then nothing is written), or the folder cannot be written.
    """
    examples, dropped = (without_credentials(frame, key) for frame in (examples, dropped))
    dropped = with_fate(dropped, coverage["secrets"])
    items = items_of(secrets, edges, examples, key, dropped)
    new = baseline_of_items(items, key)
    baseline = baseline or _report_before(out, new, key)
    old = None if baseline is None else read_baseline(baseline, key)
    gone_from = None
    if redacted is not None and replaced is not None:
        gone_from = redacted[0], without_credentials(replaced, key)
    frames = examples, secrets, edges, occurrences
    log = sarif(*frames, tool_version=version("hush-secrets"), replaced=gone_from, dropped=dropped)
    replaced_at = None if gone_from is None else gone_from[1]
    unread, none = skipped_table(skipped or {}), redacted is None or redacted[0].is_empty()
    tables = {
        "changes.csv": None,
        "dropped.csv": None if dropped.is_empty() else dropped_table(items, dropped),
        "redacted.csv": None if none else redacted_table(*redacted, examples, replaced_at),
        "skipped.csv": without_credentials(unread, key) if unread.height else None,
        "files.csv": files_table(items, edges, examples, occurrences, replaced_at),
    }
    fresh: dict[str, int] | None = None
    gone: dict[str | None, int] | None = None
    if baseline is not None and old is not None:
        changed = changes(old, new)
        appeared = items.filter(pl.col("token").is_in(list(changed.new)))
        fresh, gone = _by_entry(appeared), count_by_entry(changed.gone, coverage["secrets"], key)
        tables["changes.csv"] = changes_table(appeared, changed.gone, files_beside(baseline))
    bodies = {
        "secrets.sarif": json.dumps(log).encode(),
        "coverage.json": _json(published(coverage)),
        "whole_coverage.json": _json(coverage),
        **{name: table.write_csv().encode() for name, table in tables.items() if table is not None},
    }
    left_out = tables.keys() - bodies.keys()
    files = {name: out / name for name in NAMES if name not in left_out}
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in left_out:
            (out / name).unlink(missing_ok=True)
        for name, body in bodies.items():
            write_whole(out / name, body)
        with tempfile.TemporaryDirectory() as folder:
            picture = figures.secret_graph(edges, secrets, Path(folder, "graph.png"))
            write_whole(out / "graph.png", picture.read_bytes())
        write_baseline(out / "baseline.json", new)
    except OSError as error:
        hint = "name a folder that you may write to"
        raise InputError(str(out), error.strerror or "cannot be written", hint) from None
    return Summary(
        entries=_entry_rows(coverage, secrets, edges, fresh, gone),
        repositories=tuple(
            RepositoryRow(
                label, one["files"], one["examples"], {why: n for why, n in one["skipped"].items() if n}
            )
            for label, one in coverage["repositories"].items()
        ),
        examples=examples.height,
        with_secret=edges["example_id"].n_unique(),
        results_left_out=sum(log["runs"][0]["properties"][n] for n in ("leftOut", "replacedLeftOut")),
        gone_elsewhere=None if gone is None else gone[None],
        coverage=coverage,
        files=files,
    )


def _report_before(out: Path, new: dict[str, Any], key: bytes) -> Path | None:
    """The baseline to compare with by default: of the last report in `out` that differs from this one."""
    own, before = out / "baseline.json", out / "before"
    if own.exists() and read_baseline(own, key)["items"] != new["items"]:
        before.mkdir(mode=0o700, exist_ok=True)
        for name in ("files.csv", "dropped.csv", "baseline.json"):
            if (out / name).exists():
                write_whole(before / name, (out / name).read_bytes())
            else:
                (before / name).unlink(missing_ok=True)
    return next((path for path in (before / "baseline.json", own) if path.exists()), None)


def _entry_rows(
    coverage: dict[str, Any],
    secrets: pl.DataFrame,
    edges: pl.DataFrame,
    fresh: dict[str, int] | None,
    gone: dict[str | None, int] | None,
) -> tuple[EntryRow, ...]:
    held = edges.join(secrets.select("secret_id", "name"), on="secret_id")
    examples = _by_entry(held.select("example_id", _ENTRY.alias("name")).unique())
    same = ("kind", "secrets", "without_example", "propagated")
    return tuple(
        EntryRow(
            id=name,
            **{key: facts[key] for key in same},
            examples=examples.get(name, 0),
            redacted=facts["redacted_secrets"],
            places=facts["redacted_places"],
            new=None if fresh is None else fresh.get(name, 0),
            gone=None if gone is None else gone[name],
        )
        for name, facts in coverage["secrets"].items()
    )


def _by_entry(rows: pl.DataFrame) -> dict[str, int]:
    return dict(rows.group_by(_ENTRY.alias("entry")).len().iter_rows())


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False).encode() + b"\n"
