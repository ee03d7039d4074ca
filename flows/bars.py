"""Bars in a terminal: how far each stage is, its rate and the time left. Nothing where stderr is no terminal."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.text import Text
from rich.theme import Theme

from flows.output import OUTPUT
from hush_core.progress import PERCENT
from tasks.runtime.progress import A_LINE, SCREENS


@contextmanager
def bars() -> Iterator[None]:
    """While this lasts, every stage of `progress_log` has a bar in place of its log lines; other lines are printed
    above the bars."""
    if not sys.stderr.isatty() or OUTPUT.quiet:
        yield
        return
    screen = _Screen()
    SCREENS.append(screen)
    try:
        yield
    finally:
        SCREENS.remove(screen)
        screen.close()


class _Screen:
    """The bars, made when the first stage begins: Prefect has its handlers from the first flow on."""

    def __init__(self) -> None:
        self._bars: Bars | None = None
        self._handler: logging.Handler | None = None
        self._known: dict[str, TaskID] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        shown = self._bars or self._open()
        if stage not in self._known:
            self._known[stage] = shown.add_task(stage, total=total, completed=done)
        shown.update(self._known[stage], completed=done, total=total)
        if done >= total:
            shown.remove_task(self._known.pop(stage))

    def _open(self) -> Bars:
        found = (
            h
            for name in ("prefect", "hush", "")
            for h in logging.getLogger(name).handlers
            if hasattr(h, "console")
        )
        self._handler = next(found, None)
        if self._handler is not None:
            self._handler.addFilter(_is_no_line)
        console = getattr(self._handler, "console", None) or Console(stderr=True)
        console.push_theme(Theme())  # Prefect's own has no styles of bars
        self._bars = Bars(
            TextColumn("{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn(), _Rate(),
            TimeRemainingColumn(compact=True), transient=True,
            console=console,
        )  # fmt: skip
        self._bars.start()
        return self._bars

    def close(self) -> None:
        if self._handler is not None:
            self._handler.removeFilter(_is_no_line)
        if self._bars is not None:
            self._bars.stop()
            self._bars.console.pop_theme()


class _Rate(ProgressColumn):
    """Steps a second, or seconds a step."""

    def render(self, task: Task) -> Text:
        rate = task.finished_speed or task.speed
        if not rate or task.description.endswith(PERCENT):
            return Text("")
        return Text(f"{rate:.3g}/s" if rate >= 1 else f"{1 / rate:.3g} s each", style="progress.data.speed")


def _is_no_line(record: logging.LogRecord) -> bool:
    return not any(getattr(record, name, None) == value for name, value in A_LINE.items())
