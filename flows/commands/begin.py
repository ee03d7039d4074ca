"""The commands that a new user begins with: what a repository holds, and a first config for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows import command_line
from flows.output import give, with_result
from hush_core.errors import InputError

if TYPE_CHECKING:
    from hush_core.config import HushConfig
    from tasks.publish_secrets import Summary


@with_result
def secrets(
    config: Annotated[
        Path | None,
        typer.Argument(
            help="the YAML file of a job, or any folder of a git repository; hush.yaml, or this repository, "
            "unless given",
            show_default=False,
        ),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(help="list the files of this secret, or entry of the config; repeatable"),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="baseline.json to compare with, instead of the last report's")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="folder for the report; it names files: a private place")
    ] = None,
    why: Annotated[
        str | None,
        typer.Option(
            metavar="[LABEL:]FILE:LINE",
            help="say which rules for credentials look at this line, and what takes away what they see",
        ),
    ] = None,
    *,
    review: Annotated[
        bool, typer.Option("--review", help="decide on each new value by one key: is it a credential?")
    ] = False,
) -> None:
    """Which files hold which secret, and what changed. Plans and trains nothing."""
    command_line.one_thread()
    if why is not None:
        from flows.reports.decide import render_reasons, why_at

        reasons = why_at(why, _config_of_place(why, config))
        give(reasons, lambda: render_reasons(reasons, command_line.console()))
        return
    if review:
        from flows.reports.decide import needs_terminal

        needs_terminal()
    given = [None if path is None else str(path.resolve()) for path in (baseline, command_line.writable(out))]
    config = command_line.job_file(config, looks=True)
    checked = command_line.check(config, command="secrets")
    _check_names(secret or [], [entry.id for entry in checked.secrets])
    if baseline is not None:
        _check_baseline(baseline)
    from flows.answers import secrets_of

    summary = secrets_of(checked, str(config.resolve()), *given)
    if review:
        from flows.reports.decide import decide, look_at

        decide(summary, checked, config, command_line.console(), look=look_at)
    else:
        give(summary, lambda: _show_secrets(summary, secret or [], config))


def _show_secrets(summary: Summary, secrets: list[str], config: Path) -> None:
    from flows.reports.secrets import render, render_files

    render(summary, command_line.console())
    render_files(summary, secrets, command_line.console())
    if config.is_dir() and not (config / command_line.FIRST).exists():
        command_line.console().print("next: hush init writes a first hush.yaml, which hush plan uses")


def _config_of_place(place: str, config: Path | None) -> HushConfig | None:
    """The config whose report prints this place, unless it is a file here; None without a config to look in."""
    file = place.rpartition(":")[0]
    if ":" not in file or Path(file).exists():
        return None
    from hush_core.config import load_config

    try:
        return load_config(command_line.job_file(config, looks=True), command="secrets")
    except InputError:
        if config is not None:
            raise
        return None


def _check_names(secrets: list[str], entries: list[str]) -> None:
    """Raises InputError: a name that no secret can have, as it begins with no entry; before anything is read."""
    for name in secrets:
        if name.partition("/")[0] not in entries:
            hint = f"name an entry ({', '.join(entries)}), or a secret of files.csv, which begins with one"
            raise InputError("--secret", f"no entry is called {name.partition('/')[0]!r}", hint)


def _check_baseline(path: Path) -> None:
    from hush_core.secrets.report.baseline import read_baseline
    from tasks.runtime.environment import home

    if not path.is_file():
        raise InputError("--baseline", f"{path}: is no file", "name the baseline.json of a report")
    read_baseline(path, home().identity_key())


@with_result
def init(
    repository: Annotated[
        Path | None,
        typer.Argument(help="any folder of a git repository; this one unless given", show_default=False),
    ] = None,
) -> None:
    """Write a first hush.yaml, with a comment on each entry. It names teams, authors and credentials."""
    found = command_line.repository(repository)
    place = command_line.prepare()
    from flows.init import init as write_first

    begun = write_first(found, command_line.FIRST, place, command_line.progress())

    def shown() -> None:
        lines = [f"wrote {begun.file}: {', '.join(begun.active)}"]
        lines += [f"as comments, each with its reason: {', '.join(begun.off)}"] if begun.off else []
        lines += [
            "next: read it, then run hush plan" if begun.protects
            else "no text holds what these name; next: add an entry for what is confidential, then run hush plan"
        ]  # fmt: skip
        command_line.console().print("\n".join(lines), markup=False)

    give(begun, shown)
