"""A refusal of ours is one line in the logs of Prefect; a traceback is for what nobody foresaw."""

from __future__ import annotations

import logging

from hush_core.errors import HushError


class _OneLine(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HushError):
            record.exc_info, record.exc_text = None, None
            record.msg, record.args = f"{type(error).__name__}: {error}", ()
        return True


def one_line_refusals() -> None:
    """Shorten what Prefect's engine logs when a task or flow ends in a HushError."""
    for name in (
        "prefect",
        "prefect.flow_runs",
        "prefect.task_runs",
        "prefect.engine",
        "prefect.task_engine",
    ):
        logging.getLogger(name).addFilter(_OneLine())
