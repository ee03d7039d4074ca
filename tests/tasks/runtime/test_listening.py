"""A runner's observer of *Cancel*, with a real client: the server is away for longer than Prefect asks."""

import asyncio
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from prefect._internal import observers
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from waiting import PATIENCE

from tasks.runtime.listening import keep_listening

RUN = uuid.uuid4()
CANCELLING = {
    "id": str(RUN), "flow_id": str(uuid.uuid4()), "name": "a run", "state_type": "CANCELLING",
    "state": {"id": str(uuid.uuid4()), "type": "CANCELLING", "name": "Cancelling",
              "timestamp": "2026-11-23T00:00:00+00:00"},
}  # fmt: skip


class Busy(BaseHTTPRequestHandler):
    """A server behind a proxy that answers for it so many times; then: cancel the run."""

    left, status, page = 0, 504, None

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).left -= 1
        away = self.left >= 0
        body = self.page if away and self.page else json.dumps([CANCELLING]).encode()
        self.send_response(self.status if away else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):  # the stream of events, and the server's version: there is none
        self.send_error(404)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    found = ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    with temporary_settings(
        {PREFECT_API_URL: f"http://127.0.0.1:{found.server_port}/api", PREFECT_CLIENT_MAX_RETRIES: 0}
    ):
        yield found
    found.shutdown()
    found.server_close()


async def heard():
    """The run that the observer was told to cancel, and None; or None, and the runs for which it gave up."""
    over = asyncio.get_running_loop().create_future()

    def ends(result):
        if not over.done():
            over.set_result(result)

    watching = observers.FlowRunCancellingObserver(
        on_cancelling=lambda run: ends((run, None)), on_failure=lambda runs: ends((None, runs)),
        polling_interval=0.02,
    )  # fmt: skip
    async with watching:
        watching.add_in_flight_flow_run_id(RUN)
        return await asyncio.wait_for(over, PATIENCE)


@pytest.mark.parametrize(("status", "page"), [(504, None), (401, None), (200, b"<p>soon back"), (200, b"{}")])
def test_it_hears_after_an_outage_that_ends_prefects_own_asking(server, monkeypatch, status, page):
    monkeypatch.setattr(Busy, "status", status)
    monkeypatch.setattr(Busy, "page", page)
    ask = observers.critical_service_loop  # another test of this process may have begun a runner
    monkeypatch.setattr(observers, "critical_service_loop", getattr(ask, "prefects_own", ask))
    Busy.left = 20
    told, deaf = asyncio.run(heard())
    assert deaf and not told, "Prefect asks on by itself: tasks/runtime/listening.py is not needed any more"
    keep_listening()
    keep_listening()
    Busy.left = 20
    told, deaf = asyncio.run(heard())
    assert told == RUN and not deaf
