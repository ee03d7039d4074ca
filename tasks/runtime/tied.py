"""A child process that ends when its parent does, however that ends: `kill -9` and the kernel's OOM killer too.

>>> subprocess.Popen(tied(["prefect", "server", "start"]))        # doctest: +SKIP

The child itself asks the kernel (prctl, PR_SET_PDEATHSIG), in a program of a few lines that then becomes the
command. Between fork and exec of a process with threads nothing may take a lock, so it cannot be asked there. The
request is bound to the thread that starts the child, so start it from the main thread.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1


def tied(command: Sequence[str]) -> list[str]:
    """The same command, that gets SIGTERM when this process is gone."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def _become(parent: int, command: list[str]) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0):
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:  # it died before the request
        sys.exit(1)
    os.execvp(command[0], command)


if __name__ == "__main__":
    _become(int(sys.argv[1]), sys.argv[2:])
