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
from dataclasses import dataclass, replace
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
from hush_core.secrets.report.paths import masked, without_credentials
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


@dataclass(frozen=True, repr=False)
class ReportTables:
    """The tables of one extraction (`SecretGraph`, `REPLACED`) that a report is made of, and its coverage.

    skipped: source → (reason, path) of files that were not read.
    """

    examples: pl.DataFrame
    secrets: pl.DataFrame
    edges: pl.DataFrame
    occurrences: pl.DataFrame
    dropped: pl.DataFrame
    redacted: pl.DataFrame
    redactions: pl.DataFrame
    replaced: pl.DataFrame
    coverage: dict[str, Any]
    skipped: dict[str, list[tuple[str, str]]]

    def nameable(self, key: bytes) -> ReportTables:
        """With paths that hold no credential, and the `fate` of what was dropped."""
        examples, dropped, replaced = (
            without_credentials(frame, key) for frame in (self.examples, self.dropped, self.replaced)
        )
        skipped = {
            source: [(reason, masked(path, key)) for reason, path in named]
            for source, named in self.skipped.items()
        }
        dropped = with_fate(dropped, self.coverage["secrets"])
        return replace(self, examples=examples, dropped=dropped, replaced=replaced, skipped=skipped)

    def log(self) -> dict[str, Any]:
        """SARIF of all places."""
        return sarif(
            self.examples, self.secrets, self.edges, self.occurrences, tool_version=version("hush-secrets"),
            replaced=(self.redacted, self.replaced), dropped=self.dropped,
        )  # fmt: skip

    def tables(self, items: pl.DataFrame) -> dict[str, pl.DataFrame | None]:
        """By file name; None of what there is nothing of."""
        unread = skipped_table(self.skipped)
        return {
            "dropped.csv": None if self.dropped.is_empty() else dropped_table(items, self.dropped),
            "redacted.csv": None
            if self.redacted.is_empty()
            else redacted_table(self.redacted, self.redactions, self.examples, self.replaced),
            "skipped.csv": None if unread.is_empty() else unread,
            "files.csv": files_table(items, self.edges, self.examples, self.occurrences, self.replaced),
        }


@step(name="report-secrets")
def report_secrets(
    config: HushConfig, extracted: Extracted, folder: Path, baseline: Path | None
) -> tuple[Summary, str | None]:
    """Write the report of an extraction into `folder`, and log what may be shown of it to the tracker. `baseline`:
    compare with this one; with the report in `folder` where None. Returns the summary, and where a tracking server
    shows the run, or None."""
    store = open_store()
    tables = ("examples", "secrets", "edges", "occurrences", "dropped", "redacted", "redactions", "replaced")
    found = ReportTables(
        **{name: store.read_frame(getattr(extracted, name)) for name in tables},
        coverage=with_plan(store.read_json(extracted.whole_coverage), config),
        skipped=store.read_json(extracted.skipped),
    )
    summary = write_report(found, key=home().identity_key(), out=folder, baseline=baseline)
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


def write_report(found: ReportTables, *, key: bytes, out: Path, baseline: Path | None = None) -> Summary:
    """Write the files into `out`, each wholly or not at all.

    Without a `baseline` the report is compared with the one in `out`, which moves to `out`/before. Where nothing
    has changed since, it is compared with what that one was: a second look at the same shows the same.

    Args:
        key: the identity key of the extraction.

    Raises:
        InputError: the baseline cannot be used (then nothing is written), or the folder cannot be written.
    """
    found = found.nameable(key)
    items = items_of(found.secrets, found.edges, found.examples, key, found.dropped)
    new = baseline_of_items(items, key)
    baseline = baseline or _report_before(out, new, key)
    fresh: dict[str, int] | None = None
    gone: dict[str | None, int] | None = None
    compared = None
    if baseline is not None:
        changed = changes(read_baseline(baseline, key), new)
        appeared = items.filter(pl.col("token").is_in(list(changed.new)))
        fresh, gone = _by_entry(appeared), count_by_entry(changed.gone, found.coverage["secrets"], key)
        compared = changes_table(appeared, changed.gone, files_beside(baseline))
    log, tables = found.log(), {**found.tables(items), "changes.csv": compared}
    bodies = {
        "secrets.sarif": json.dumps(log).encode(),
        "coverage.json": _json(published(found.coverage)),
        "whole_coverage.json": _json(found.coverage),
        **{name: table.write_csv().encode() for name, table in tables.items() if table is not None},
    }
    left_out = tables.keys() - bodies.keys()
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in left_out:
            (out / name).unlink(missing_ok=True)
        for name, body in bodies.items():
            write_whole(out / name, body)
        with tempfile.TemporaryDirectory() as folder:
            picture = figures.secret_graph(found.edges, found.secrets, Path(folder, "graph.png"))
            write_whole(out / "graph.png", picture.read_bytes())
        write_baseline(out / "baseline.json", new)
    except OSError as error:
        hint = "name a folder that you may write to"
        raise InputError(str(out), error.strerror or "cannot be written", hint) from None
    return Summary(
        entries=_entry_rows(found, fresh, gone),
        repositories=tuple(
            RepositoryRow(
                label, one["files"], one["examples"], {why: n for why, n in one["skipped"].items() if n}
            )
            for label, one in found.coverage["repositories"].items()
        ),
        examples=found.examples.height,
        with_secret=found.edges["example_id"].n_unique(),
        results_left_out=sum(log["runs"][0]["properties"][n] for n in ("leftOut", "replacedLeftOut")),
        gone_elsewhere=None if gone is None else gone[None],
        coverage=found.coverage,
        files={name: out / name for name in NAMES if name not in left_out},
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
    found: ReportTables, fresh: dict[str, int] | None, gone: dict[str | None, int] | None
) -> tuple[EntryRow, ...]:
    held = found.edges.join(found.secrets.select("secret_id", "name"), on="secret_id")
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
        for name, facts in found.coverage["secrets"].items()
    )


def _by_entry(rows: pl.DataFrame) -> dict[str, int]:
    return dict(rows.group_by(_ENTRY.alias("entry")).len().iter_rows())


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False).encode() + b"\n"
