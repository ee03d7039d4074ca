"""A rank whose parent is killed before the first release: no other run is planned while it may still release."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import psutil
import pytest
import warm
from private_runs import tiny, uncertified
from waiting import PATIENCE, ended, until

from hush_core.config import TrainConfig
from hush_core.errors import InputError
from hush_core.history import RunHistory, RunText
from hush_core.training import save_model
from hush_core.training.job import Job
from hush_core.training.processes import fit_in_processes

KILLED, OTHER = "a" * 64, "b" * 64
ROUNDS = 9
TEXTS = [b"the quick", b"lazy dog", b"jumps over"]
WAITS = """\
import atexit
import os
import threading

atexit.register(threading.Event().wait)
write = os.write


def waits(file, data):
    if b'"release": 0' in bytes(data):
        open({gate!r}).read()
    return write(file, data)


os.write = waits
"""
"""Waits at a pipe before the line of the first release is written, until the process that opened it closes it.
Python's own end never comes, as where a library waits for a dead peer: a training process does without it."""


def a_run():
    edges = pl.DataFrame({"example_id": [0], "secret_id": [0]}, schema_overrides={"secret_id": pl.UInt32})
    row = (0, "path", "alpha", 1e-6, 1e-3)
    secrets = pl.DataFrame([row], schema=["secret_id", "kind", "name", "prior", "posterior"], orient="row")
    return RunText(TEXTS, np.full(3, 0.5), edges, secrets, 2.0, ROUNDS, "settings")


def history_in(folder):
    return RunHistory(folder / "store", key=b"k" * 32, identity="here")


def main(folder):
    """The parent, which is killed: a run of a promise."""
    history = history_in(folder)
    witness = history.note(KILLED, a_run())
    plan = uncertified(np.full(3, 0.5), 2.0, ROUNDS, 2)
    settings = TrainConfig(rounds=ROUNDS, batch=2, micro_batch=2)
    model, work = folder / "model", folder / "store" / "work" / KILLED
    save_model(tiny(), model)
    job = Job(plan, TEXTS, model, settings, None, work, folder / "out", witness=witness)
    with history.training(KILLED, a_run(), history.earlier(KILLED, a_run())) as lock:
        fit_in_processes(1, job, lock=lock)


def opened(gate):
    """The gate, once a rank waits there."""
    with suppress(OSError):
        return os.open(gate, os.O_WRONLY | os.O_NONBLOCK)


def test_a_promise_counts_what_a_rank_releases_that_outlives_its_killed_parent(tmp_path):
    """Else the other run's plan, made before that release, does not know of it."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "sitecustomize.py").write_text(WAITS.format(gate=str(gate)))
    given = os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), warm.PATHS))}
    here = Path(__file__).parent
    parent = warm.start("test_killed_parent", [str(tmp_path)], cwd=here, env=given, streams=(1, 2))
    go_on = until(lambda: opened(gate), "the moment before the first release", parent)
    (rank,) = psutil.Process(parent.pid).children()
    alive = os.open(f"/proc/{rank.pid}/fd/0", os.O_WRONLY)  # it does not see that its parent is gone
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait(PATIENCE)
    history = history_in(tmp_path)
    counted = history.earlier(OTHER, a_run())
    try:
        with (
            pytest.raises(InputError, match="another run is training"),
            history.training(OTHER, a_run(), counted),
        ):
            pass
    finally:
        os.close(go_on)
        ended(rank.pid)
        os.close(alive)
    now = history.earlier(OTHER, a_run())
    assert counted.counts.tolist() == [0]
    assert history.listed()["released"].to_list() == now.counts.tolist() == [1]
    with history.training(OTHER, a_run(), now):
        pass


if __name__ == "__main__":
    main(Path(sys.argv[1]))
