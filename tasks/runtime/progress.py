"""Progress of long steps as log lines, with rate and time left: at most one every few seconds, and always the first
and the last; and on whatever screen a command shows bars.

Between two lines a run that was suspended in the orchestrator's UI is stopped, as Ctrl-C would stop it: Prefect
itself looks only between two tasks, and the certified rounds are one of hours.
"""

from __future__ import annotations

import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable
from functools import wraps
from inspect import signature
from itertools import pairwise
from typing import ParamSpec, TypeVar

from hush_core.errors import HushError
from hush_core.progress import PERCENT, Progress, WholeJob
from tasks.runtime.full_disk import is_full, no_retries
from tasks.runtime.steps import STOPPING, run_logger

EVERY_SECONDS = 10.0
SCREENS: list[Progress] = []
"""Where a command shows bars; called at every step, so each has to be quick."""
WHOLE: list[WholeJob] = []
"""The job that all stages belong to, where its stages are known: at most one."""
A_LINE = {"hush_progress": True}
"""Marks these lines: a terminal with a bar leaves them out."""
P, R = ParamSpec("P"), TypeVar("R")


class Pace:
    """How fast a stage goes since it was first heard of, which may be amid it: a resumed run is not that fast."""

    def __init__(self, now: float, done: int) -> None:
        self._since, self._from = now, done

    def words(self, now: float, done: int, total: int, *, rated: bool = True) -> str:
        """` (rate, time left)`, the rate only of what is `rated`; empty before a second has passed, or a step."""
        taken, steps = now - self._since, done - self._from
        if taken < 1 or steps < 1:
            return ""
        rate = steps / taken
        each = f"{rate:.3g} a second" if rate >= 1 else f"{1 / rate:.3g} s each"
        left = "" if done >= total else f"{time_in_words((total - done) / rate)} left"
        parts = ", ".join(part for part in (each if rated else "", left) if part)
        return f" ({parts})" if parts else ""


class Lines:
    """How far each stage is, in a line: its first and its last state, and every ten seconds between. A stage that
    is over when it is first heard of has none."""

    def __init__(self) -> None:
        self._shown: dict[str, float] = {}
        self._paces: dict[str, Pace] = {}

    def of(self, now: float, stage: str, done: int, total: int) -> str:
        """Empty where nothing is to be done, and where the last line is not ten seconds old."""
        pace = self._paces.setdefault(stage, Pace(now, done))
        recent = stage in self._shown and now - self._shown[stage] < EVERY_SECONDS
        if not total or (recent and done < total) or (stage not in self._shown and done >= total):
            return ""
        self._shown[stage] = now
        if stage.endswith(PERCENT):
            return f"{stage.removesuffix(PERCENT)}: {done} %{pace.words(now, done, total, rated=False)}"
        return f"{stage}: {done} of {total}{pace.words(now, done, total)}"


def time_in_words(seconds: float) -> str:
    """In the two largest units.

    >>> time_in_words(42.3), time_in_words(200), time_in_words(7_500), time_in_words(200_000)
    ('42 s', '3 min 20 s', '2 h 5 min', '2 d 7 h')
    """
    whole = round(seconds)
    for unit, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part} {smaller}"
    return f"{whole} s"


def progress_log() -> Progress:
    """A callback (stage, done, total) that writes to the run's log. Must be made inside a task or flow.

    In the main thread it sends this process one SIGINT when the flow run is suspended: training ends after
    the round with a checkpoint, all else at once. `suspendable` then says why.
    """
    logger, lines = run_logger(), Lines()
    signalled = False

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal signalled
        if STOPPING.is_set():
            raise KeyboardInterrupt
        _refuse_if_ended()
        main = threading.current_thread() is threading.main_thread()
        if not signalled and main and suspended():
            signalled = True
            signal.raise_signal(signal.SIGINT)
        for screen in SCREENS:
            screen(stage, done, total)
        now, of_all = time.monotonic(), ""
        for job in WHOLE:
            share, left = job.done(stage, done, total), job.seconds_left(now)
            for screen in SCREENS:
                screen("whole job" + PERCENT, int(100 * share), 100)
            if left is not None:
                of_all = f"; whole job {share:.0%}, about {time_in_words(left)} left"
        if line := lines.of(now, stage, done, total):
            logger.info("%s%s", line, of_all, extra=A_LINE)

    return progress


class FlowEnded(HushError):
    """The flow that asked a worker of a cluster for this has ended, or no longer waits for it."""


def _refuse_if_ended() -> None:
    """In a worker of a Dask cluster: end what nobody waits for. Dask cannot end a task that runs in a thread.
    Raises FlowEnded: the flow was cancelled, stopped or killed."""
    dask = sys.modules.get("distributed.worker")
    key = getattr(dask.thread_state, "key", None) if dask else None
    if key is None:
        return
    known = dask.get_worker().state.tasks.get(key)
    if known is None or known.state != "executing":
        raise FlowEnded("the flow that asked for this has ended; start it again, and it continues from here")


def suspended() -> bool:
    """Whether the flow run that this thread runs was suspended in the orchestrator's UI."""
    prefect = sys.modules.get("prefect.context")  # without it there is no run of Prefect's
    context = prefect.FlowRunContext.get() if prefect else None
    return context is not None and context.flow_run_suspension_request.is_requested()


def suspendable(function: Callable[P, R]) -> Callable[P, R]:
    """A flow's function whose run, when it was suspended and so stopped, ends as Prefect ends one: its state stays,
    and Resume starts it again. The task that was stopped has ended as crashed by then. On a full disk it ends soon.
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except KeyboardInterrupt:
            from prefect.context import FlowRunContext

            context = FlowRunContext.get()
            if context is not None:
                context.flow_run_suspension_request.raise_if_requested()
            raise
        except Exception as error:
            if is_full(error):
                no_retries()
            raise

    # Prefect checks a run's parameters against it, and would look for its names of types in this module
    run.__signature__ = signature(function, eval_str=True)  # type: ignore[attr-defined]
    return run


class TimedProgress:
    """The same callback, and the time between its calls."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._stamps = progress, list[float]()

    def __call__(self, stage: str, done: int, total: int) -> None:
        self._stamps.append(time.monotonic())
        self._progress(stage, done, total)

    def seconds_a_step(self) -> float | None:
        """The median time between two calls; None where there were no two."""
        taken = [b - a for a, b in pairwise(self._stamps)]
        return statistics.median(taken) if taken else None
