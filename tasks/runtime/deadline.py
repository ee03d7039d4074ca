"""Calls that may never return, and cannot be interrupted: those to a mounted folder whose server is gone.

>>> within(5.0, lambda: "an answer")
'an answer'
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, call: Callable[[], T]) -> T:
    """What the call returns or raises, made in a thread: the system does not let go of one that waits there.

    Raises:
        TimeoutError: it has not ended by then. Its thread is left behind, and does not outlive the process.
    """
    answers: list[T] = []
    errors: list[BaseException] = []

    def made() -> None:
        try:
            answers.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=made, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not answers:
        raise TimeoutError
    return answers[0]
