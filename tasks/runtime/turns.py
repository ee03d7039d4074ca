"""Whose turn it is: threads that each do a job of their own, of which one at a time works in this process.

Loading a model sets switches of the whole process (transformers makes it empty first, under a default device), so
two threads must not. What takes long is training, in a process of its own: who waits for it gives the turn away.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_TURN = threading.Lock()
_HELD = threading.local()


@contextmanager
def own_turn() -> Iterator[None]:
    """Held while a thread works."""
    with _TURN:
        _HELD.here = True
        try:
            yield
        finally:
            _HELD.here = False


@contextmanager
def turn_given_away() -> Iterator[None]:
    """For a wait: others work meanwhile. Nothing where this thread took no turn."""
    if not getattr(_HELD, "here", False):
        yield
        return
    _TURN.release()
    try:
        yield
    finally:
        _TURN.acquire()
