"""The last net: how long the rules may look at one content.

Every expression takes time linear in the text, so a content that takes longer shows a fault of a rule. The scan
gives it up at the next value or line, and the content is left out of training, as all that was not scanned is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS, SECONDS_A_MB = 20.0, 20.0
"""Processor time of the thread that scans, for any content and for each MB of it."""
AGAIN = 0.05
"""The share of it for a content whose version before took too long."""
_THREAD = threading.local()


class TooSlow(Exception):
    """A content took too long."""


@contextmanager
def limited(size: int, share: float = 1.0) -> Iterator[None]:
    """Let `check` raise once the thread has worked for as long as a content of `size` bytes may take."""
    _THREAD.end = time.thread_time() + share * (SECONDS + SECONDS_A_MB * size / 1e6)
    try:
        yield
    finally:
        del _THREAD.end


def check() -> None:
    """Called by the rules at each line or value.

    Raises:
        TooSlow: the thread has worked for longer than `limited` allows.
    """
    end = getattr(_THREAD, "end", None)
    if end is not None and time.thread_time() > end:
        raise TooSlow
