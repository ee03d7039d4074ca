"""`hush serve --with-servers`: what it starts answers, wants a login, and is gone when it ends."""

import base64
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from fresh_process import environment
from local_servers import free_port
from waiting import PATIENCE, until

from flows.check import check_config
from flows.serve import serve, supervisor
from hush_core.errors import InputError
from tasks.runtime.environment import Home

pytestmark = [pytest.mark.servers, pytest.mark.slow]
PROMISED = """\
version: 1
repos: [{{path: {folder}}}]
secrets: [{{id: a, kind: path, globs: ["a/**"], level: 1.0e-3, protect: noise}}]
promise: {{since: 2027-01-01, until: 2027-12-31, cron: "0 2 * * *", timezone: Europe/Berlin}}
train: {{rounds: 10, batch: 2}}
"""


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_local_stack_starts_and_ends_whole(tmp_path):
    prefect, mlflow = free_port(), free_port()
    ports = f"prefect_port={prefect}, mlflow_port={mlflow}"
    code = f"from flows.serve import serve; serve(None, with_servers=True, {ports})"
    home, log = tmp_path / "home", tmp_path / "log"
    with log.open("wb") as output:
        child = subprocess.Popen(
            [sys.executable, "-c", code], env=environment(home), stdout=output, stderr=output
        )
    try:
        url = f"http://127.0.0.1:{prefect}/api/deployments/name/watch/hush-watch"  # the last one
        login = home / "keys" / "prefect.login"
        until(lambda: (supervisor(Home(home)) or {}).get("ready"), f"that all has begun (see {log})", child)
        token = base64.b64encode(login.read_bytes()).decode()
        request = urllib.request.Request(url, headers={"Authorization": f"Basic {token}"})
        assert urllib.request.urlopen(request, timeout=PATIENCE).status == 200, "it says so too early"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(url, timeout=PATIENCE)
        assert urllib.request.urlopen(f"http://127.0.0.1:{mlflow}/health", timeout=PATIENCE).status == 200
        assert login.read_text() not in log.read_text()
        child.send_signal(signal.SIGTERM)
        child.wait(PATIENCE)
        assert not answers(prefect) and not answers(mlflow)
    finally:
        if child.poll() is None:
            child.kill()


def test_mistakes_are_told_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ.copy())  # what is prepared here must not reach other tests
    monkeypatch.setenv("HUSH_HOME", str(tmp_path))
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    job = tmp_path / "job.yaml"
    job.write_text(PROMISED.format(folder=tmp_path))
    for asked in ({"cron": "0 3 * * *"}, {"timezone": "UTC"}):
        with pytest.raises(InputError, match=r"promise\.(cron|timezone)"):
            serve(job, **asked)
    with pytest.raises(InputError, match="PREFECT_API_URL"):  # and not the schedule
        serve(job, cron="0 2 * * *")
    monkeypatch.setenv("HUSH_CRON", "0 4 * * *")
    with pytest.raises(InputError, match="HUSH_CRON.*promise.cron"):
        check_config(job)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="is taken"):
            serve(None, with_servers=True, prefect_port=taken.getsockname()[1])
        with pytest.raises(InputError, match="no metrics server"):  # before any other server begins
            serve(None, with_servers=True, metrics_port=taken.getsockname()[1])
