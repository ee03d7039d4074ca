"""The Prefect server that a command starts for itself where none is set up, out of reach of Ctrl-C.

A terminal sends Ctrl-C to every process of the command. A server that took it would be gone before the flow has
said how it ended: the flow waits for it, and its run stays "Running" in the database for good.
"""

from __future__ import annotations

import signal

from prefect.client.orchestration import get_client


def start_server() -> None:
    """Start it, unless there is one to use; it ends with this process. Called in the main thread.

    A process inherits which signals are blocked, and the server unblocks none.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with get_client(sync_client=True):
            pass
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
