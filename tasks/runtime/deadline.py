"""A limit of time for all of a piece of work: libraries limit each read, and the look-up of a name not at all. A
mount whose server is gone lets nobody go, not by Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from hush_core.errors import SetupError

Result = TypeVar("Result")


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """The result of `work`, or what it raised. Work that does not end in time is left in a thread that ends with
    the process. Raises TimeoutError: it has not ended in time."""
    done: list[Result] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        raise TimeoutError
    return done[0]


MOUNT_ANSWERS = 60.0
"""Seconds for which a mounted folder is waited for at the start of a command."""


def of_mount(where: str, call: Callable[[], Result]) -> Result:
    """What a call to a folder returns or raises, if it ends; `where`: who names the folder, and which. Raises
    SetupError: it has not ended in time."""
    try:
        return within(MOUNT_ANSWERS, call)
    except TimeoutError:
        what = f"has not answered for {MOUNT_ANSWERS:.0f} s, as a mount whose server is gone"
        raise SetupError(where, what, "see to its server, or mount it again") from None
