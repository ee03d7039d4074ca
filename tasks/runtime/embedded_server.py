"""The Prefect server that a command starts for itself where none is set up, out of reach of Ctrl-C.

With it everything begins that a flow needs: what killed runs left is swept, and this one's are marked as ours.

A terminal sends Ctrl-C to every process of the command. A server that took it would be gone before the flow has
said how it ended: the flow waits for it, and its run stays "Running" in the database for good.
"""

from __future__ import annotations

import logging
import signal
import sys

from prefect import tags
from prefect.client.orchestration import get_client

from tasks.leftovers import owner_tag, sweep
from tasks.ownership import note_server
from tasks.runtime.environment import home


def start_server() -> None:
    """Start it, unless there is one to use; it ends with this process. Called in the main thread, once.

    Flow runs from here on have this process's tag from their first moment. A process inherits which signals are
    blocked, and the server unblocks none.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with get_client(sync_client=True):
            pass
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    begun = sys.modules.get("prefect.server.api.server")  # Prefect loads it only to begin a server
    for server in begun.SubprocessASGIServer._instances.values() if begun else ():
        if server.server_process is not None:
            note_server(home(), server.server_process.pid)
    try:
        sweep(home())
    except Exception as error:  # never in the way of the work; the next start tries again
        kind = type(error).__name__
        logging.getLogger("prefect").warning("what killed runs left could not be closed (%s)", kind)
    tags(owner_tag(home())).__enter__()  # for the rest of this process
