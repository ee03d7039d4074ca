"""What a job's Prefect server and its ledger tell, asked from outside."""

import json
import time
import urllib.error
import urllib.request

from local_servers import PATIENCE


def call(job, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        job.server["PREFECT_API_URL"] + path, data, {"Content-Type": "application/json"}
    )
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or "null")
        except urllib.error.HTTPError as error:
            if error.code != 503 or time.monotonic() > deadline:  # its SQLite is busy
                raise
            time.sleep(0.5)


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
