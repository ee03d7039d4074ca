"""`hush serve --with-servers`: what it starts answers, wants a login, and is gone when it ends."""

import base64
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from flows.check import check_config
from flows.serve import serve
from hush_core.errors import InputError

pytestmark = [pytest.mark.servers, pytest.mark.slow]
ROOT = Path(__file__).parents[2]


PROMISED = """\
version: 1
repos: [{{path: {folder}}}]
secrets: [{{id: a, kind: path, globs: ["a/**"], level: 1.0e-3}}]
promise: {{since: 2027-01-01, until: 2027-12-31, cron: "0 2 * * *", timezone: Europe/Berlin}}
train: {{rounds: 10, batch: 2}}
"""


def free_ports():
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return one.getsockname()[1], two.getsockname()[1]


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_local_stack_starts_and_ends_whole(tmp_path):
    prefect, mlflow = free_ports()
    ports = f"prefect_port={prefect}, mlflow_port={mlflow}"
    code = f"from flows.serve import serve; serve(None, with_servers=True, {ports})"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_", "HUSH_"))}
    home = tmp_path / "home"
    environment = {**kept, "HUSH_HOME": str(home), "PYTHONPATH": str(ROOT)}
    log = tmp_path / "log"
    with log.open("wb") as output:
        child = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=output, stderr=output)
    try:
        url = f"http://127.0.0.1:{prefect}/api/deployments/name/review/hush-review"
        deadline, found = time.monotonic() + 150, False
        while not found:
            assert child.poll() is None and time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.5)
            login = home / "keys" / "prefect.login"
            if not login.exists():
                continue
            token = base64.b64encode(login.read_bytes()).decode()
            try:
                request = urllib.request.Request(url, headers={"Authorization": f"Basic {token}"})
                found = urllib.request.urlopen(request, timeout=5).status == 200
            except OSError:
                continue
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(url, timeout=5)
        assert urllib.request.urlopen(f"http://127.0.0.1:{mlflow}/health", timeout=5).status == 200
        assert login.read_text() not in log.read_text()
        child.send_signal(signal.SIGTERM)
        child.wait(90)
        assert not answers(prefect) and not answers(mlflow)
    finally:
        if child.poll() is None:
            child.kill()


def test_mistakes_are_told_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ.copy())  # what is prepared here must not reach other tests
    monkeypatch.setenv("HUSH_HOME", str(tmp_path))
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    with pytest.raises(InputError, match="PREFECT_API_URL"):
        serve(None)
    with pytest.raises(InputError, match="timezone"):
        serve(None, timezone="Nowhere/Land", with_servers=True)
    for wrong in ("daily", "99 99 * * *", "0 0 30 2 *", "0 2 * *", "a b c d e"):
        with pytest.raises(InputError, match="--cron"):
            serve(None, cron=wrong, with_servers=True)
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
