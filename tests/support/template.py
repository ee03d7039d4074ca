"""A HUSH_HOME whose databases have their tables, with compiled rules: made once a test run, copied for every job.

The migrations of Prefect and MLflow take ten seconds of CPU in an empty home, the rules for credentials four. A
user's first command does both, and so does `test_main_job` (and what tests the servers); the other jobs, and the
tests that need a tracker alone, begin where that command ended.
"""

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
    """Begin a home as the template is; `make(home)` makes that but for MLflow's database."""
    template = made_once("home", make)
    home.mkdir(mode=0o700)
    for name in ("prefect", "store"):
        shutil.copytree(template / name, home / name)
    copy_tracker(home / "mlflow.db")


def copy_tracker(database: Path, artifacts: str | None = None) -> None:
    """MLflow's database as its migrations leave it, for tests of what comes after them, unless there is one;
    artifacts: the URI of their folder, by default beside the database."""
    from tasks.runtime.tracking import make_database

    if database.exists():
        return
    shutil.copy2(made_once("mlflow.db", make_database), database)
    with sqlite3.connect(database) as tracker:
        ((old,),) = tracker.execute("SELECT artifact_location FROM experiments").fetchall()
        assert old.endswith("/mlartifacts/0"), old
        folder = artifacts or (database.parent / "mlartifacts").as_uri()
        tracker.execute("UPDATE experiments SET artifact_location = ?", (f"{folder}/0",))


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """What `make(path)` makes, in one process of the test run."""
    shared = Path(os.environ[SHARED])
    made, part = shared / name, shared / f"{name}.part"
    with open(shared / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(part, ignore_errors=True)
            part.unlink(missing_ok=True)
            make(part)
            part.rename(made)
    return made
