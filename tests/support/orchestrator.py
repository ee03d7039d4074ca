"""What a job's Prefect server and its ledger tell, asked from outside."""

import json
import urllib.error
import urllib.request
from contextlib import suppress

import psutil
from waiting import PATIENCE, until


def call(job, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        job.server["PREFECT_API_URL"] + path, data, {"Content-Type": "application/json"}
    )

    def answer():
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as told:
                return [json.loads(told.read() or "null")]
        except urllib.error.HTTPError as error:
            if error.code != 503:  # its SQLite is busy
                raise

    return until(answer, f"an answer to {path}")[0]


def servers_of(home):
    """The numbers of the servers that commands on a home began for themselves."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if "uvicorn" in process.cmdline() and process.environ().get("HUSH_HOME") == str(home):
                yield process.pid


def released(job):
    """Rounds in the ledger of the one run that has begun."""
    return sum(len(file.read_bytes().splitlines()) - 1 for file in job.home.rglob("work/*/releases.jsonl"))


def open_runs(job, kind):
    body = {kind: {"state": {"type": {"any_": ["RUNNING", "PENDING", "CANCELLING"]}}}}
    body["flows"] = {"name": {"any_": ["train"]}}  # a watch may be due
    return [run["name"] for run in call(job, f"/{kind}/filter", body)]


def nothing_open(job):
    """Tasks tell their states by events, which the server writes down a moment later."""
    return open_runs(job, "flow_runs") == open_runs(job, "task_runs") == []
