"""A database of Prefect's that has its tables and nothing in them: made once for a user, and every new home begins
with a copy.

Prefect's migrations take six seconds of processor time in an empty home. `flows.set_up` runs them in a folder of
its own and keeps the outcome in the user's cache, by the versions that made it. Without it the server migrates.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from hush_core.files import beside, new_file, sync, users_cache, write_whole

DIGEST_BYTES = 32


def make_empty() -> Path | None:
    """Have it in the user's cache; None where that cannot be trusted. Raises subprocess.CalledProcessError: Prefect
    could not make it."""
    file = _file()
    if file is None or _read(file) is not None:
        return file
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        command = [sys.executable, "-m", "prefect", "server", "database", "upgrade", "-y"]
        subprocess.run(
            command, env={**kept, "PREFECT_HOME": folder}, cwd=folder, check=True, capture_output=True
        )
        whole = Path(folder, "whole.db")
        with contextlib.closing(sqlite3.connect(Path(folder, "prefect.db"))) as database:
            database.execute("VACUUM INTO ?", (str(whole),))  # what the write-ahead log has, too
        data = whole.read_bytes()
    write_whole(file, hashlib.sha256(data).digest() + data)
    return file


def begin_database(place: Path) -> None:
    """Where PREFECT_HOME has no database yet, put a copy there; nothing where none is kept, or another is named."""
    target = place / "prefect.db"
    if any(place.glob("prefect.db*")):  # a log without its database would be played into ours
        return
    if any(name.startswith("PREFECT_") and "DATABASE" in name for name in os.environ):
        return
    file = _file()
    data = None if file is None else _read(file)
    if data is None:
        return
    part = beside(target)
    try:
        with new_file(part) as out:
            out.write(data)
        with contextlib.suppress(FileExistsError):  # another process was first
            os.link(part, target)
        sync(place)
    finally:
        part.unlink(missing_ok=True)


def _file() -> Path | None:
    folder = users_cache("databases")
    made = [f"{name} {version(name)}" for name in ("prefect", "sqlalchemy", "alembic", "aiosqlite")]
    name = hashlib.sha256(" ".join([*made, sqlite3.sqlite_version]).encode()).hexdigest()[:16]
    return None if folder is None else folder / f"prefect-{name}"


def _read(file: Path) -> bytes | None:
    """None without one, or for a damaged one."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    digest, database = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
    return database if hashlib.sha256(database).digest() == digest else None
