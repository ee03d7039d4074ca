"""Which machines the ranks of a run are started on: this one, or several that share the run's folder.

    Hosts.parse("here; ssh -o BatchMode=yes gpu2", "wg0")

A rank elsewhere is begun by a command (ssh, srun, ip netns exec) that hands its standard input on: its end is the
rank's end, as on this machine. What ranks send one another is not noised yet, so the interface is named, and has to
be one that nobody else can read.
"""

from __future__ import annotations

import shlex
import shutil
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from hush_core.errors import InputError

HERE = "here"
HOSTS, INTERFACE = "HUSH_HOSTS", "HUSH_INTERFACE"
"""Where users name them: what a refusal says is wrong."""


@dataclass(frozen=True)
class Hosts:
    """One command a machine, before which ranks are begun; () is this machine. `interface`: the network's name."""

    commands: tuple[tuple[str, ...], ...] = ((),)
    interface: str = "lo0" if sys.platform == "darwin" else "lo"

    @classmethod
    def parse(cls, hosts: str, interface: str) -> Hosts:
        """From two settings; both empty: this machine alone.

        Raises:
            InputError: they are nothing that can be.
        """
        if not hosts:
            return cls()
        try:
            words = [tuple(shlex.split(one)) for one in hosts.split(";")]
        except ValueError:
            words = [()]
        if not all(words):
            hint = "write here for this machine and a command for each other, as: here; ssh gpu2"
            raise InputError(HOSTS, "has an entry without a command", hint)
        if words[0] != (HERE,) or len({*words}) < len(words):
            raise InputError(
                HOSTS,
                "has to begin with this machine, and to name each machine once",
                "write here first: the first rank keeps the count of releases, and its progress is read here",
            )
        commands = tuple(() if one == (HERE,) else one for one in words)
        if len(commands) > 1 and not interface:
            raise InputError(
                INTERFACE,
                "is not set: the ranks send each other sums that are not noised yet",
                "name an interface that is encrypted or nobody else's, as wg0; all hosts call it so",
            )
        return cls(commands, interface or cls.interface)

    def of(self, rank: int, count: int) -> tuple[tuple[str, ...], int]:
        """(the command of a rank's machine, the rank's number there); neighbours are on one machine."""
        place = rank * len(self.commands) // count
        first = next(one for one in range(count) if one * len(self.commands) // count == place)
        return self.commands[place], rank - first

    def most_on_one(self, count: int) -> int:
        """How many of the ranks a machine has, at most."""
        return -(-count // len(self.commands))

    def check(self, processes: int) -> None:
        """Raises:
        InputError: fewer ranks than machines.
        """
        if processes < len(self.commands):
            raise InputError(
                "train.processes", f"are {processes}, and HUSH_HOSTS names {len(self.commands)} machines",
                "give each machine one process at least",
            )  # fmt: skip

    def check_here(self) -> None:
        """Raises:
        InputError: this machine has not the interface, or not a program that begins ranks elsewhere.
        """
        check_interface(self.interface)
        for command in filter(None, self.commands):
            if shutil.which(command[0]) is None:
                hint = "install it, or give its whole path"
                raise InputError(HOSTS, f"{command[0]} is no program of this machine", hint)


def check_interface(name: str) -> None:
    """Raises:
    InputError: this machine has no interface of that name.
    """
    known = [known for _, known in socket.if_nameindex()]
    if name not in known:
        raise InputError(
            INTERFACE,
            f"{name} is no interface of {socket.gethostname()}, which has {', '.join(known)}",
            "name one that all machines of HUSH_HOSTS have; they call it alike",
        )


def elsewhere(command: tuple[str, ...], environment: Mapping[str, str], own: list[str]) -> list[str]:
    """The whole command line of a rank on another machine; a shell there may read it once more.

    Raises:
        InputError: a path in it would be read otherwise.
    """
    given = ["env", *(f"{name}={value}" for name, value in environment.items()), *own]
    if any(shlex.quote(word) != word for word in given):
        raise InputError(
            HOSTS, "cannot be used with paths that hold spaces or characters of a shell",
            "give HUSH_HOME and the installation plain paths",
        )  # fmt: skip
    return [*command, *given]
