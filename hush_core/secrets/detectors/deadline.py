"""The last net: how long the rules, and the search for values, may look at one content.

Every expression of ours takes time linear in the text, so a content that takes longer shows a fault of ours. The
pinned rules are not linear: one `BEGIN` line and 125,000 times `KEY-----` take them four minutes. So they have a
limit of their own, 250 times what httpie/cli's slowest file takes. A scan ends at the next value or line, and the
content is left out of training, as all that was not scanned is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SECONDS, SECONDS_A_MB = 20.0, 20.0
"""Processor time of the thread that scans, for any content and for each MB of it."""
PINNED_SECONDS, PINNED_SECONDS_A_MB = 0.25, 0.75
"""The same for one attempt of the pinned rules alone. Each content has two: in the first a rule may be compiled, as
happens when a text first has its words (40 times the time of a scan), or garbage be collected."""
AGAIN = 0.05
"""The share of it for a content whose version before took too long, and for several together."""
TOO_SLOW = "hush.too-slow"
"""In place of a rule or an encoding: a content was given up, and all of it is left out of training."""
_THREAD = threading.local()


class TooSlow(Exception):
    """A content took too long."""


@contextmanager
def limited(size: int, share: float = 1.0) -> Iterator[None]:
    """Let `check` raise once the thread has worked for as long as a content of `size` bytes may take."""
    seconds = share * (SECONDS + SECONDS_A_MB * size / 1e6)
    _THREAD.end, _THREAD.earliest = time.thread_time() + seconds, time.perf_counter() + seconds
    try:
        yield
    finally:
        del _THREAD.end, _THREAD.earliest


def check() -> None:
    """Called by the rules at each line or value, by the search at each text and place.

    Raises:
        TooSlow: the thread has worked for longer than `limited` allows.
    """
    # the clock on the wall, which is never behind, takes a tenth of the time
    earliest = getattr(_THREAD, "earliest", None)
    if earliest is not None and time.perf_counter() > earliest and time.thread_time() > _THREAD.end:
        raise TooSlow


def pinned(scan: Callable[..., Any], text: bytes) -> Any:
    """`scan(text)` of the pinned rules, with a limit where this thread has one.

    Raises:
        TooSlow: it took longer.
    """
    if getattr(_THREAD, "end", None) is None:
        return scan(text)
    limit = PINNED_SECONDS + PINNED_SECONDS_A_MB * len(text) / 1e6
    enough, slow = limit / 2, False
    while True:
        began = time.thread_time()
        try:
            return scan(text, timeout=limit)
        except TimeoutError:  # of the clock on the wall: on a busy machine it may hardly have begun
            if time.thread_time() - began <= enough:
                limit *= 2
            elif slow:
                raise TooSlow from None
            else:
                slow = True
