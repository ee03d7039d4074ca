"""Whether the ranks of a run have met: before that nothing is released, and nobody is waited for long.

A rank says that its machine has begun it by a file in the run's private folder; the first one informs its parent
when all are joined. A machine that never begins its ranks, or is not reached over the interface, ends the run in a
line.
"""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

from hush_core.errors import HushError, SetupError
from hush_core.training.hosts import HOSTS, INTERFACE, Hosts

PATIENCE = 300.0
"""Seconds in which ranks on several machines have to meet; importing torch from a slow disk takes one of them."""
MET = "met"
"""What the first rank sends its parent then."""
_HERE = "begun."


def say_begun(folder: Path, rank: int) -> None:
    """Leave word that a rank runs, on whichever machine."""
    (folder / f"{_HERE}{rank}").touch(mode=0o600)


REACH = "see that it is up, and that each machine reaches the others' addresses on it, at any port"
AGAIN = "start again: training continues from the last checkpoint"


class RankFailed(HushError, RuntimeError):
    """A process of the run failed or was killed."""


class Meeting:
    """The parent's view of it."""

    def __init__(self, folder: Path, count: int, hosts: Hosts) -> None:
        self.over = False
        self._folder, self._count, self._hosts = folder, count, hosts
        self._until = time.monotonic() + PATIENCE

    def check(self) -> None:
        """Raises:
        SetupError: it takes too long: says which machine has not begun, or that they do not reach one another.
        """
        if self.over or len(self._hosts.commands) == 1 or time.monotonic() < self._until:
            return
        waited = f"within {PATIENCE:.0f} s"
        absent = [rank for rank in range(self._count) if not self._begun(rank)]
        if absent:
            rank = next(filter(self.command, absent), absent[0])  # this machine's may just be slow
            command = self.command(rank)
            what = f"{_named(command)} has not begun rank {rank} {waited}"
            raise SetupError(HOSTS, what, _try(command))
        raise SetupError(
            INTERFACE,
            f"all ranks have begun, and do not meet over {self._hosts.interface} {waited}",
            REACH,
        )

    def lose(self, rank: int, status: int, log: Path) -> None:
        """Name the machine of a rank that ended without a word of its own; nothing to say of one on this machine.

        Raises:
            SetupError: it had not begun. RankFailed: it had.
        """
        command = self.command(rank)
        if not command:
            return
        ended = f"{_named(command)} ended with status {status}"
        if self.over or self._begun(rank):
            why = "killed there, or the connection was lost"
            raise RankFailed(f"{ended} amid rank {rank}: {why} (see {log}); {AGAIN}")
        raise SetupError(HOSTS, f"{ended} before rank {rank} had begun (see {log})", _try(command))

    def command(self, rank: int) -> tuple[str, ...]:
        """Of the machine of a rank; () is this one."""
        return self._hosts.of(rank, self._count)[0]

    def _begun(self, rank: int) -> bool:
        return (self._folder / f"{_HERE}{rank}").exists()


def _named(command: tuple[str, ...]) -> str:
    return f"`{shlex.join(command)}`" if command else "this machine"


def _try(command: tuple[str, ...]) -> str:
    if not command:
        return "see why, then start again"
    by_hand = shlex.join([*command, "ls", sys.prefix])
    return f"try it by hand: {by_hand}; HUSH_HOME and the installation have the same paths there"
