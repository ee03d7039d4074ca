"""What the commands share: checks before anything is started, servers, the terminal, and the exit status."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from flows.output import OUTPUT, fail
from hush_core.errors import HushError, InputError, VerificationError
from hush_core.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console

    from hush_core.config import Changes, HushConfig
    from tasks.runtime.environment import Home

INTERRUPTED = 130
"""The exit status after Ctrl-C, typer's own included."""


def writable(out: Path | None, option: str = "--out") -> Path | None:
    """The folder for tables and pictures: can it be made and written to? Asked before any work is done for it."""
    if out is not None:
        import tempfile

        missing = [folder for folder in (out, *out.parents) if not folder.exists()]
        try:
            out.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=out):
                pass
            for folder in missing:  # a refusal on the way leaves nothing
                folder.rmdir()
        except OSError as error:
            hint = "name a folder that you may write to"
            raise InputError(f"{option}: {out}", error.strerror or "cannot be written", hint) from None
    return out


_OPTIONS = {"noise_multiplier": "noise"}
"""What an option is called whose change has another name."""


def changes(**values: Any) -> Changes:
    from hush_core.config import Changes

    try:
        return Changes(**values)
    except ValueError as error:
        first = error.errors(include_input=False)[0]  # type: ignore[attr-defined]
        key = _OPTIONS.get(key := str(first["loc"][0]), key.replace("_", "-"))
        raise InputError(f"--{key}", first["msg"], "correct this option") from None


FIRST = Path("hush.yaml")
"""The job of a command that names none."""


def job_file(given: Path | None, *, looks: bool = False) -> Path:
    """The YAML file of a command's job: the one that is named, or hush.yaml of this folder. `looks`: a git
    repository will do, named by any folder in it."""
    if given is None and FIRST.is_file():
        return FIRST
    if looks and (given is None or given.is_dir()):
        return repository(given)
    if given is None:
        hint = "run `hush init` to write it, or name the YAML file of a job"
        raise InputError(str(FIRST), "is not in this folder", hint)
    return given


def repository(given: Path | None) -> Path:
    """The git repository that a folder, or this one, is in."""
    from hush_core.corpus.git.refs import repository_around

    if given is not None and not given.is_dir():
        raise InputError(str(given), "is no folder", "name a folder of a git repository")
    if (found := repository_around(given or Path())) is None:
        where = "this folder" if given is None else str(given)
        raise InputError(where, "is not in a git repository", "name a folder of a git repository")
    return found


@contextmanager
def laboratory(command: str) -> Iterator[None]:
    """Around the import of what only the laboratory has. Raises InputError: it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "lab":
            raise
        hint = "pip install 'hush-secrets[lab]'"
        raise InputError(command, "needs hush's laboratory, which is not installed", hint) from None


def one_thread() -> None:
    """For a command that looks, before numpy is imported: OpenBLAS begins a thread a core then, which spin for a
    second of processor time, and the steps of a look have threads of their own."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def check(config_file: Path, given: Changes | None = None, *, command: str = "run") -> HushConfig:
    """Report every mistake that is visible before anything starts: in the config and in the servers' settings.

    Returns the config, with these changes, for this command.
    """
    from hush_core.config import load_config

    # keys and values first: what checks the rest takes a second to load
    load_config(config_file, given, command=command)
    answer()
    from flows.check import check_config

    return check_config(config_file, given, command=command)


def answer() -> Home:
    """Prepare the environment; tell a disk that is full, and a server that is named there and is not there."""
    place = prepare()
    from tasks.reachable import check_disk, check_orchestrator, check_tracker
    from tasks.runtime.shared_store import check_storage

    check_disk()
    check_tracker()
    check_orchestrator()
    check_storage()
    return place


def needs_orchestrator() -> bool:
    """Whether a command that looks and trains nothing runs as a flow of Prefect: where a server is named, which
    shows the run, and where a cluster does its steps."""
    from tasks.runtime.environment import runner

    return bool(os.environ.get("PREFECT_API_URL")) or runner() != "threads"


@contextmanager
def without_orchestrator(name: str) -> Iterator[None]:
    """A look: its steps run in this process, and no server is started."""
    from flows.bars import bars
    from tasks.ownership import sweep_files
    from tasks.runtime.environment import home
    from tasks.runtime.steps import alone

    with alone(name), bars():
        sweep_files(home())
        yield


def prepare() -> Home:
    from tasks.runtime.environment import prepare_environment

    home = prepare_environment()
    from tasks.runtime.json_logs import one_line_errors

    one_line_errors()
    return home


def parsed(app: typer.Typer) -> None:
    """Run one command line; a word that is not an option, value or command gives one line, as every mistake does.
    Raises InputError: an unknown option, value or command, or a wrong number of arguments."""
    try:
        status = app(standalone_mode=False, prog_name="hush")
    except _USAGE as error:
        if error.__class__.__name__ == "NoArgsIsHelpError":  # `hush` alone: what there is
            error.show()
            sys.exit(2)
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "hush"
        what = error.format_message().rstrip(".")
        raise InputError(command, what[:1].lower() + what[1:], f"see {command} --help") from None
    except _ABORT:
        _interrupted()
    if status:
        sys.exit(status)


_USAGE, _ABORT = typer.BadParameter.__mro__[2], typer.Abort
"""typer brings its own click, and names of its errors only these."""


@cache
def console() -> Console:
    from rich.console import Console

    if OUTPUT.json:
        return Console(highlight=False, stderr=True, width=None if sys.stderr.isatty() else 120)
    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def progress() -> Progress:
    """For commands whose steps are no flow's: lines as `progress_log` writes them, in this terminal."""
    from tasks.runtime.progress import Lines

    lines = Lines()

    def show(stage: str, done: int, total: int) -> None:
        if not OUTPUT.quiet and (line := lines.of(time.monotonic(), stage, done, total)):
            console().print(f"[dim]{line}[/dim]")

    return show


def serve() -> None:
    """Start what a flow needs, once every check that does not need it has passed."""
    from tasks.runtime.embedded_server import start_server

    start_server()


@contextmanager
def owned() -> Iterator[None]:
    """A server is started if a flow needs one, and what is started in here carries this process's mark from its
    first moment: a later command sees who died."""
    serve()
    from prefect import tags

    from flows.bars import bars
    from tasks.leftovers import owner_tag
    from tasks.runtime.environment import home

    with tags(owner_tag(home())), bars():
        yield


@contextmanager
def exit_status():
    """One line for a mistake, none of Python's traceback; the status says whose it was."""
    asked = threading.Event()

    def end(number: int, frame: Any) -> None:
        """SIGTERM (a supervisor, `timeout`, a shutdown) ends a command as Ctrl-C does."""
        asked.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    terminal = signal.getsignal(signal.SIGHUP)
    if terminal == signal.SIG_DFL:  # and not where nohup asked for it to be passed over
        # the terminal is closed: what handles SIGTERM now handles this too
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    try:
        with _exit_by_error():
            yield
    except Exception:
        if not asked.is_set():
            raise
        # `timeout` ends the command's own server as well, and the flow could not say how it ended
        _interrupted()
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGHUP, terminal)


@contextmanager
def _exit_by_error() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        several = {"failures": error.lines} if error.others else {}
        message = "\nhush: ".join(error.lines)
        _end(2, message, where=error.where, what=error.what, hint=error.hint, **several)
    except HushError as error:
        failures = error.failures if isinstance(error, VerificationError) else []
        _end(1, error, what=str(error), **({"failures": failures} if failures else {}))
    except Exception as error:
        from tasks.runtime.full_disk import is_full

        if not is_full(error):
            raise
        what, hint = "the disk is full", "free some, and start the same command again"
        _end(1, f"{what}; {hint}", what=what, hint=hint)
    except (KeyboardInterrupt, SystemExit) as end:
        if isinstance(end, SystemExit) and end.code != INTERRUPTED:
            raise
        _interrupted()


def _interrupted() -> NoReturn:
    what, hint = "interrupted", "the next run of the same command continues from here"
    _end(INTERRUPTED, f"{what}; {hint}", what=what, hint=hint)


def _end(status: int, message: object, **error: Any) -> NoReturn:
    """One line for people, one document for machines."""
    print(f"hush: {message}", file=sys.stderr)
    fail(status, **error)
    sys.exit(status)
