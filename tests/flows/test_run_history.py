"""Runs are counted by secret over commits: the real flow, a real repository, a real SIGKILL."""

import os
import random
import signal
import string

import pytest
from jobs import Job, commit, git
from many_runs import config_of, run_all
from orchestrator import servers_of
from waiting import PATIENCE, ended

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What each run reported, in order; None for one that failed."""
    job = Job(tmp_path_factory.mktemp("runs"), seed=23)
    repository = job.folder / "repository"

    def config(name, rev, **more):
        return config_of(job, name, rev, **more)

    child = job.start("run", config("killed", "main", rounds=400))
    for line in child.stdout:
        if "train: 1 of 400" in line:
            os.killpg(child.pid, signal.SIGKILL)
            break
    child.communicate(timeout=PATIENCE)
    assert child.returncode == -signal.SIGKILL
    for server in servers_of(job.home):  # it goes when it sees that it is alone
        ended(server)

    commit(repository)  # the same text under another commit
    git(repository, "branch", "b1")
    git(repository, "mv", "trading", "trade")
    git(repository, "mv", "trade", "trading")
    git(repository, "mv", "deploy/config_0.py", "deploy/renamed.py")
    token = "ghp_" + "".join(random.Random(5).choices(string.ascii_letters + string.digits, k=36))
    commit(repository, {"deploy/new.py": f'TOKEN = "{token}"\nx = 2\n'})
    git(repository, "branch", "b2")
    order = [
        (config("same", "b1"), False),
        (config("fails", "b1", batch=5), True),
        (config("fails", "b1", batch=5), False),
        (config("next", "b2", alpha="beta"), False),
        (config("same", "b1"), False),
    ]
    return run_all(job, order)


def of(run, start):
    """The earlier runs of the secrets whose name begins so."""
    return sorted(row["earlier_runs"] for row in run["rows"] if row["name"].startswith(start))


def test_another_commit_of_the_same_text_counts_the_killed_run(told):
    same = told[0]
    assert of(same, "alpha") == [1] and of(same, "creds/") == [1]
    assert same["tags"]["runs_on_this_data"] == "2" and same["tags"]["secrets_trained_before"] == "2"
    says = "nothing is promised over all runs: an earlier run was planned otherwise"
    assert any(says in warning for warning in same["warnings"]) and same["description"].count(says) == 1
    headline = same["description"].splitlines()[0]  # as the page's verdict, and not "certified"
    assert "without a promise over all runs" in headline and "at most its target" not in headline


def test_the_noise_by_each_method_is_compared(told):
    assert list(told[0]["noise_by_method"]) == ["kl", "renyi", "blow_up"]


def test_a_failed_run_that_goes_on_does_not_count_itself(told):
    assert told[1] == "failed"
    assert of(told[2], "alpha") == [2] == of(told[2], "creds/")


def test_a_new_commit_with_a_renamed_file_and_a_renamed_entry_counts_and_a_new_secret_does_not(told):
    """The run that failed and went on is one run."""
    after = told[3]
    assert of(after, "beta") == [3] and of(after, "creds/") == [0, 3]
    assert after["tags"]["runs_on_this_data"] == "4" and after["tags"]["secrets_trained_before"] == "2"


def test_a_reused_run_says_what_it_said(told):
    assert told[4]["reused"] and told[4]["rows"] == told[0]["rows"]
