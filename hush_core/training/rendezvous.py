"""Whether the ranks of a run have met: before that nothing is released, and nobody is waited for long.

A rank says that its machine has begun it by a file in the run's private folder; the first one informs its parent
when all are joined. A machine that never begins its ranks, or is not reached over the interface, ends the run in a
line.

`raise_failure` says in one line by which rank a run in several processes failed, and why.
"""

import json
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from hush_core.errors import HushError, InputError, SetupError
from hush_core.training.hosts import HOSTS, INTERFACE, Hosts

PATIENCE = 300.0
"""Seconds in which ranks on several machines have to meet; importing torch from a slow disk takes one of them."""
JOINED = "joined"
"""What the first rank sends its parent then."""
_STARTED = "started."


def mark_started(folder: Path, rank: int) -> None:
    """Leave word that a rank runs, on whichever machine."""
    (folder / f"{_STARTED}{rank}").touch(mode=0o600)


REACH = "see that it is up, and that each machine reaches the others' addresses on it, at any port"
AGAIN = "start again: training continues from the last checkpoint"


class RankFailed(HushError, RuntimeError):
    """A process of the run failed or was killed."""


class Rendezvous:
    """The parent's view of it."""

    def __init__(self, folder: Path, count: int, hosts: Hosts) -> None:
        self.over = False
        self._folder, self._count, self._hosts = folder, count, hosts
        self._until = time.monotonic() + PATIENCE

    def check(self) -> None:
        """Raises:
        SetupError: it takes too long: says which machine has not started, or that they do not reach each other.
        """
        if self.over or len(self._hosts.commands) == 1 or time.monotonic() < self._until:
            return
        waited = f"within {PATIENCE:.0f} s"
        absent = [rank for rank in range(self._count) if not self._started(rank)]
        if absent:
            rank = next(filter(self.command, absent), absent[0])  # this machine's may just be slow
            command = self.command(rank)
            what = f"{_named(command)} has not started rank {rank} {waited}"
            raise SetupError(HOSTS, what, _try(command))
        what = f"all ranks run, and do not reach each other over {self._hosts.interface} {waited}"
        raise SetupError(INTERFACE, what, REACH)

    def lose(self, rank: int, status: int, log: Path) -> None:
        """Name the machine of a rank that ended without a word of its own; nothing to say of one on this machine.

        Raises:
            SetupError: it had not begun. RankFailed: it had.
        """
        command = self.command(rank)
        if not command:
            return
        ended = f"{_named(command)} ended with status {status}"
        if self.over or self._started(rank):
            why = "killed there, or the connection was lost"
            raise RankFailed(f"{ended} while rank {rank} ran: {why} (see {log}); {AGAIN}")
        raise SetupError(HOSTS, f"{ended} before rank {rank} had started (see {log})", _try(command))

    def command(self, rank: int) -> tuple[str, ...]:
        """Of the machine of a rank; () is this one."""
        return self._hosts.of(rank, self._count)[0]

    def _started(self, rank: int) -> bool:
        return (self._folder / f"{_STARTED}{rank}").exists()


def _named(command: tuple[str, ...]) -> str:
    return f"`{shlex.join(command)}`" if command else "this machine"


def _try(command: tuple[str, ...]) -> str:
    if not command:
        return "see why, then start again"
    by_hand = shlex.join([*command, "ls", sys.prefix])
    return f"try it by hand: {by_hand}; HUSH_HOME and the installation have the same paths there"


INTERRUPTED = 130
"""A worker's exit status after it was asked to stop."""


def raise_failure(codes: Sequence[int | None], folder: Path, work_dir: Path, rendezvous: Rendezvous) -> None:
    """The cause, where several ranks failed: a refusal before a kill before the first other error. Ranks that could
    not meet may be the effect of a kill.

    Args:
        codes: exit statuses by rank; None of those that had to be killed.
        folder: where ranks left their `failure.RANK.json`. work_dir: where their logs are.

    Raises:
        InputError: a rank's refusal; a machine that did not begin its ranks. KeyboardInterrupt: all were asked to
            stop. RankFailed: anything else.
    """
    files = sorted(folder.glob("failure.*.json"), key=lambda path: path.stat().st_mtime_ns)
    failures = [(path.name.split(".")[1], json.loads(path.read_text())) for path in files]
    refusals = [InputError(*failure["input"]) for _, failure in failures if "input" in failure]
    for refusal in refusals:
        if refusal.where != INTERFACE:
            raise refusal
    for rank, code in enumerate(codes):
        if code is not None and code < 0 and code != -signal.SIGINT:
            name = signal.Signals(-code).name
            why = " (the kernel does this when memory runs out)" if name == "SIGKILL" else ""
            raise RankFailed(f"the process of rank {rank} was ended by {name}{why}; {AGAIN}")
    if INTERRUPTED in codes or -signal.SIGINT in codes:
        raise KeyboardInterrupt
    reported = {int(rank) for rank, _ in failures}
    for ended, code in enumerate(codes):
        if code and ended not in reported:
            rendezvous.lose(ended, code, work_dir / f"rank-{ended}.log")
    if refusals:
        raise refusals[0]
    rank, failure = failures[0] if failures else (next(i for i, c in enumerate(codes) if c), {})
    what = failure.get("what", f"exit status {codes[int(rank)]}")
    raise RankFailed(f"the process of rank {rank} failed: {what} (see {work_dir / f'rank-{rank}.log'})")
