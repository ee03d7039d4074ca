"""How the long steps tell how far they are, and how far the job is that they are the stages of."""

from collections.abc import Callable, Mapping, Sequence
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


PERCENT = ", %"
"""Ends the name of a stage from 0 to 100."""


def in_percent(progress: Progress) -> Progress:
    """The same stages from 0 to 100: for totals that would tell of protected text (how many contents are equal)."""
    begun = set()

    def show(stage: str, done: int, total: int) -> None:
        first = stage not in begun
        begun.add(stage)
        progress(stage + PERCENT, 0 if first else 100 if done >= total else 100 * done // total, 100)

    return show


class WholeJob:
    """How much of a job is done, by the measured time of each of its stages.

    >>> job = WholeJob([("read", 1), ("train", 6), ("attack", 1), ("attack", 2)], now=0)
    >>> job.done("read", 1, 1), job.done("train", 3, 6), round(job.seconds_left(8))
    (0.1, 0.4, 12)
    >>> job.done("attack", 1, 1), job.done("attack", 0, 1)      # of the training, what was left was reused
    (0.7142857142857143, 0.7142857142857143)
    """

    def __init__(self, stages: Sequence[tuple[str, float]], now: float) -> None:
        """stages: name and time, in any unit, in the order of the job; a name may come again. now: in seconds."""
        self._stages, self._begun = list(stages), now
        self._at, self._part, self._worked = -1, 0.0, 0.0

    def done(self, stage: str, done: int, total: int) -> float:
        """The share of the whole that is done. A stage without a report takes no time; a stage that the job does
        not list is ignored."""
        part = done / max(1, total)
        if self._at < 0 or stage != self._stages[self._at][0] or part < self._part or self._part >= 1:
            later = (i for i, (name, _) in enumerate(self._stages) if i > self._at and name == stage)
            if (next_one := next(later, None)) is None:
                return self._share()
            if self._at >= 0:
                self._worked += self._stages[self._at][1] * self._part
            self._at = next_one
        self._part = part
        return self._share()

    def seconds_left(self, now: float) -> float | None:
        """At the pace so far; None before a fiftieth is done."""
        share = self._share()
        return (now - self._begun) * (1 - share) / share if share >= 0.02 else None

    def _share(self) -> float:
        if self._at < 0:
            return 0.0
        worked = self._worked + self._stages[self._at][1] * self._part
        left = self._stages[self._at][1] * (1 - self._part) + sum(t for _, t in self._stages[self._at + 1 :])
        return worked / (worked + left)
