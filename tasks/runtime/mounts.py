"""Calls to a mounted folder, which may never return: a mount whose server is gone lets nobody go, not by Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hush_core.errors import SetupError
from tasks.runtime.deadline import within

MOUNT_ANSWERS = 60.0
"""Seconds for which a mounted folder is waited for at the start of a command."""

T = TypeVar("T")


def of_mount(where: str, call: Callable[[], T]) -> T:
    """What a call to a folder returns or raises, if it ends; `where`: who names the folder, and which. Raises
    SetupError: it has not ended in time."""
    try:
        return within(MOUNT_ANSWERS, call)
    except TimeoutError:
        what = f"has not answered for {MOUNT_ANSWERS:.0f} s, as a mount whose server is gone"
        raise SetupError(where, what, "see to its server, or mount it again") from None
