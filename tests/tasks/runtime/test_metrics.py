"""The worker's metrics: read by Prometheus' own parser, with a login, and wrong numbers would be seen."""

import base64
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from fresh_process import environment
from local_servers import free_port, serving, stop
from prometheus_client.parser import text_string_to_metric_families
from waiting import PATIENCE, until

from flows.metrics import AT_ONCE, WorkerMetrics
from tasks.runtime.environment import Home

LOGIN = "hush:passw0rd"
RUNS = {("train", "RUNNING"): 1, ("train", "SCHEDULED"): 3, ("review", "PAUSED"): 2}


@contextmanager
def orchestrator():
    """Prefect's count of runs, with a login; and what it was asked."""
    asked = []

    def answer(request):
        body = json.loads(request.body)
        asked.append(body)
        right = "Basic " + base64.b64encode(LOGIN.encode()).decode()
        (flow,), types = body["flows"]["name"]["any_"], body["flow_runs"]["state"]["type"]["any_"]
        count = sum(RUNS.get((flow, one), 0) for one in types)
        return 200 if request.headers["Authorization"] == right else 401, str(count).encode(), {}

    with serving(answer) as address:
        yield f"{address}/api", asked


@pytest.fixture
def place(tmp_path):
    home = Home(tmp_path / "home").create()
    for name, rounds in (("a", 5), ("b", 2)):
        (home.store / "work" / name).mkdir(parents=True)
        (home.store / "work" / name / "releases.jsonl").write_text(
            '{"header": 1}\n' + '{"round": 1}\n' * rounds
        )
    (home.store / "live").mkdir()
    row = {"step": 3, "time": 1, "public_loss": 7.0}
    rows = [json.dumps(row | more) for more in ({}, {"seconds_a_round": 0.25})]
    (home.store / "live" / "now.jsonl").write_text("\n".join(rows) + "\n")
    (home.store / "live" / "old.jsonl").write_text("\n".join(rows) + "\n")
    os.utime(home.store / "live" / "old.jsonl", (time.time() - 3600, time.time() - 3600))
    (home.root / "outbox").mkdir()
    (home.root / "outbox" / "decision-1.json").write_text("{}")
    return home


def numbers(families):
    return {(s.name, *sorted(s.labels.values())): s.value for family in families for s in family.samples}


def test_each_number_is_what_the_files_and_the_orchestrator_say(place, monkeypatch):
    with orchestrator() as (url, asked):
        monkeypatch.setenv("PREFECT_API_URL", url)
        monkeypatch.setenv("PREFECT_API_AUTH_STRING", LOGIN)
        metrics = WorkerMetrics(place)
        found = numbers(metrics.collect())
        assert found["hush_releases_total",] == 7 and found["hush_webhook_waiting",] == 1
        assert found["hush_trainings",] == 1 and found["hush_rounds_per_second",] == 4.0
        assert found["hush_disk_free_bytes",] > 0 and found["hush_orchestrator_up",] == 1
        assert found["hush_flow_runs", "train", "waiting"] == 3
        assert found["hush_flow_runs", "running", "train"] == 1
        assert found["hush_flow_runs", "paused", "review"] == 2
        due = [one["flow_runs"] for one in asked if "SCHEDULED" in one["flow_runs"]["state"]["type"]["any_"]]
        assert all("before_" in one["next_scheduled_start_time"] for one in due), "next week's are no queue"
        with open(place.store / "work" / "a" / "releases.jsonl", "a") as ledger:
            ledger.write('{"round": 2}\n' * 3)
        assert numbers(metrics.collect())["hush_releases_total",] == 10
        monkeypatch.setenv("PREFECT_API_AUTH_STRING", "hush:wrong")
        found = numbers(metrics.collect())
        assert found["hush_orchestrator_up",] == 0 and not any(name[0] == "hush_flow_runs" for name in found)
    monkeypatch.delenv("PREFECT_API_URL")
    assert ("hush_orchestrator_up",) not in numbers(metrics.collect())


def test_a_ledger_that_goes_away_stays_counted_and_two_monitors_count_in_turn(place, monkeypatch):
    metrics, real = WorkerMetrics(place), WorkerMetrics._count_on
    assert metrics._releases() == 7

    def gone(self, file):
        file.unlink()
        return real(self, file)

    with monkeypatch.context() as patched:
        patched.setattr(WorkerMetrics, "_count_on", gone)
        assert metrics._releases() == 7
    asked, lock = threading.Event(), metrics._one_asks

    class Watched:
        def __enter__(self):
            asked.set()
            lock.acquire()

        def __exit__(self, *_):
            lock.release()

    metrics._one_asks = Watched()
    with lock:
        second = threading.Thread(target=metrics._releases)
        second.start()
        until(lambda: asked.is_set() or not second.is_alive(), "the second monitor")
        assert asked.is_set(), "it changes what the first one sums"
    second.join(PATIENCE)
    assert not second.is_alive()


def test_a_monitor_with_the_login_reads_it_and_nobody_else(place):
    port = free_port()
    child = subprocess.Popen(
        [sys.executable, "-m", "flows.metrics", str(port)],
        env=environment(place.root),
        start_new_session=True,
    )
    url = f"http://127.0.0.1:{port}/metrics"

    def read(login):
        token = base64.b64encode(login.encode()).decode()
        request = urllib.request.Request(url, headers={"Authorization": f"Basic {token}"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read().decode()

    try:
        until(lambda: _listens(url), url, pause=0.1)
        for wrong in ("hush:", "hush:" + "0" * 32):
            with pytest.raises(urllib.error.HTTPError, match="401"):
                read(wrong)
        found = numbers(text_string_to_metric_families(read(place.login("metrics"))))
        assert found["hush_releases_total",] == 7
        silent, threads = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)], []
        silent[-1].setblocking(False)

        def dealt_with():
            threads.append(len(os.listdir(f"/proc/{child.pid}/task")))
            with suppress(BlockingIOError):
                return silent[-1].recv(1) == b""

        until(dealt_with, "the end of the last connection", child, pause=0.05)
        assert max(threads) <= 2 * AT_ONCE, "anybody on the machine takes a thread by a connection"
        for one in silent:
            one.close()
        until(lambda: _read(read, place), "an answer after them", pause=0.2)
        loaded = Path(f"/proc/{child.pid}/maps").read_text()
        assert "libtorch" not in loaded, "it takes a worker's memory"
    finally:
        stop(child)


def _read(read, place):
    try:
        return read(place.login("metrics"))
    except OSError:
        return None


def test_one_that_says_nothing_is_let_go(place, monkeypatch):
    from flows import metrics

    monkeypatch.setattr(metrics._Quiet, "timeout", 0.3)
    app = metrics.guarded(lambda environ, start: [], LOGIN)
    with metrics.make_server("127.0.0.1", 0, app, metrics._Server, metrics._Quiet) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with socket.create_connection(server.server_address, timeout=PATIENCE) as silent:
            assert silent.recv(1) == b"", "it was kept"
        server.shutdown()


def _listens(url):
    try:
        urllib.request.urlopen(url, timeout=600)
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
