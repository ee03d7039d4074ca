"""The metrics of a worker at an address of this machine, for Prometheus; with a login.

>>> HUSH_HOME=~/.hush python -m flows.metrics 9464           # in a shell; `hush serve --metrics 9464` starts it

User and password are in HUSH_HOME/keys/metrics.login. This program imports neither torch, Prefect nor MLflow.
"""

from __future__ import annotations

import base64
import hmac
import signal
import sys
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app

from tasks.runtime.environment import prepare_environment
from tasks.runtime.metrics import WorkerMetrics

HOST = "127.0.0.1"
App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def guarded(app: App, login: str) -> App:
    """The same, for whoever knows the login; 401 for all others."""
    wanted = "Basic " + base64.b64encode(login.encode()).decode()

    def ask(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        given = environ.get("HTTP_AUTHORIZATION", "")
        if hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode()):
            return app(environ, start)
        start("401 Unauthorized", [("WWW-Authenticate", 'Basic realm="hush"'), ("Content-Length", "0")])
        return []

    return ask


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """A line a scrape says nothing."""


def main(port: int) -> None:
    """Serve until the process is ended."""
    place = prepare_environment()
    registry = CollectorRegistry()
    registry.register(WorkerMetrics(place))
    app = guarded(make_wsgi_app(registry), place.metrics_login())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with make_server(HOST, port, app, server_class=_Server, handler_class=_Quiet) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]))
