"""Log lines for machines: with HUSH_LOG_FORMAT=json, each record of Prefect's console is one JSON object on a line.

    {"time": "2026-11-23T02:00:07.123Z", "level": "INFO", "logger": "prefect.flow_runs", "message": "…", "run": "…"}

Prefect makes the handler, in every process that runs flows, as `environment.settings` names it. A refusal of hush
has its one line. Of any other error the type and the places in the code are told and not its words, which may quote
what it stumbled over: an error about text quotes text.
"""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from hush_core.errors import HushError

LEFT_OUT = "(not told: it may quote what it stumbled over)"
KEPT = 16
"""Errors whose words are still left out of later lines, which repeat them as how a run ended."""
_NAMES = {"flow_run_name": "run", "flow_run_id": "run_id", "task_run_name": "step"}


class JsonLines(logging.StreamHandler[TextIO]):
    """In place of Prefect's console; `styles` are of that, and mean nothing here."""

    def __init__(self, stream: TextIO | None = None, styles: Any = None) -> None:
        super().__init__(stream)
        self._words: list[str] = []

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": when.replace("+00:00", "Z"), "level": record.levelname, "logger": record.name,
        }  # fmt: skip
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            line["error"] = self._told(error, record.exc_info[2] if record.exc_info else None)
        message = record.getMessage()
        for words in self._words:
            message = message.replace(words, LEFT_OUT)
        line["message"] = message
        for name, key in _NAMES.items():
            if (value := getattr(record, name, None)) is not None:
                line[key] = str(value)
        return json.dumps(line)

    def _told(self, error: BaseException, trace: TracebackType | None) -> dict[str, Any]:
        if isinstance(error, HushError):
            return {"type": type(error).__name__, "message": str(error)}
        for one in (error, error.__cause__, error.__context__):
            self._words += [form for form in (str(one), repr(one)) if one is not None and form.strip()]
        self._words = sorted(set(self._words[-4 * KEPT :]), key=len, reverse=True)
        places = traceback.extract_tb(trace)[-8:]
        at = [f"{Path(place.filename).name}:{place.lineno} {place.name}" for place in places]
        return {"type": type(error).__name__, "at": at}
