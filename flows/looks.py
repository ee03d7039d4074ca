"""Commands that look and train nothing: a kept result, a flow of Prefect where a server is named, or steps of this
process.

A result is kept as `flows.answers` keeps a job's, and given again if nothing that it rests on has changed and the
files that it wrote are still what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from flows import command_line
from hush_core.files import file_sha256, private_folder, write_whole

if TYPE_CHECKING:
    from flows.reports.plan_report import PlanReport
    from hush_core.config import Changes, HushConfig
    from tasks.publish_secrets import Summary


class Look(BaseModel):
    """A result, and the SHA-256 of the files that it wrote."""

    result: Any
    files: dict[str, str]


def secrets_of(config: HushConfig, config_file: str, baseline: str | None, out: str | None) -> Summary:
    """The result of `hush secrets`; `config`: the file as it was read and checked."""
    from tasks.publish_secrets import Summary

    given = ("secrets", config_file, baseline and file_sha256(Path(baseline)), out)

    def look() -> Summary:
        ways = "flows.secrets:secrets", "flows.extraction:find_secrets"
        return _by_flow_or_here("secrets", *ways, config_file, baseline, out)

    return _looked(config, given, Summary, look, lambda summary: summary.files.values())


def plan_report_of(
    config: HushConfig,
    config_file: str,
    changes: Changes,
    sweep: list[float] | None,
    noise: list[float] | None,
    out: str | None,
) -> PlanReport:
    """The result of `hush plan`; `config`: the file with its changes, as it was read and checked."""
    from flows.reports.plan_report import PlanReport

    def look() -> PlanReport:
        ways = "flows.plan:plan", "flows.planning:planned"
        return _by_flow_or_here("plan", *ways, config_file, changes, sweep, noise, out)

    def written(report: PlanReport) -> Iterable[Path]:
        return (path for path in Path(report.published.folder).iterdir() if path.is_file())

    return _looked(config, ("plan", config_file, sweep, noise, out), PlanReport, look, written)


def _by_flow_or_here(command: str, flow: str, here: str, *given: Any) -> Any:
    """What the flow gives, or the function that it calls, without an orchestrator."""
    if command_line.needs_orchestrator():
        with command_line.owned():
            return resolve_name(flow)(*given)
    with command_line.without_orchestrator(command):
        return resolve_name(here)(*given)


def _looked(
    config: HushConfig,
    given: tuple[Any, ...],
    kind: type[Any],
    look: Callable[[], Any],
    written: Callable[[Any], Iterable[Path]],
) -> Any:
    """What the command gave before, or `look()`, which is kept; `written`: the files of a result."""
    from flows.answers import answer_file
    from tasks.sources import sources
    from tasks.standing import note_answered

    command, config_file = given[:2]
    file, adapter = answer_file(config, sources(config), *given), TypeAdapter(kind)
    known = _kept(file, adapter)
    if known is not None and note_answered(command, f"{command} {Path(config_file).stem}"):
        return known
    result = look()
    if answer_file(config, sources(config), *given) == file:  # no commit has moved meanwhile
        files = {str(path): file_sha256(path) for path in written(result)}
        body = Look(result=adapter.dump_python(result, mode="json"), files=files)
        private_folder(file.parent)
        write_whole(file, body.model_dump_json().encode())
        if _kept(file, adapter) != result:  # a number that JSON does not have
            file.unlink()
    return result


def _kept(file: Path, adapter: TypeAdapter[Any]) -> Any:
    """The result of a file, if all that it wrote is there unchanged; else None."""
    try:
        known = Look.model_validate_json(file.read_bytes())
        if all(file_sha256(Path(path)) == sha256 for path, sha256 in known.files.items()):
            return adapter.validate_python(known.result)
    except (OSError, ValidationError):
        pass
    return None
