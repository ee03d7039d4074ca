"""The metrics of a worker at an address of this machine, for Prometheus; with a login.

>>> HUSH_HOME=~/.hush python -m flows.metrics 9464           # in a shell; `hush serve --metrics 9464` starts it

User and password are in HUSH_HOME/keys/metrics.login. This program imports neither torch, Prefect nor MLflow.
"""

from __future__ import annotations

import base64
import hmac
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

from tasks.runtime.environment import prepare_environment
from tasks.runtime.metrics import WorkerMetrics

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
