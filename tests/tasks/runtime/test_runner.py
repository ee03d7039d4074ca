"""HUSH_RUNNER, and the Dask cluster that hush begins by itself: who works, who may connect, who is let go."""

from __future__ import annotations

import os
import shutil
import signal
from importlib.util import find_spec

import psutil
import pytest
import warm
from fresh_process import environment as fresh

from hush_core.errors import InputError
from tasks.runtime import environment
from tasks.runtime.environment import home, runner

NO_DASK = find_spec("prefect_dask") is None
needs_dask = pytest.mark.skipif(NO_DASK, reason="the extra `dask` is not installed: pip install -e '.[dask]'")


def test_dask_that_is_not_installed_is_refused_with_its_mend(monkeypatch):
    monkeypatch.setattr(environment, "find_spec", lambda name: None)
    for chosen in ("dask", "tls://dask.example.com:8786"):
        monkeypatch.setenv("HUSH_RUNNER", chosen)
        with pytest.raises(InputError, match=r"not installed.*pip install .*hush-secrets\[dask\]"):
            runner()
    for chosen in ("", "threads"):
        monkeypatch.setenv("HUSH_RUNNER", chosen)
        assert runner() == "threads"


@needs_dask
def test_a_copy_of_the_home_is_refused_as_a_worker_and_a_home_of_its_own_is_not():
    from tasks.runtime.dask_workers import IDENTITY, MARK, PATH, Required

    ours = {"hush": "1", PATH: "/home", MARK: "the mark", IDENTITY: "the key"}
    apart = Required("mark", ours, apart=True)
    apart.check("worker", {**ours, PATH: "/other", MARK: "", IDENTITY: ""})
    apart.check("worker", {**ours, PATH: "/other", MARK: "", IDENTITY: "another key"})
    with pytest.raises(InputError, match="has a copy of this home, which counts for itself"):
        apart.check("worker", {**ours, PATH: "/other", MARK: ""})
    with pytest.raises(InputError, match="has another hush"):
        apart.check("worker", {**ours, MARK: "", IDENTITY: "", "hush": "2"})


@needs_dask
def test_a_cluster_of_ones_own(monkeypatch, prefect_harness, tmp_path):
    from on_cluster import spread

    monkeypatch.setenv("HUSH_RUNNER", "dask")
    (tmp_path / "shared").mkdir()
    monkeypatch.setenv("HUSH_STORE", f"file://{tmp_path}/shared")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    seen = spread(tmp_path)
    doubled, who = zip(*seen["many"], strict=True)
    assert doubled == tuple(range(0, 80, 2)), "in their order, whoever did them"
    assert who and os.getpid() not in who
    assert {pid for _, pid in seen["few"]} == {os.getpid()}, "too few to be worth a task"
    assert seen["address"].startswith("tls://127.0.0.1:") and seen["listens"] == {"127.0.0.1"}
    assert (tmp_path / "dismissed").read_text() == "FlowEnded"
    assert not [child for child in psutil.Process().children(recursive=True) if child.pid in who]


def test_a_worker_that_begins_removes_the_files_of_one_that_was_killed(tmp_path):
    given = fresh(tmp_path, PREFECT_API_URL="http://127.0.0.1:1/api", PYTHONPATH=warm.PATHS)
    begun = "import os, signal, tasks.runtime.dask_preload\n"
    killed = (
        "from tasks.ownership import temporary_folder as f; from tasks.runtime.environment import home as h\n"
        "(f(h(), h().store) / 'half').touch(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert warm.run("coded", [begun + killed], env=given).returncode == -signal.SIGKILL
    assert len(list((tmp_path / "store" / "tmp").glob("*/half"))) == 1
    assert warm.run("coded", [begun], env=given).returncode == 0
    assert not list((tmp_path / "store" / "tmp").iterdir()) and not list((tmp_path / "run").iterdir())


@needs_dask
def test_a_copy_of_the_home_is_told_from_it_by_a_new_file(tmp_path, monkeypatch):
    from tasks.runtime.dask_workers import facts_of_worker, new_mark

    monkeypatch.setenv("HUSH_HOME", str(tmp_path / "home"))
    home().create()
    shutil.copytree(tmp_path / "home", tmp_path / "copy")
    mark = new_mark()
    ours = facts_of_worker(mark)
    monkeypatch.setenv("HUSH_HOME", str(tmp_path / "copy"))
    theirs = facts_of_worker(mark) | {"HUSH_HOME": ours["HUSH_HOME"]}  # at the same path of another machine
    assert {name for name in ours if ours[name] != theirs[name]} == {"home than this one, perhaps a copy"}
