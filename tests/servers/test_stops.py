"""A run that is suspended, or whose server or container stops, ends with a checkpoint as after Ctrl-C; what one
killed container left open is closed by the next one."""

import os
import signal
import subprocess
import sys
import urllib.error
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import pytest
import yaml
from jobs import Job
from local_servers import ROOT, free_port
from orchestrator import call, nothing_open, released
from waiting import PATIENCE, ended, until

pytestmark = [pytest.mark.servers, pytest.mark.slow]

ROUNDS = 4000


def serve(job, log):
    environment = {**job.environment, "PREFECT_RUNNER_POLL_FREQUENCY": "2"}
    with open(log, "wb") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "flows.cli", "serve", str(job.config)], env=environment, stdout=output,
            stderr=output, cwd=job.folder, start_new_session=True,
        )  # fmt: skip

    def registered():
        assert child.poll() is None, Path(log).read_text()[-3000:]
        try:
            return call(job, "/deployments/name/train/hush-train")
        except urllib.error.HTTPError:
            return None

    return child, until(registered, "the deployments")["id"]


def test_suspended_resumed_cancelled_and_ended_with_its_server(tmp_path):
    job = Job(tmp_path, seed=43, empty=True)
    job.config = job.write(rounds=ROUNDS)

    def at_work():
        """The processes of runs."""
        found = []
        for process in psutil.Process(child.pid).children(recursive=True):
            with suppress(psutil.Error):  # it has just ended
                found += [process] * ("PREFECT__FLOW_RUN_ID" in process.environ())
        return found

    def goes_on_after(kept):
        return f"train: {kept + 1} of {ROUNDS}" in (tmp_path / "serve.log").read_text()

    with job.served(services=True):
        child, deployment = serve(job, tmp_path / "serve.log")
        try:
            run = call(job, f"/deployments/{deployment}/create_flow_run", {})["id"]
            until(lambda: released(job) >= 3, "the first rounds")
            suspended = {"type": "PAUSED", "name": "Suspended", "state_details": {"pause_reschedule": True}}
            assert call(job, f"/flow_runs/{run}/set_state", {"state": suspended})["status"] == "ACCEPT"
            until(lambda: "is paused" in (tmp_path / "serve.log").read_text(), "the word of its process")
            until(lambda: not at_work(), "the end of its process")
            kept = released(job)
            assert 3 <= kept < ROUNDS and list(job.home.rglob("checkpoint.pt"))
            assert call(job, f"/flow_runs/{run}")["state_name"] == "Suspended"
            until(lambda: nothing_open(partial(call, job)), "the end of all runs in the orchestrator")

            call(job, f"/flow_runs/{run}/resume", {})
            until(lambda: released(job) > kept, "further rounds")
            until(lambda: goes_on_after(kept), "the round after the last one")  # counted first, then told

            kept = released(job)
            cancelling = {"state": {"type": "CANCELLING", "name": "Cancelling"}}
            assert call(job, f"/flow_runs/{run}/set_state", cancelling)["status"] == "ACCEPT"
            # Prefect's engine may say CRASHED for the seconds until its runner has the last word
            until(lambda: call(job, f"/flow_runs/{run}")["state_type"] == "CANCELLED", "a cancelled run")
            until(lambda: not at_work(), "the end of its process")
            kept = released(job)
            assert kept < ROUNDS
            until(lambda: nothing_open(partial(call, job)), "the end of all runs in the orchestrator")

            call(job, f"/deployments/{deployment}/create_flow_run", {})
            until(
                lambda: released(job) > kept, "the rounds of a run that goes on where the cancelled one ended"
            )
            until(lambda: goes_on_after(kept), "the round after the last one")
            workers = at_work()
            child.send_signal(signal.SIGTERM)  # a supervisor stops `hush serve`
            assert child.wait(PATIENCE) == 130
            for one in workers:
                ended(one.pid)
            assert kept < released(job) < ROUNDS
            until(lambda: nothing_open(partial(call, job)), "the end of all runs in the orchestrator")
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait(600)


POOL = "hush-process"


def deployed(job, environment):
    """The id of the training that deploy/prefect.yaml describes, in the pool of the entry point."""
    described = yaml.safe_load((ROOT / "deploy" / "prefect.yaml").read_text())
    described["deployments"] = [d for d in described["deployments"] if d["name"] == "hush-train"]
    (job.folder / "prefect.yaml").write_text(yaml.safe_dump(described))
    call(job, "/work_pools/", {"name": POOL, "type": "process"})
    command = [sys.executable, "-m", *["prefect", "--no-prompt", "deploy", "--all", "--prefect-file"]]
    command += [str(job.folder / "prefect.yaml")]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return call(job, "/deployments/name/train/hush-train")["id"]


def kill(child):
    """A process and what descends from it, of whatever group: what dies with a container."""
    leader = psutil.Process(child.pid)
    for process in (leader, *leader.children(recursive=True)):
        with suppress(psutil.Error):
            process.kill()
    child.wait(600)


def test_it_ends_its_runs_with_a_checkpoint_and_closes_those_of_a_killed_one(tmp_path):
    job = Job(tmp_path, seed=47)
    job.config = job.write(rounds=ROUNDS)
    workers = []

    def state(run):
        return call(job, f"/flow_runs/{run}")["state_type"]

    def work():
        with open(tmp_path / "worker.log", "ab") as log:
            command = [sys.executable, "-m", "flows.worker", POOL]
            workers.append(
                subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
            )
        return workers[-1]

    def begin():
        kept = released(job)
        run = call(job, f"/deployments/{deployment}/create_flow_run", {})["id"]
        until(lambda: released(job) > kept, "the first rounds")
        return run

    with job.served(services=True):
        environment = {
            **job.environment, "HUSH_CODE": str(ROOT), "HUSH_CONFIG": str(job.config), "HUSH_CRON": "0 2 * * *",
            "HUSH_TIMEZONE": "UTC", "HUSH_OWN_SERVERS": "PREFECT_API_URL", "PREFECT_WORKER_QUERY_SECONDS": "2",
            "PREFECT_WORKER_WEBSERVER_PORT": str(free_port()),
        }  # fmt: skip
        deployment = deployed(job, environment)
        try:
            stopped, run = work(), begin()
            stopped.send_signal(signal.SIGTERM)
            assert stopped.wait(600) == 0
            assert list(job.home.rglob("checkpoint.pt")), "it was killed"
            until(lambda: nothing_open(partial(call, job)), "the end of all runs in the orchestrator")
            assert state(run) == "CRASHED"

            killed, run = work(), begin()
            kill(killed)
            assert state(run) == "RUNNING", "who should have told?"
            work()
            until(lambda: state(run) == "CRASHED", "the end of the killed one's run")
        finally:
            for child in workers:
                if child.poll() is None:
                    kill(child)
