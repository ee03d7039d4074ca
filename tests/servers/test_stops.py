"""A run that the orchestrator suspends, or whose server is stopped, ends as after Ctrl-C: with a checkpoint, and no
run that seems to go on for ever. Real processes: a Prefect server, `hush serve`, the job."""

import os
import signal
import subprocess
import sys
import urllib.error
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from jobs import Job
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
            until(lambda: nothing_open(job), "the end of all runs in the orchestrator")

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
            until(lambda: nothing_open(job), "the end of all runs in the orchestrator")

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
            until(lambda: nothing_open(job), "the end of all runs in the orchestrator")
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait(600)
