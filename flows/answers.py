"""The answer of a job that was run before and of which nothing has changed, found before any server is started.

`hush run` on what it ran on before would start Prefect, ask for the result of every step, and register nothing.
Where both servers are the home's own, the report that it printed is kept, and printed again if all that it rests on
is what it was: the config with its changes, the commits and files that it names, the rules and hush itself, every
object in the store (hashed anew), the registered version, and that no audit has refuted it. Anything else is left
to the flow, which knows why.

Kept under HUSH_HOME/store/answers, named by a keyed hash. A promise over several runs is never answered from here:
what such a run comes to depends on the runs between.
"""

from __future__ import annotations

import os
import sqlite3
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from flows.reports.job_report import Report
from hush_core.config import ByteGptModel, HushConfig
from hush_core.files import write_whole
from tasks.runtime.environment import home, settings
from tasks.runtime.store import Ref, Store, canonical_json, refs_in
from tasks.runtime.trust import signing_key
from tasks.sources import Sources, sources

if TYPE_CHECKING:
    from tasks.outcome import Outcome

PACKAGES = ("flows", "tasks", "hush_core")


class Answer(BaseModel):
    """A report, and every object of the store that it was gathered from."""

    model_config = ConfigDict(frozen=True)

    report: Report
    refs: tuple[Ref, ...]


def find_answer(config: HushConfig) -> Report | None:
    """The report that this job was answered with, if it would be answered with it again."""
    if not _answerable(config):
        return None
    try:
        kept = Answer.model_validate_json(_file(config, sources(config)).read_bytes())
    except (OSError, ValidationError):
        return None
    store = Store(home().store)
    if not all(store.holds(ref) for ref in kept.refs) or not _registered(kept.report.model_uri):
        return None
    if _refuted(Path(kept.report.certificate_dir)):
        return None
    return kept.report.model_copy(update={"reused": True})


def keep_answer(config: HushConfig, outcome: Outcome, report: Report) -> None:
    """Keep a report for the next run of the same job; nothing where a commit has moved since it was begun."""
    if not _answerable(config):
        return
    now = sources(config)
    if outcome.extracted.commits != {label: home().fingerprint(c) for label, c in now.revisions.items()}:
        return
    refs = tuple(dict.fromkeys(refs_in(outcome.model_dump(mode="json"))))
    file = _file(config, now)
    file.parent.mkdir(mode=0o700, exist_ok=True)
    write_whole(file, Answer(report=report, refs=refs).model_dump_json().encode())


def _refuted(certificate: Path) -> bool:
    """Whether an audit has refuted the answer since; the flow then says why."""
    if not any((home().store / "audits").glob("run-*.json")):
        return False
    from tasks.refutation import refuted_answer  # with all that reads a certificate

    return bool(refuted_answer(certificate))


def _answerable(config: HushConfig) -> bool:
    """No promise over several runs, no model from elsewhere, and nobody's servers but the home's own."""
    own = settings(home())["MLFLOW_TRACKING_URI"]
    return (
        config.promise is None
        and isinstance(config.model, ByteGptModel)
        and not os.environ.get("PREFECT_API_URL")
        and os.environ.get("MLFLOW_TRACKING_URI") == own
    )


def _file(config: HushConfig, inputs: Sources) -> Path:
    key = signing_key()  # who signs from now on has an unsigned version registered anew
    signer = key.fingerprint if key else None
    body = [config.model_dump(mode="json"), inputs.model_dump(mode="json"), _software(), signer]
    return home().store / "answers" / home().fingerprint("answer " + canonical_json(body).decode())


def _software() -> list[Any]:
    """Hush's own files by size and time, and the versions of all that is installed."""
    root = Path(__file__).resolve().parents[1]
    files = (path for package in PACKAGES for path in sorted((root / package).rglob("*.py")))
    stamps = [(str(path.relative_to(root)), *_stamp(path)) for path in files]
    return [stamps, sorted({f"{each.name} {each.version}" for each in distributions()})]


def _stamp(path: Path) -> tuple[int, int]:
    said = path.stat()
    return said.st_size, said.st_mtime_ns


def _registered(model_uri: str) -> bool:
    """Whether the home's own registry still has a version, and is ready to serve it."""
    _, name, number = model_uri.split("/")
    database = home().mlflow_database
    try:
        with sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=5) as registry:
            row = registry.execute(
                "SELECT status, current_stage FROM model_versions WHERE name = ? AND version = ?",
                (name, int(number)),
            ).fetchone()
    except (sqlite3.Error, ValueError):
        return False
    return row is not None and row[0] == "READY" and row[1] != "Deleted_Internal"
