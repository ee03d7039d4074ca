"""How the long steps tell how far they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")
EVERY = 2.0
"""Seconds after which who waits says that it still does."""

Progress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total); what it raises stops the step."""
Watch = Callable[[Mapping[str, Any]], None]
"""Called with each row of a training's log (`Fitted.log`) after its round; what it raises stops the training."""


def waited(future: Future[T], tick: Callable[[], object]) -> T:
    """The future's result; `tick` is called every two seconds until it is there."""
    while not wait([future], timeout=EVERY).done:
        tick()
    return future.result()


def beside(work: Callable[[], T], tick: Callable[[], object]) -> T:
    """What `work` gives in a thread of its own; `tick` is called every two seconds meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        return waited(pool.submit(work), tick)
