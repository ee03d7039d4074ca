"""The Prefect server that a command starts for itself where none is set up, out of reach of what ends the command.

With it everything begins that a flow needs: what killed runs left is swept, and this one's are marked as ours.

A terminal sends Ctrl-C to every process of the command, and `timeout` its SIGTERM. A server that took it would be
gone before the flow has said how it ended: the flow waits for it for minutes, and its run stays "Running" in the
database for good. So it leads a process group of its own, and ends when the command does, by `kill -9`, too
(`tied`). What it says goes to HUSH_HOME/prefect/server.log.
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prefect import tags
from prefect.client.orchestration import get_client
from prefect.settings import get_current_settings

from tasks.leftovers import owner_tag, sweep_if_it_can
from tasks.ownership import note_server
from tasks.runtime.empty_database import begin_database
from tasks.runtime.environment import home
from tasks.runtime.tied import tied

MOST_LOG = 1 << 20


_held: list[socket.socket] = []


def hold_port(server: Any) -> int:
    """A port for Prefect's server that no other command chooses while this process lives.

    Prefect's own choice is free when it is made and taken seconds later. Two commands that start together could
    choose the same one of its 1,000 ports, and one of them would then use the server of the other.
    """
    while True:
        port = random.choice(server._port_range)
        name = socket.socket(socket.AF_UNIX)
        try:
            name.bind(f"\0port of a hush command {port}")  # goes with this process, leaves no file
        except OSError:
            name.close()
            continue
        _held.append(name)
        if server.is_port_available(port):
            return port


def start_server() -> None:
    """Start it, unless there is one to use; it ends with this process. Called in the main thread, once.

    Flow runs from here on have this process's tag from their first moment.
    """
    if not get_current_settings().api.url:  # Prefect is about to load it
        begin_database(get_current_settings().home)
        import prefect.server.api.server as ephemeral

        ephemeral.SubprocessASGIServer.find_available_port = hold_port
    with _own_group(), get_client(sync_client=True):
        pass
    begun = sys.modules.get("prefect.server.api.server")  # Prefect loads it only to begin a server
    for server in begun.SubprocessASGIServer._instances.values() if begun else ():
        if server.server_process is not None:
            note_server(home(), server.server_process.pid)
    sweep_if_it_can(home())
    tags(owner_tag(home())).__enter__()  # for the rest of this process


@contextmanager
def _own_group() -> Iterator[None]:
    """Prefect begins its server by `subprocess.Popen`; in here, in a process group of its own."""
    begin = subprocess.Popen.__init__
    path = home().prefect / "server.log"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if os.fstat(log).st_size > MOST_LOG:
        os.ftruncate(log, 0)

    def alone(self: Any, args: Any, **options: Any) -> None:
        begin(self, tied(args), **{"process_group": 0, "stdout": log, "stderr": log, **options})

    subprocess.Popen.__init__ = alone  # type: ignore[method-assign]
    try:
        yield
    finally:
        os.close(log)
        subprocess.Popen.__init__ = begin  # type: ignore[method-assign]
