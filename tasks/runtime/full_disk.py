"""Whether an error is a full disk, for a file, SQLite below MLflow, or the Prefect server."""

from __future__ import annotations

import errno
import shutil

from tasks.runtime.environment import home

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MESSAGES = ("No space left on device", "disk is full", "Disk quota exceeded")
"""How those say it whose errors are no OSError with its number: SQLite, polars, safetensors, a copied folder."""
NOTHING_LEFT = 1 << 20
"""Bytes free under HUSH_HOME below which another error is put down to it: a server that can write no more answers
with one of its own."""


def no_retries() -> None:
    """From now on this process asks Prefect's server once, where it would ask for four minutes: the server's
    database is usually on the full disk too."""
    from prefect.settings import get_current_settings

    get_current_settings().client.max_retries = 0


def is_full(error: BaseException | None) -> bool:
    """Whether the error, or one that it came of, says so; or nothing is left under HUSH_HOME."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        if any(text in str(error) for text in MESSAGES):
            return True
        error = getattr(error, "orig", None) or error.__cause__ or error.__context__
    try:
        return shutil.disk_usage(home().root).free < NOTHING_LEFT
    except OSError:
        return False
