"""The worker of the containers: Prefect's own, for a process work pool, under a supervisor that ends its runs.

>>> python -m flows.worker hush-process      # in a shell; deploy/entrypoint.sh does it

A container ends with its first process, and everything in it is killed. Prefect's worker exits at once on SIGTERM
and leaves its runs. They would be killed during a round and stay "Running" for ever, which blocks the next
training. So SIGTERM (`docker compose stop`) ends the runs after their round, with a checkpoint, then the worker.
What a killed container left is closed before the next worker starts.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from flows.supervision import Children
from tasks.runtime.environment import home, prepare_environment


def work(pool: str) -> None:
    """Run a worker of the pool until SIGTERM or Ctrl-C; one that dies is started again. Raises HushError: it died
    too often."""
    prepare_environment()
    with Children() as children, suppress(KeyboardInterrupt):
        children.start(
            "worker", [sys.executable, "-m", "flows.worker", pool, "--alone"], dict(os.environ), first=True
        )
        children.wait()


def become_worker(pool: str) -> None:
    """Close what killed processes of this home left open, then be Prefect's worker. Never returns."""
    from flows.serve import AT_MOST
    from tasks.leftovers import sweep_if_it_can

    prepare_environment()
    sweep_if_it_can(home())
    options = ["--pool", pool, "--type", "process", "--limit", str(AT_MOST), "--with-healthcheck"]
    os.execv(sys.executable, [sys.executable, "-m", "prefect", "worker", "start", *options])


if __name__ == "__main__":
    (become_worker if sys.argv[2:] == ["--alone"] else work)(sys.argv[1])
