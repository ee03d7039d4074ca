"""A full disk is told in one line whoever meets it, and nothing else passes for one."""

import logging
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest
from fresh_process import environment
from small_disk import small_disk

from tasks.runtime import full_disk
from tasks.runtime.full_disk import is_full
from tasks.runtime.json_logs import _OneLine
from tasks.runtime.store import Store

WORK = """
from tasks.runtime.environment import prepare_environment
home = prepare_environment()
from flows.command_line import exit_status
from tasks.runtime.store import Store
store = Store(home.store)
with exit_status():
    store.put_bytes(b'x' * 100_000)
"""


def test_a_file_that_cannot_be_written_ends_a_command_in_one_line_and_leaves_no_half(tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    command = [sys.executable, "-B", "-c", WORK]
    run = {"env": environment(tmp_path / "home"), "capture_output": True, "text": True, "timeout": 120}
    done = subprocess.run(command, preexec_fn=limit, **run)
    told = [line for line in done.stderr.splitlines() if "INFO" not in line]
    assert done.returncode == 1 and told == [
        "hush: the disk is full; free some, and start the same command again"
    ]
    left = [p for p in (tmp_path / "home").rglob("*") if p.is_file() and p.parent.name not in ("keys", "run")]
    assert left == []
    assert subprocess.run(command, **run).returncode == 0  # with room it goes on


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk", 6 << 10) as made:
        if made is None:
            pytest.skip("only root may mount a disk to fill")
        yield made.folder


def _frame(store, folder):
    import numpy as np
    import polars as pl

    store.put_frame(pl.DataFrame({"weight": np.random.default_rng(0).random(2_000_000)}))


def _directory(store, folder):
    (folder / "model").mkdir()
    for name in ("a", "b"):
        (folder / "model" / name).write_bytes(os.urandom(4 << 20))
    store.put_directory(folder / "model")


def _weights(store, folder):
    import torch
    from safetensors.torch import save_file

    save_file({"w": torch.zeros(2_000_000)}, store.root / "model.safetensors")


@pytest.mark.parametrize("write", [_frame, _directory, _weights])
def test_whoever_writes_to_a_full_disk_it_is_told_and_what_was_begun_goes(disk, tmp_path, write):
    """Once it is gone there is room again, and only the error itself still says what it was."""
    with pytest.raises(Exception) as caught:
        write(Store(disk), tmp_path)
    (disk / "model.safetensors").unlink(missing_ok=True)
    assert shutil.disk_usage(disk).free > full_disk.NOTHING_LEFT
    assert [p for p in disk.rglob("*") if p.is_file()] == []
    assert is_full(caught.value)


def test_what_came_of_a_full_database_is_told_and_other_errors_are_not(monkeypatch, tmp_path):
    monkeypatch.setenv("HUSH_HOME", str(tmp_path))
    database = sqlite3.connect(tmp_path / "small.db")
    database.execute("PRAGMA max_page_count = 1")
    try:
        try:
            database.execute("CREATE TABLE runs (id INTEGER)")
        except sqlite3.Error as inner:
            raise RuntimeError("the tracker failed") from inner
    except RuntimeError as error:
        caught = error
    assert is_full(caught)
    for other in (sqlite3.OperationalError("database is locked"), PermissionError(13, "no"), ValueError()):
        assert not is_full(other)
    record = logging.LogRecord("prefect", 40, "", 0, "bad", (), (type(caught), caught, None))
    assert _OneLine().filter(record) and record.getMessage() == "the disk is full (RuntimeError)"
    assert not record.exc_info
    monkeypatch.setattr(full_disk, "NOTHING_LEFT", 1 << 62)  # as if nothing were: a server answers otherwise
    assert is_full(ValueError("500 Internal Server Error"))
