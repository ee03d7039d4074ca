"""Progress of long steps as log lines: at most one every few seconds, and always the first and the last."""

from __future__ import annotations

import time

from prefect.logging import get_run_logger

from hush_core.progress import Progress

EVERY_SECONDS = 10.0


def progress_log() -> Progress:
    """A callback (stage, done, total) that writes to the run's log. Must be made inside a task or flow."""
    logger = get_run_logger()
    shown: dict[str, float] = {}

    def progress(stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage not in shown or done >= total or now - shown[stage] >= EVERY_SECONDS:
            shown[stage] = now
            logger.info("%s: %d of %d", stage, done, total)

    return progress
