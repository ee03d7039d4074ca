"""Where a flow's parallel tasks run: threads of its process, or processes of a Dask cluster (`HUSH_RUNNER`).

`names.ChosenRunner` gives it to the flows. Results on a cluster are those in threads, to the byte: which process
computes a part changes nothing. docs/running.md says what runs where, and who can read what.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from hush_core.mapping import parts_by
from tasks.runtime.steps import STOPPING, Step, step

if TYPE_CHECKING:
    from prefect.futures import PrefectFuture

FEW = 8
"""Parts of a computation that are not worth the tenths of a second that a task costs."""
BATCHES = 4
"""Tasks a worker, so that one that has the short parts takes more of them."""
P, R = ParamSpec("P"), TypeVar("R")


def cluster() -> Any:
    """The Dask runner of the flow that runs here; None where tasks run in threads, and in the cluster's workers."""
    prefect = sys.modules.get("prefect.context")  # without it there is no run of Prefect's
    context = prefect.FlowRunContext.get() if prefect else None
    if context is None or context.detached or not hasattr(context.task_runner, "spreads"):
        return None
    return context.task_runner


def elsewhere(function: Step[P, R]) -> Callable[P, R]:
    """The task; on a cluster whose workers have this home one of them does it, and this thread gives its turn away
    meanwhile."""

    def submitted(*args: P.args, **kwargs: P.kwargs) -> R:
        with turn_given_away():
            return _result(function.submit(*args, **kwargs))

    found = cluster()
    return submitted if found is not None and found.with_home() else function


def _result(future: PrefectFuture[R]) -> R:
    """Wait in short turns: a thread that is asked to stop dismisses the worker, which then ends its task. Raises
    KeyboardInterrupt: it was asked to stop."""
    while not future.wrapped_future.done():
        if STOPPING.is_set():
            future.wrapped_future.cancel()
            raise KeyboardInterrupt
        time.sleep(0.1)
    return future.result()


def in_parts(function: Callable[P, R]) -> Callable[P, R]:
    """A task's function whose independent parts (`hush_core.mapping`) the flow's cluster does, where it has one."""

    @wraps(function)  # by closures that can be pickled: a task travels with those that it begins
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        found = cluster()
        if found is None:
            return function(*args, **kwargs)
        with parts_by(partial(_by_tasks, found.processes)):
            return function(*args, **kwargs)

    return run


def _by_tasks(processes: int, function: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
    if len(parts) < FEW:
        yield from map(function, parts)
        return
    count = min(len(parts), BATCHES * processes)  # dealt out like cards: neighbours take about as long
    running = [work_out.submit(Batch(function, parts[place::count])) for place in range(count)]
    with turn_given_away():
        done = [iter(_result(one)) for one in running]
    for place in range(len(parts)):
        yield next(done[place % count])


class Batch:
    """Some parts of a computation. No collection, as Prefect would look through one for futures."""

    def __init__(self, function: Callable[[Any], Any], parts: Sequence[Any]) -> None:
        self.function, self.parts = function, parts


@step(name="parts", persist_result=False)
def work_out(batch: Batch) -> list[Any]:
    """What the function gives for each part, in a worker."""
    return [batch.function(part) for part in batch.parts]


_TURN = threading.Lock()
"""Of threads that each do a job of their own, one at a time works in this process. Loading a model sets switches of
the whole process (transformers makes it empty first, under a default device). What takes long is training, in a
process of its own: who waits for it gives the turn away."""
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
