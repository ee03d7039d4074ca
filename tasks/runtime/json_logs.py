"""Log lines: a refusal of hush is one, and a traceback is for unforeseen errors (`one_line_errors`). For machines,
with HUSH_LOG_FORMAT=json, each record of Prefect's console is one JSON object on a line.

    {"time": "2026-11-23T02:00:07.123Z", "level": "INFO", "logger": "prefect.flow_runs", "message": "…", "run": "…"}

Prefect makes the handler, in every process that runs flows, as `environment.settings` names it. A refusal of hush
has its one line. Any other error is logged by its type and the places in the code, without its words: an error
about text may quote text.
"""

from __future__ import annotations

import json
import logging
import re
import traceback
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from hush_core.errors import HushError
from tasks.runtime.full_disk import is_full

if TYPE_CHECKING:
    from rich.console import Console


class _OneLine(logging.Filter):
    """The first record of an error has its text; those of the tasks and flows that it ends point there."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: HushError | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, HushError) and is_full(error):
            record.exc_info, record.exc_text = None, None
            record.msg, record.args = "the disk is full (%s)", (type(error).__name__,)
        elif isinstance(error, HushError):
            record.exc_info, record.exc_text = None, None
            text = "see above" if error is self._logged else str(error)
            record.msg, record.args = f"{type(error).__name__}: {text}", ()
            self._logged = error
        elif self._logged is not None:
            text, message = str(self._logged), record.getMessage()
            for form in (text, repr(text)[1:-1]):  # of several lines a state's `repr` has the second
                if form in message:
                    record.msg, record.args = message.replace(form, "see above"), ()
                    break
        return True


_SHORTEN = _OneLine()


def one_line_errors() -> None:
    """Shorten what Prefect's engine logs in this process when a task or flow ends in a HushError. May be called
    again."""
    for part in ("", ".flow_runs", ".task_runs", ".engine", ".task_engine"):
        logging.getLogger(f"prefect{part}").addFilter(_SHORTEN)


LEFT_OUT = "(left out: it may quote the data that caused it)"
KEPT = 16
"""Errors whose words are still left out of later lines, which repeat them as how a run ended."""
SHORTEST, LONGEST = 8, 2000
"""Characters of an error's words: shorter ones occur in any line by chance; after the longest the line ends."""
_NAMES = {"flow_run_name": "run", "flow_run_id": "run_id", "task_run_name": "step"}


class JsonLines(logging.StreamHandler[TextIO]):
    """In place of Prefect's console; `styles` are of that, and mean nothing here."""

    def __init__(self, stream: TextIO | None = None, styles: Any = None) -> None:
        super().__init__(stream)
        self._words: deque[frozenset[str]] = deque(maxlen=KEPT)
        self._quoted: re.Pattern[str] | None = None

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": when.replace("+00:00", "Z"), "level": record.levelname, "logger": record.name,
        }  # fmt: skip
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            self._leave_out(error)
            line["error"] = _error_fields(error, record.exc_info[2] if record.exc_info else None)
        line["message"] = self._message(record)
        for name, key in _NAMES.items():
            if (value := getattr(record, name, None)) is not None:
                line[key] = str(value)
        return json.dumps(line)

    def _message(self, record: logging.LogRecord) -> str:
        """What the record says, without the words of errors that it or an earlier one was about."""
        given = record.args.values() if isinstance(record.args, Mapping) else record.args or ()
        for one in given:
            if isinstance(one, BaseException):
                self._leave_out(one)
        message = record.getMessage()
        return self._quoted.sub(LEFT_OUT, message) if self._quoted else message

    def _leave_out(self, error: BaseException) -> None:
        """From now on: the words of the error, and of all that it came of."""
        if isinstance(error, HushError):
            return
        words = frozenset(form for one in _chain(error) for form in (str(one), repr(one)))
        words = frozenset(form for form in words if len(form.strip()) >= SHORTEST)
        if not words or words in self._words:
            return
        self._words.append(words)
        longest_first = sorted(frozenset().union(*self._words), key=len, reverse=True)
        self._quoted = re.compile("|".join(map(_however_quoted, longest_first)), re.DOTALL)


class ConsoleHandler(logging.Handler):
    """The same console for people, of a command that runs without Prefect; bars share its `console`."""

    @cached_property
    def console(self) -> Console:
        from rich.console import Console

        return Console(stderr=True)

    def emit(self, record: logging.LogRecord) -> None:
        when = datetime.fromtimestamp(record.created).strftime("%H:%M:%S.%f")[:-3]
        step = getattr(record, "task_run_name", "hush")
        line = f"{when} | {record.levelname:<7} | {step} - {record.getMessage()}"
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


def _error_fields(error: BaseException, trace: TracebackType | None) -> dict[str, Any]:
    if isinstance(error, HushError):
        return {"type": type(error).__name__, "message": str(error)}
    places = traceback.extract_tb(trace)[-8:]
    at = [f"{Path(place.filename).name}:{place.lineno} {place.name}" for place in places]
    return {"type": type(error).__name__, "at": at}


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and every other that it came of, holds or was made from; refusals of hush quote nothing."""
    seen, ahead = set(), [error]
    while ahead:
        one = ahead.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if not isinstance(one, HushError):
            yield one
        held = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        came_of = (one.__cause__, one.__context__, *held, *one.args)
        ahead += [other for other in came_of if isinstance(other, BaseException)]


def _however_quoted(words: str) -> str:
    """A pattern for the words as they are, and as in the `repr` of a text, or in the `repr` of that."""
    single = re.sub(r"\\+", r"\\", words[:LONGEST])  # a run of backslashes is longer in each `repr`
    pattern = "".join(map(_character, single))
    return pattern + ".*" if len(words) > LONGEST else pattern


def _character(one: str) -> str:
    if one == "\\":
        return r"\\+"
    if one in "'\"":
        return r"\\*" + one
    if one.isprintable():
        return re.escape(one)
    return rf"(?:{re.escape(one)}|\\+{re.escape(repr(one)[2:-1])})"
