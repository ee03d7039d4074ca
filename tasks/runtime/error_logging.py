"""A refusal of hush is one line in the logs of Prefect, once; a traceback is for unforeseen errors."""

from __future__ import annotations

import logging

from hush_core.errors import HushError
from tasks.runtime.full_disk import is_full


class _OneLine(logging.Filter):
    """The first record of an error has its text; those of the tasks and flows that it ends point there."""

    def __init__(self) -> None:
        super().__init__()
        self._told: HushError | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, HushError) and is_full(error):
            record.exc_info, record.exc_text = None, None
            record.msg, record.args = "the disk is full (%s)", (type(error).__name__,)
        elif isinstance(error, HushError):
            record.exc_info, record.exc_text = None, None
            text = "see above" if error is self._told else str(error)
            record.msg, record.args = f"{type(error).__name__}: {text}", ()
            self._told = error
        elif self._told is not None:
            text, message = str(self._told), record.getMessage()
            for form in (text, repr(text)[1:-1]):  # of several lines a state's `repr` has the second
                if form in message:
                    record.msg, record.args = message.replace(form, "see above"), ()
                    break
        return True


_SHORTEN = _OneLine()


def one_line_errors() -> None:
    """Shorten what Prefect's engine logs in this process when a task or flow ends in a HushError. May be called
    again."""
    for name in (
        "prefect",
        "prefect.flow_runs",
        "prefect.task_runs",
        "prefect.engine",
        "prefect.task_engine",
    ):
        logging.getLogger(name).addFilter(_SHORTEN)
