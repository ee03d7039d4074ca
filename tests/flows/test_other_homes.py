"""A second home on the same secrets, and a home restored from a backup that a run outlived: what each counts and
says. Real flows, a real SIGKILL, a real backup."""

import copy
import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from jobs import Job
from many_runs import branches, config_of, drawn, run_all
from orchestrator import servers_of
from waiting import PATIENCE, ended, until

from hush_core.certificate.recheck import posterior_of_runs
from hush_core.history.ledger import LEDGER, releases_in

pytestmark = pytest.mark.slow

PLANNED = 400


def at(job, home):
    """The same folder and repository under another HUSH_HOME."""
    other = copy.copy(job)
    other.home = home
    return other


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    job = Job(tmp_path_factory.mktemp("homes"), seed=37)
    branches(job, ("b0", "b1", "b2", "b3"))
    return job


@pytest.fixture(scope="module")
def added(job):
    """A run here, one of a second home that has this one's key, and one more here, which has added the second's."""
    second = at(job, job.folder / "second")
    job.hush("runs")  # makes the key
    shutil.copytree(job.home, second.home)
    (here,) = run_all(job, [(config_of(job, "here", "b0"), False)])
    (there,) = run_all(second, [(config_of(job, "there", "b1"), False)])
    package = next((second.home / "mlartifacts").rglob("MLmodel")).parent
    counted = job.hush("runs", "--add", package)
    (both,) = run_all(job, [(config_of(job, "both", "b2"), False)])
    return here, there, counted, both


@pytest.fixture(scope="module")
def restored(job, added):
    """A run is killed that released rounds after a backup was taken; what the restored home says and counts."""
    killed = config_of(job, "killed", "b3", rounds=PLANNED, checkpoint_every=1000)
    child = job.start("run", killed)
    for line in child.stdout:
        if f"train: 1 of {PLANNED}" in line:
            os.kill(child.pid, signal.SIGSTOP)
            break
    (ledger,) = (path for path in job.home.glob(f"store/work/*/{LEDGER}") if f"{PLANNED}" in path.read_text())
    job.hush("backup", job.folder / "backup")
    before = releases_in(ledger)
    os.kill(child.pid, signal.SIGCONT)
    until(lambda: releases_in(ledger) > before + 2, "more releases", child, pause=0.05)
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate(timeout=PATIENCE)
    for server in servers_of(job.home):
        ended(server)
    assert 0 < before < releases_in(ledger) < PLANNED
    again = at(job, job.folder / "again")
    said = again.hush("restore", job.folder / "backup")
    refused = again.hush("run", killed, status=2)
    counted = json.loads(again.hush("runs", "--json"))["result"]["runs"]
    (after,) = run_all(again, [(config_of(job, "after", "b2", 3), False)])
    return said, refused, counted, after


def earlier(run):
    return sorted(row["earlier_runs"] for row in run["rows"])


def test_a_second_home_counts_its_own_runs_alone_and_says_so(added):
    here, there, _, _ = added
    assert set(earlier(here)) == set(earlier(there)) == {0}
    says = "Runs of other stores are counted only where they were added to this one"
    assert says in Path(there["page"]).read_text()


def test_runs_of_a_second_home_count_once_they_are_added(added):
    here, there, counted, both = added
    assert "1 runs are counted from now on, 0 were already" in " ".join(counted.split())
    assert set(earlier(both)) == {2}
    runs = [drawn(Path(run["certificate_dir"])) for run in (here, there, both)]
    for row in both["rows"]:
        exact = posterior_of_runs([run[row["name"]] for run in runs], prior=row["prior"]).value
        assert exact * (1 - 1e-4) <= row["all_runs"] <= exact * 1.02


def test_what_a_killed_run_released_after_the_backup_counts_with_all_rounds_of_its_plan(restored):
    said, _, counted, after = restored
    assert "had not ended then: it counts with all its rounds, and releases no more" in said
    assert PLANNED in [run["released"] for run in counted]
    assert set(earlier(after)) == {4}


def test_that_run_is_not_made_again_in_the_restored_home(restored):
    refused = " ".join(restored[1].split())
    assert f"has spent all {PLANNED} certified rounds, and no checkpoint is left of them" in refused


def test_the_restored_home_says_what_it_cannot_count(restored):
    assert "promise nothing over all runs" in " ".join(restored[0].split())
