"""Child processes under one supervisor: servers that die are started again, and all end together.

Clients of a killed server retry, and a training continues meanwhile, so a server that dies is started again with
the same command. So is a killed runner; its runs are asked to end first, as they would train unseen. A server that
keeps dying is broken: then all ends, unless nothing else needs it. After a `kill -9` of the supervisor they end
too, except PostgreSQL, which has its own user.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from hush_core.errors import HushError
from tasks.runtime.tied import tied

STARTUP = 180.0
"""Seconds for a server to answer, on a busy machine."""
PATIENCE = 20.0
"""Seconds for what is asked to end; for a training, to write its checkpoint."""
SETTLED = 60.0
"""Seconds after which what exits by itself has not failed at its start, as it does for a mistake in a config."""
OFTEN, WITHIN = 10, 300.0
"""So many deaths of one child within so many seconds, and it is not begun again."""


@dataclass
class Child:
    """A process that leads a group of its own.

    again: whether it is restarted when it exits by itself soon after its start; later, and after a kill, it always
    is. first: whether its own runs are asked to end before it is. essential: whether all ends if it cannot run.
    """

    name: str
    command: list[str]
    options: dict[str, Any]
    again: bool
    first: bool
    essential: bool
    process: subprocess.Popen[bytes]
    began: float
    deaths: list[float] = field(default_factory=list)


@dataclass
class Children:
    """Child processes that live and die together; each leads a process group, so grandchildren go too."""

    running: list[Child] = field(default_factory=list)
    previous: dict[signal.Signals, Any] = field(default_factory=dict)

    def __enter__(self) -> Children:
        # a shell has SIGINT ignored for what it starts in the background, and children would inherit that
        handlers = {signal.SIGTERM: _interrupt, signal.SIGINT: signal.default_int_handler}
        self.previous = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        return self

    def __exit__(self, *_: object) -> None:
        for child in reversed(self.running):  # the runner first: it reports to the servers
            _stop(child)
        for number, handler in self.previous.items():
            signal.signal(number, handler)

    def start(
        self,
        name: str,
        command: list[str],
        environment: dict[str, str],
        *,
        again: bool = True,
        first: bool = False,
        essential: bool = True,
        **options: Any,
    ) -> None:
        options = {"env": environment, "start_new_session": True, **options}
        if "user" not in options:  # another one may not read this installation
            command = tied(command)
        process = subprocess.Popen(command, **options)
        self.running.append(Child(name, command, options, again, first, essential, process, time.monotonic()))

    def check(self) -> None:
        """Begin again what has died. Raises HushError: something that is essential ended and is not begun again, or
        died too often."""
        for child in list(self.running):
            status = child.process.poll()
            if status is None:
                continue
            now = time.monotonic()
            child.deaths = [then for then in child.deaths if now - then < WITHIN] + [now]
            ended = f"was killed (signal {-status})" if status < 0 else f"ended by itself (status {status})"
            what = f"the {child.name} {ended}; see its last lines above"
            failed = status >= 0 and not child.again and now - child.began < SETTLED
            if failed or len(child.deaths) > OFTEN:
                if child.essential:
                    raise HushError(what)
                print(f"hush: {what}; all else continues without it", flush=True)
                _kill_group(child.process.pid)
                self.running.remove(child)
                continue
            print(f"hush: {what}; it is started again", flush=True)
            if child.first:
                _end_begun(child.process, PATIENCE)
            _kill_group(child.process.pid)
            time.sleep(min(2.0 ** len(child.deaths) / 4, 10.0))
            child.process, child.began = subprocess.Popen(child.command, **child.options), time.monotonic()

    def await_that(self, ready: Callable[[], bool], what: str) -> None:
        """Wait until something holds; what dies meanwhile is begun again."""
        deadline = time.monotonic() + STARTUP
        while time.monotonic() < deadline:
            self.check()
            if ready():
                return
            time.sleep(0.3)
        raise HushError(f"{what} does not answer after {STARTUP:.0f} s")

    def await_answer(self, url: str) -> None:
        def ready() -> bool:
            try:
                with urllib.request.urlopen(url, timeout=5) as answer:
                    return answer.status == 200
            except (urllib.error.URLError, OSError):
                return False

        self.await_that(ready, url)

    def wait(self) -> None:
        while True:
            self.check()
            time.sleep(0.5)


def _stop(child: Child, patience: float = PATIENCE) -> None:
    """Ask the child's whole group to end, then make it.

    What the runner has begun is asked first, and waited for: a run that ends after its runner cannot say
    how, and would stay "Running".
    """
    process = child.process
    if child.first and process.poll() is None:
        _end_begun(process, patience)
    for sign, times in ((signal.SIGINT, 1.0), (signal.SIGTERM, 0.5), (signal.SIGKILL, 1.0)):
        if process.poll() is not None:
            break
        os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(times * patience)
    _kill_group(process.pid)


def _end_begun(leader: subprocess.Popen[bytes], patience: float) -> None:
    """Ask the other processes of a group to end, as Ctrl-C does, and wait for them."""
    for pid in _begun_by(leader):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)
    deadline = time.monotonic() + patience
    while _begun_by(leader) and time.monotonic() < deadline:
        time.sleep(0.1)


def _kill_group(leader: int) -> None:
    """What outlived the leader of a group: it would hold the port, and the database, of the next one."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _begun_by(leader: subprocess.Popen[bytes]) -> list[int]:
    """The other living processes of a group, and those of the groups that its leader's children lead (Prefect's
    worker gives each run one of its own)."""
    found: dict[int, tuple[int, int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            state, parent, group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            if state != "Z":
                found[int(folder.name)] = int(parent), int(group)
    groups = {leader.pid, *(pid for pid, (parent, _group) in found.items() if parent == leader.pid)}
    return [pid for pid, (_parent, group) in found.items() if group in groups and pid != leader.pid]


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
