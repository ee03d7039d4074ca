"""The metrics of a worker at an address of this machine, for Prometheus; with a login.

>>> HUSH_HOME=~/.hush python -m flows.metrics 9464           # in a shell; `hush serve --metrics 9464` starts it

User and password are in HUSH_HOME/keys/metrics.login. This program imports neither torch, Prefect nor MLflow.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from hush_core.errors import InputError
from tasks.reachable import ask, orchestrator_login
from tasks.runtime.environment import Home, prepare_environment

FLOWS = ("train", "plan", "rehearse", "compare", "secrets", "review", "audit", "watch")
WAITING, RUNNING, PAUSED = ("SCHEDULED", "PENDING"), ("RUNNING", "CANCELLING"), ("PAUSED",)
FRESH = 60.0
"""Seconds since its last row for which a training counts as continuing."""


class WorkerMetrics(Collector):
    """Of one home and the orchestrator that PREFECT_API_URL names; none where that is not set.

    Nothing is counted in memory, so a restart loses nothing. Releases come from the ledgers of the store, the rate
    of rounds from the trainings' live metrics. Names of flows are published, never a secret's name or value."""

    def __init__(self, place: Home) -> None:
        self._place = place
        self._counted: dict[Path, tuple[int, int]] = {}
        self._one_asks = threading.Lock()

    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily(
            "hush_releases", "Noisy gradients released, of all runs that this home counts", self._releases()
        )
        rates = self._rates()
        yield GaugeMetricFamily("hush_trainings", "Trainings that run now", len(rates))
        yield GaugeMetricFamily(
            "hush_rounds_per_second", "Certified rounds a second, of all of them", sum(rates)
        )
        outbox = self._place.root / "outbox"
        waiting = sum(1 for _ in outbox.glob("decision-*.json")) if outbox.is_dir() else 0
        yield GaugeMetricFamily(
            "hush_webhook_waiting", "Promotions that the webhook has not taken yet", waiting
        )
        free = shutil.disk_usage(self._place.root).free
        yield GaugeMetricFamily("hush_disk_free_bytes", "Free on the disk of HUSH_HOME", free)
        yield from self._orchestrator()

    def _releases(self) -> int:
        """Lines of every ledger but their headers; a file that has not grown is not read again."""
        with self._one_asks:
            for file in (self._place.store / "work").glob("*/releases.jsonl"):
                with suppress(FileNotFoundError):  # it has just gone; its count stays
                    self._count_on(file)
            return sum(max(lines, 0) for _, lines in self._counted.values())

    def _count_on(self, file: Path) -> None:
        size = file.stat().st_size
        known, lines = self._counted.get(file, (0, -1))
        if size != known:
            with open(file, "rb") as ledger:
                ledger.seek(known if size > known else 0)
                lines = (lines if size > known else -1) + ledger.read(size - ledger.tell()).count(b"\n")
            self._counted[file] = (size, lines)

    def _rates(self) -> list[float]:
        found, now = [], time.time()
        live = self._place.store / "live"
        for file in live.glob("*.jsonl") if live.is_dir() else ():
            try:
                if now - file.stat().st_mtime > FRESH:
                    continue
                with open(file, "rb") as rows:
                    rows.seek(max(0, file.stat().st_size - 4096))
                    last = rows.read().splitlines()[-2:]
            except OSError:  # it has just been delivered
                continue
            found.append(max((_rate(line) for line in last), default=0.0))
        return found

    def _orchestrator(self) -> Iterator[Metric]:
        url = os.environ.get("PREFECT_API_URL")
        if not url:
            return
        runs = GaugeMetricFamily(
            "hush_flow_runs", "Runs that are due and wait, that are running, or that wait for a person",
            labels=("flow", "state"),
        )  # fmt: skip
        answers = 1
        try:
            for flow in FLOWS:
                for state, types in (("waiting", WAITING), ("running", RUNNING), ("paused", PAUSED)):
                    runs.add_metric((flow, state), _count(url, flow, types))
        except (InputError, ValueError, TypeError):
            answers = 0
        yield GaugeMetricFamily("hush_orchestrator_up", "Whether Prefect's server answers", answers)
        if answers:
            yield runs


def _rate(line: bytes) -> float:
    try:
        seconds = float(json.loads(line).get("seconds_a_round", 0.0))
    except (ValueError, AttributeError, TypeError):
        return 0.0
    return 1.0 / seconds if seconds > 0 else 0.0


def _count(url: str, flow: str, types: tuple[str, ...]) -> int:
    due: dict[str, Any] = {"state": {"type": {"any_": list(types)}}}
    if types == WAITING:  # a schedule makes its runs days ahead
        due["next_scheduled_start_time"] = {"before_": datetime.now(UTC).isoformat()}
    body = {"flow_runs": due, "flows": {"name": {"any_": [flow]}}}
    status, answer = ask("PREFECT_API_URL", f"{url.rstrip('/')}/flow_runs/count", orchestrator_login(), body)
    if status != 200:
        raise ValueError(f"status {status}")
    return int(json.loads(answer))


HOST = "127.0.0.1"
AT_ONCE = 8
"""Requests that are answered at a time; a further connection is closed."""
App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def guarded(app: App, login: str) -> App:
    """The same for requests with the right login; 401 for all others."""
    wanted = "Basic " + base64.b64encode(login.encode()).decode()

    def ask(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        given = environ.get("HTTP_AUTHORIZATION", "")
        if hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode()):
            return app(environ, start)
        start("401 Unauthorized", [("WWW-Authenticate", 'Basic realm="hush"'), ("Content-Length", "0")])
        return []

    return ask


class _Server(ThreadingMixIn, WSGIServer):
    """Who connects and says nothing takes no more than a few threads, and none for long."""

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._free = threading.BoundedSemaphore(AT_ONCE)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that was cut is no traceback of ours."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Quiet(WSGIRequestHandler):
    timeout = 10.0
    """Seconds for a request to come."""

    def log_message(self, *_: Any) -> None:
        """A line a scrape says nothing."""


def main(port: int) -> None:
    place = prepare_environment()
    registry = CollectorRegistry()
    registry.register(WorkerMetrics(place))
    app = guarded(make_wsgi_app(registry), place.login("metrics"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with make_server(HOST, port, app, server_class=_Server, handler_class=_Quiet) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]))
