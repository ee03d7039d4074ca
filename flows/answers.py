"""The answer of a job that ran before and of which nothing has changed, found before any server starts.

`hush run` on unchanged input would start Prefect, ask for the result of every step, and register nothing. So the
printed report is kept, and printed again if nothing that it depends on has changed:

- the config with its changes, the commits and files that it names, the rules, hush itself, the servers' addresses
- every object in the store (hashed again), the registered version, and that no audit has refuted it
- under a promise, the history of runs in this home, and that the registry knows of no refuted version

Otherwise the flow runs, which knows why. A named Prefect server gets a completed flow run in the state Cached.

Kept under HUSH_HOME/store/answers, named by a keyed hash.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from flows.reports.job_report import Report
from hush_core.config import ByteGptModel, HushConfig
from hush_core.files import write_whole
from tasks.runtime.environment import home
from tasks.runtime.store import Ref, canonical_json, open_store, refs_in
from tasks.runtime.trust import signing_key
from tasks.sources import Sources, sources
from tasks.standing import any_refuted, can_be_asked, is_registered, note_answered, tracker_is_own

if TYPE_CHECKING:
    from tasks.outcome import Outcome

PACKAGES = ("flows", "tasks", "hush_core")
INSTALLED = (".dist-info", ".egg-info")


class Answer(BaseModel, frozen=True):
    """A report, and every object of the store that it was gathered from."""

    report: Report
    refs: tuple[Ref, ...]


def find_answer(config: HushConfig, run_name: str = "train") -> Report | None:
    """The report that this job was answered with, if it would be answered with it again. `run_name`: what Prefect's
    server, where one is named, calls the run that found it."""
    if not _answerable(config):
        return None
    try:
        kept = Answer.model_validate_json(_file(config, sources(config)).read_bytes())
    except (OSError, ValidationError):
        return None
    store = open_store()
    if not all(store.holds(ref) for ref in kept.refs) or not is_registered(kept.report.model_uri):
        return None
    if _refuted(Path(kept.report.certificate_dir)):
        return None
    if config.promise and any_refuted():
        return None
    if not note_answered("train", run_name):
        return None
    return kept.report.model_copy(update={"reused": True})


def keep_answer(config: HushConfig, outcome: Outcome, report: Report) -> None:
    """Keep a report for the next run of the same job; nothing where a commit has moved since it was begun."""
    if not _answerable(config):
        return
    now = sources(config)
    if outcome.extracted.commits != {label: home().fingerprint(c) for label, c in now.revisions.items()}:
        return
    refs = tuple(dict.fromkeys(refs_in(TypeAdapter(type(outcome)).dump_python(outcome, mode="json"))))
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
    """No model from elsewhere, and a registry that can be asked."""
    return isinstance(config.model, ByteGptModel) and can_be_asked()


def _file(config: HushConfig, inputs: Sources) -> Path:
    key = signing_key()  # with a new key, an unsigned version is registered again
    return answer_file(config, inputs, key.fingerprint if key else None)


def answer_file(config: HushConfig, inputs: Sources, *more: Any) -> Path:
    """Where the result of a command on this config is kept; another one if anything differs that it rests on."""
    servers = [os.environ.get(name, "") for name in ("PREFECT_API_URL", "HUSH_STORE")]
    servers.append("" if tracker_is_own() else os.environ.get("MLFLOW_TRACKING_URI", ""))
    history = _history() if config.promise else None
    said = [
        config.model_dump(mode="json"),
        inputs.model_dump(mode="json"),
        _software(),
        servers,
        history,
        *more,
    ]
    return home().store / "answers" / home().fingerprint("answer " + canonical_json(said).decode())


def _history() -> list[Any]:
    """The runs that a promise counts, and the audits of this home, by size and time of their files. Names that
    begin with a dot are locks, which every look at the history opens."""
    folders = (home().store / name for name in ("history", "audits"))
    files = (path for folder in folders for path in sorted(folder.rglob("[!.]*")) if path.is_file())
    return [[str(path.relative_to(home().store)), *_stamp(path)] for path in files]


def _software() -> list[Any]:
    """Hush's own files by size and time, and what is installed: the folders that name package and version, as
    reading the metadata in them takes longer than all else that an answer needs."""
    root = Path(__file__).resolve().parents[1]
    files = (path for package in PACKAGES for path in sorted((root / package).rglob("*.py")))
    stamps = [(str(path.relative_to(root)), *_stamp(path)) for path in files]
    folders = (Path(folder) for folder in sys.path if Path(folder).is_dir())
    installed = {each.name for folder in folders for each in folder.iterdir() if each.suffix in INSTALLED}
    return [stamps, sorted(installed)]


def _stamp(path: Path) -> tuple[int, int]:
    said = path.stat()
    return said.st_size, said.st_mtime_ns
