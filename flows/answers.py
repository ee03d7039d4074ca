"""The answers of what ran before and of which nothing has changed, found before any server starts.

`hush run` on unchanged input would start Prefect, ask for the result of every step, and register nothing. So the
printed report is kept, and printed again if nothing that it depends on has changed:

- the config with its changes, the commits and files that it names, the rules, hush itself, the servers' addresses
- every object in the store (hashed again), the registered version, and that no audit has refuted it
- under a promise, the history of runs in this home, and that the registry knows of no refuted version

Otherwise the flow runs, which knows why. A named Prefect server gets a completed flow run in the state Cached.

Commands that look and train nothing are answered in the same way, if the files that they wrote are still what they
were. Else they run as a flow of Prefect where a server is named, or as steps of this process.

Kept under HUSH_HOME/store/answers, named by a keyed hash.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from flows import command_line
from flows.reports.job_report import Report
from hush_core.config import ByteGptModel, HushConfig
from hush_core.files import file_sha256, private_folder, write_whole
from tasks.runtime.environment import home
from tasks.runtime.store import Ref, canonical_json, open_store, refs_in
from tasks.runtime.trust import signing_key
from tasks.sources import Sources, sources
from tasks.standing import any_refuted, has_known_registry, is_registered, note_answered, tracker_is_own

if TYPE_CHECKING:
    from flows.reports.plan_report import PlanReport
    from hush_core.config import Changes
    from tasks.outcome import Outcome
    from tasks.publish_secrets import Summary

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
    if (config.promise and any_refuted()) or not note_answered("train", run_name):
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
    file, answer = _file(config, now), Answer(report=report, refs=refs)
    write_whole(private_folder(file.parent) / file.name, answer.model_dump_json().encode())


def _refuted(certificate: Path) -> bool:
    """Whether an audit has refuted the answer since; the flow then says why."""
    if not any((home().store / "audits").glob("run-*.json")):
        return False
    from tasks.refutation import refuted_answer  # with all that reads a certificate

    return bool(refuted_answer(certificate))


def _answerable(config: HushConfig) -> bool:
    """No model from elsewhere, and a registry that can be asked."""
    return isinstance(config.model, ByteGptModel) and has_known_registry()


def _file(config: HushConfig, inputs: Sources) -> Path:
    key = signing_key()  # with a new key, an unsigned version is registered again
    return answer_file(config, inputs, key.fingerprint if key else None)


def answer_file(config: HushConfig, inputs: Sources, *more: Any) -> Path:
    """Where the result of a command on this config is kept; another one if anything differs that it rests on."""
    servers = [os.environ.get(name, "") for name in ("PREFECT_API_URL", "HUSH_STORE")]
    servers.append("" if tracker_is_own() else os.environ.get("MLFLOW_TRACKING_URI", ""))
    history = _history() if config.promise else None
    parts = [
        config.model_dump(mode="json"),
        inputs.model_dump(mode="json"),
        _software(),
        servers,
        history,
        *more,
    ]
    return home().store / "answers" / home().fingerprint("answer " + canonical_json(parts).decode())


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
    status = path.stat()
    return status.st_size, status.st_mtime_ns


class KeptResult(BaseModel):
    """A result, and the SHA-256 of the files that it wrote."""

    result: Any
    files: dict[str, str]


def secrets_of(config: HushConfig, config_file: str, baseline: str | None, out: str | None) -> Summary:
    """The result of `hush secrets`; `config`: the file as it was read and checked."""
    from tasks.publish_secrets import Summary

    by = (config_file, baseline and file_sha256(Path(baseline)), out)
    ways = "flows.secrets:secrets", "flows.extraction:find_secrets"
    arguments = (config_file, baseline, out)
    return _result_of(config, "secrets", by, Summary, ways, arguments, lambda summary: summary.files.values())


def plan_report_of(config: HushConfig, config_file: str, changes: Changes, *asked: Any) -> PlanReport:
    """The result of `hush plan`; `config`: the file with its changes, as it was read and checked. `asked`: sweep,
    noise and folder, as of the flow."""
    from flows.reports.plan_report import PlanReport

    def written(report: PlanReport) -> Iterable[Path]:
        return (path for path in Path(report.published.folder).iterdir() if path.is_file())

    ways = "flows.plan:plan", "flows.planning:planned"
    arguments = (config_file, changes, *asked)
    return _result_of(config, "plan", (config_file, *asked), PlanReport, ways, arguments, written)


def _result_of(
    config: HushConfig,
    command: str,
    by: tuple[Any, ...],
    kind: type[Any],
    ways: tuple[str, str],
    arguments: tuple[Any, ...],
    written: Callable[[Any], Iterable[Path]],
) -> Any:
    """What the command gave before, or what its flow gives, which is kept. `by`: what it is kept by, the config's
    file first. `ways`: the flow, and the function that it calls, where no orchestrator is needed. `written`: the
    files of a result."""
    file, adapter = answer_file(config, sources(config), command, *by), TypeAdapter(kind)
    known = _kept(file, adapter)
    if known is not None and note_answered(command, f"{command} {Path(by[0]).stem}"):
        return known
    served = command_line.needs_orchestrator()
    with command_line.owned() if served else command_line.without_orchestrator(command):
        result = resolve_name(ways[0] if served else ways[1])(*arguments)
    if answer_file(config, sources(config), command, *by) == file:  # no commit has moved meanwhile
        files = {str(path): file_sha256(path) for path in written(result)}
        body = KeptResult(result=adapter.dump_python(result, mode="json"), files=files)
        write_whole(private_folder(file.parent) / file.name, body.model_dump_json().encode())
        if _kept(file, adapter) != result:  # a number that JSON does not have
            file.unlink()
    return result


def _kept(file: Path, adapter: TypeAdapter[Any]) -> Any:
    """The result of a file, if all that it wrote is there unchanged; else None."""
    try:
        known = KeptResult.model_validate_json(file.read_bytes())
        if all(file_sha256(Path(path)) == sha256 for path, sha256 in known.files.items()):
            return adapter.validate_python(known.result)
    except (OSError, ValidationError):
        pass
    return None
