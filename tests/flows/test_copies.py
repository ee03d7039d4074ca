"""Two runs at once on one store, two copies of it, and a history that was pushed over: each run is counted, or said
to be missing. Real flows, a real repository and a real registry."""

import copy
import os
import shutil
import signal

import polars as pl
import pytest
from jobs import Job, git
from many_runs import branches, config_of, run_all
from waiting import PATIENCE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    job = Job(tmp_path_factory.mktemp("copies"), seed=31)
    repository = job.folder / "repository"
    (repository / "trading" / "other.py").write_text("OTHER = 1\n" * 20)
    branches(job, ("b0", "b1", "b2"))
    return job


def of(run, start):
    """The earlier runs of the secrets whose name begins so."""
    return sorted(row["earlier_runs"] for row in run["rows"] if row["name"].startswith(start))


@pytest.fixture(scope="module")
def at_once(job):
    """A run that stands still after its first release, while another one of its home is made."""
    slow = job.start("run", config_of(job, "slow", "b0", rounds=30))
    for line in slow.stdout:
        if "train: 1 of 30" in line:
            os.kill(slow.pid, signal.SIGSTOP)
            break
    try:
        (first,) = run_all(job, [(config_of(job, "first", "b0"), False)])
    finally:
        os.kill(slow.pid, signal.SIGCONT)
        said, _ = slow.communicate(timeout=PATIENCE)
    assert slow.returncode == 0, said[-3000:]
    return first


@pytest.fixture(scope="module")
def copied(job, at_once):
    """The home is copied; both make the run of one config, the copy one more; both have one registry."""
    other = copy.copy(job)
    other.home = job.folder / "copy"
    shutil.copytree(job.home, other.home)
    other.server = {"MLFLOW_TRACKING_URI": f"sqlite:///{job.home / 'mlflow.db'}"}
    second, third = config_of(job, "second", "b1"), config_of(job, "third", "b2")
    here = run_all(job, [(second, False)])
    there = run_all(other, [(second, False), (third, False), ("models:/job/4", ""), ("models:/job/5", "")])
    return here, there


@pytest.fixture(scope="module")
def pushed_over(job, copied):
    """The copy's runs are added here; then two histories without a commit in common with those before."""
    added = job.hush("runs", "--add", "models:/job/5")
    repository = job.folder / "repository"
    for branch, gone in (("f1", ["trading/strategy.py", "deploy"]), ("f2", [])):
        git(repository, "checkout", "-q", "--orphan", branch, "b1")
        if gone:
            git(repository, "rm", "-q", "-r", "-f", *gone)
        git(repository, "commit", "-q", "-m", f"history as of {branch}")
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "branch", "-D", "main", "b0", "b1", "b2")
    git(repository, "gc", "-q", "--prune=now")
    return added, run_all(job, [(config_of(job, branch, branch), False) for branch in ("f1", "f2")])


def test_two_runs_at_once_on_one_store_each_count_the_other(job, at_once):
    assert of(at_once, "alpha") == [1] == of(at_once, "creds/")
    tables = (job.home / "mlartifacts").rglob("certificate/bounds.parquet")
    tables = sorted(tables, key=lambda path: path.stat().st_mtime)
    assert pl.read_parquet(tables[-1])["earlier_runs"].to_list() == [1, 1], "the one that ended last"


def test_what_two_copies_made_of_one_config_are_two_runs_and_the_registry_shows_that_one_is_missing(copied):
    (here,), (same, after, verified_same, verified_after) = copied
    assert of(here, "alpha") == of(same, "alpha") == [2] and of(after, "alpha") == [3]
    assert here["model_uri"] == "models:/job/3" and same["model_uri"] == "models:/job/4"
    for verified in (verified_same, verified_after):
        assert "models:/job/3" not in verified[0] and "is not counted (`hush runs --add`" in verified[0]
        assert "is not counted" in verified[1], "a review must refuse it too"


def test_the_runs_of_a_copy_are_counted_once_they_are_added(pushed_over):
    assert "2 runs are counted from now on, 2 were already" in " ".join(pushed_over[0].split())


def test_a_history_that_was_pushed_over_hides_no_run(pushed_over):
    """`creds` is gone from the first of the two, and the other file of `alpha` is still there."""
    gone, back = pushed_over[1]
    assert of(gone, "alpha") == [5] and of(gone, "creds/") == []
    assert of(back, "alpha") == [6] and of(back, "creds/") == [5]
