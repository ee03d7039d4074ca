"""A HUSH_HOME whose databases have their tables, with compiled rules: made once a test run, copied for every job.

The migrations of Prefect and MLflow take ten seconds of CPU in an empty home, the rules for credentials four. A
user's first command does both, and so does `test_main_job` (and what tests the servers); the other jobs begin where
that command ended.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

SHARED = "TESTS_SHARED"
"""In the environment: a folder of this test run, the same for all its workers."""


def share() -> tempfile.TemporaryDirectory | None:
    """In the first process of a test run, whose workers inherit the folder. Keep the value: it goes with it."""
    if SHARED in os.environ:
        return None
    folder = tempfile.TemporaryDirectory(prefix="hush-tests-shared-")
    os.environ[SHARED] = folder.name
    return folder


def copy_home(home: Path, make: Callable[[Path], None]) -> None:
    """Begin a home as the template is; `make(home)` makes that, in one process of the test run."""
    template = Path(os.environ[SHARED]) / "home"
    with open(Path(os.environ[SHARED]) / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (template / "mlflow.db").exists():
            shutil.rmtree(template, ignore_errors=True)
            make(template)
    home.mkdir(mode=0o700)
    for name in ("prefect", "store"):
        shutil.copytree(template / name, home / name)
    shutil.copy2(template / "mlflow.db", home / "mlflow.db")
    with sqlite3.connect(home / "mlflow.db") as tracker:
        ((old,),) = tracker.execute("SELECT artifact_location FROM experiments").fetchall()
        assert old.endswith("/mlartifacts/0"), old
        tracker.execute(
            "UPDATE experiments SET artifact_location = ?", (f"{(home / 'mlartifacts').as_uri()}/0",)
        )
