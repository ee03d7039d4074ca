"""What a job's Prefect server and its ledger tell, asked from outside."""

import base64
import json
import urllib.error
import urllib.request
from contextlib import suppress

import psutil
from waiting import PATIENCE, until


def asked(api, path, body=None, login="", method=None):
    """What the REST interface at an address answers."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    if login:
        headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
    request = urllib.request.Request(f"{api}{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=PATIENCE) as told:
        return json.loads(told.read() or "null")


def call(job, path, body=None):
    def answer():
        try:
            return [asked(job.server["PREFECT_API_URL"], path, body)]
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


def open_runs(ask, kind):
    body = {kind: {"state": {"type": {"any_": ["RUNNING", "PENDING", "CANCELLING"]}}}}
    body["flows"] = {"name": {"any_": ["train"]}}  # a watch may be due
    return [run["name"] for run in ask(f"/{kind}/filter", body)]


def nothing_open(ask):
    """`ask(path, body)` gives an answer. Tasks tell their states by events, which the server writes down a moment
    later."""
    return open_runs(ask, "flow_runs") == open_runs(ask, "task_runs") == []
