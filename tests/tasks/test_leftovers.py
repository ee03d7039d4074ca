"""What a killed process left is closed and removed at the next start; what a living one does is not touched.

The processes are real, and so are the kills, the tracker and (in the last test) the command and the orchestrator.
"""

import json
import os
import signal
import sqlite3
import subprocess

import pytest
import warm
from fresh_process import environment, run
from jobs import Job
from orchestrator import servers_of
from template import copy_tracker
from waiting import PATIENCE, until

from tasks.leftovers import sweep
from tasks.ownership import dead_owners, process_start, token_of
from tasks.runtime.environment import Home

WORK = """
from tasks.runtime.environment import prepare_environment
home = prepare_environment()
import time
from hush_core.files import beside
from tasks.runtime.store import Store
from tasks.runtime.tracking import log_run

def files():
    print("inside", flush=True)
    time.sleep(3600)
    yield

with Store(home.store).scratch() as folder:
    open(folder + "/picture.png", "w").write("a picture")
    beside(home.store / "noted.json").write_text("half a")
    log_run(experiment="kills", run_name="one", params={}, metrics={}, files=files())
"""


AWAY = "http://127.0.0.1:9/api"
"""An orchestrator that would not answer."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A home that this process has too, with its own tracker; the orchestrator is one that would not answer."""
    import mlflow

    home = Home(tmp_path / "home").create()
    copy_tracker(home.mlflow_database)
    uri = f"sqlite:///{home.mlflow_database}"
    monkeypatch.setenv("HUSH_HOME", str(home.root))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.setenv("PREFECT_API_URL", AWAY)
    mlflow.set_tracking_uri(uri)
    return home


@pytest.fixture
def begin(place):
    """Start a process that works inside a tracker's run, with a picture in its temporary folder."""
    children = []

    def start():
        reading, writing = os.pipe()
        given = environment(place.root, PYTHONPATH=warm.PATHS, PREFECT_API_URL=AWAY)
        child = warm.start("coded", [WORK], cwd=place.root, env=given, streams=(writing, 2))
        os.close(writing)
        children.append(child)
        with open(reading) as said:
            assert said.readline() == "inside\n"
        return child

    yield start
    for child in children:
        kill(child)


def kill(child):
    if child.poll() is None:
        os.kill(child.pid, signal.SIGKILL)
    child.wait(PATIENCE)


def statuses(place):
    from mlflow import MlflowClient

    uri = f"sqlite:///{place.mlflow_database}"
    client = MlflowClient(uri, uri)
    ids = [e.experiment_id for e in client.search_experiments()]
    return sorted(run.info.status for run in client.search_runs(ids))


def pictures(place):
    return len(list((place.store / "tmp").rglob("*.png")))


def halves(place):
    return len(list(place.store.rglob(".noted.json.*")))


def test_a_killed_process_is_swept_and_a_living_one_is_not_touched(place, begin):
    killed, living = begin(), begin()
    kill(killed)
    assert statuses(place) == ["RUNNING", "RUNNING"] and pictures(place) == 2
    assert sweep(place) == 1
    assert statuses(place) == ["KILLED", "RUNNING"] and pictures(place) == 1
    assert halves(place) == 2, "one of them is being written"
    assert sweep(place) == 0 and living.poll() is None
    kill(living)
    assert sweep(place) == 1
    assert statuses(place) == ["KILLED", "KILLED"] and pictures(place) == 0 == halves(place)
    assert [path.stem for path in (place.root / "run").glob("*.json")] == [token_of(place)]


def test_a_process_that_ends_by_itself_leaves_nothing(place):
    code = WORK.replace("time.sleep(3600)", "return")
    done = warm.run("coded", [code], env=environment(place.root, PYTHONPATH=warm.PATHS))
    assert done.returncode == 0, done.stderr
    assert statuses(place) == ["FINISHED"] and sweep(place) == 0
    assert not list((place.root / "run").iterdir()) and not list((place.store / "tmp").iterdir())


@pytest.fixture(scope="module")
def dead(tmp_path_factory):
    """The record of a process that was killed."""
    home = tmp_path_factory.mktemp("dead") / "home"
    code = "from tasks.runtime.environment import home; from tasks.ownership import token_of; import os\n"
    code += "token_of(home().create()); os.kill(os.getpid(), 9)"
    done = run(code, home)
    assert done.returncode == -signal.SIGKILL
    (record,) = (home / "run").glob("*.json")
    return record


@pytest.fixture
def dead_record(place, dead):
    """Lays the record of a dead process, edited, into the home, with a picture in its temporary folder."""

    def lay(token=dead.stem, **changes):
        path = place.root / "run" / f"{token}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({**json.loads(dead.read_text()), "own": [], **changes}))
        (place.store / "tmp" / token).mkdir(parents=True)
        (place.store / "tmp" / token / "picture.png").touch()
        return path

    return lay


@pytest.mark.parametrize("changes", [{"host": "elsewhere.example.com"}, {"locked": False}])
def test_one_of_another_host_or_whose_lock_says_nothing_is_left_alone(place, dead_record, changes):
    dead_record(**changes)
    assert sweep(place) == 0 and pictures(place) == 1


def test_one_with_other_servers_waits_for_a_start_that_has_them(place, dead_record, monkeypatch):
    dead_record(own=["MLFLOW_TRACKING_URI"])
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    assert sweep(place) == 0 and pictures(place) == 1
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert sweep(place) == 1 and pictures(place) == 0


def test_a_number_that_another_process_has_by_now_does_not_pass_for_the_owner(place, dead_record):
    dead_record(pid=os.getpid())
    assert sweep(place) == 1 and pictures(place) == 0


def test_a_damaged_record_is_passed_over(place, dead_record):
    dead_record().write_text("{")
    dead_record("f" * 16).write_text("[1]")
    assert list(dead_owners(place)) == []


def test_only_the_very_server_that_it_began_is_ended(place, dead_record):
    other = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    dead_record(server=[other.pid, process_start(other.pid) - 1])  # the number, at another time
    assert sweep(place) == 1
    other.stdin.write(b"still there\n")
    other.stdin.flush()
    assert other.stdout.readline() == b"still there\n", "it was ended"
    dead_record(server=[other.pid, process_start(other.pid)])
    assert sweep(place) == 1 and other.wait(PATIENCE) == -signal.SIGTERM


def test_the_own_token_is_one_and_locked_in_sight_of_all(place):
    token = token_of(place)
    assert token_of(place) == token and list(dead_owners(place)) == []
    code = "from tasks.runtime.environment import home; from tasks.ownership import dead_owners as dead; "
    code += "print(list(dead(home())))"
    done = run(code, place.root)
    assert done.stdout == "[]\n", done.stderr


def states(job, table):
    with sqlite3.connect(f"file:{job.home}/prefect/prefect.db?mode=ro", uri=True) as database:
        return sorted(row[0] for row in database.execute(f"SELECT state_type FROM {table}"))


@pytest.mark.slow
def test_runs_killed_at_two_moments_do_not_stay_running_in_the_orchestrator(tmp_path):
    job = Job(tmp_path, seed=31)
    for moment in ("Beginning flow run", "read: "):
        child = job.start("run", job.config)
        seen = ""
        for line in child.stdout:
            seen += line
            if moment in line:
                break
        else:
            raise AssertionError(seen[-3000:])
        assert list(servers_of(job.home))
        os.kill(child.pid, signal.SIGKILL)  # of the command alone, in a group of its own
        child.wait()
        until(
            lambda: not list(servers_of(job.home)), "the end of its server"
        )  # and not when the next command starts
    assert "RUNNING" in states(job, "flow_run")
    job.hush("run", job.config)
    assert states(job, "flow_run") == ["COMPLETED", "CRASHED", "CRASHED"]
    assert not {"RUNNING", "PENDING"} & set(states(job, "task_run"))
    assert not list(servers_of(job.home)) and list((job.home / "run").glob("*.json")) == []


def test_a_run_that_a_form_began_logs_a_mistake_in_one_line_once(tmp_path):
    job = Job(tmp_path, seed=31)
    config = job.write("bad.yaml", text="version: 1\nreps: []\nsecrts: []\n")
    code = f"from flows.train import train\ntry:\n    train(config_file='{config}')\nexcept Exception: pass"
    with job.served():  # Prefect's engine imports the flow, and no command of hush
        said = run(code, job.home, **job.server).stderr
    assert said.count("unknown key reps") == 1 == said.count("unknown key secrts"), said
    assert "Traceback" not in said, said
