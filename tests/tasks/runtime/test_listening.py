"""A runner's observer of *Cancel*, with a real client: the server is away for longer than Prefect asks."""

import asyncio
import json
import uuid
from types import SimpleNamespace

import pytest
from local_servers import serving
from prefect._internal import observers
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from waiting import PATIENCE

from tasks.runtime.flow_runs import keep_listening

RUN = uuid.uuid4()
CANCELLING = {
    "id": str(RUN), "flow_id": str(uuid.uuid4()), "name": "a run", "state_type": "CANCELLING",
    "state": {"id": str(uuid.uuid4()), "type": "CANCELLING", "name": "Cancelling",
              "timestamp": "2026-11-23T00:00:00+00:00"},
}  # fmt: skip


@pytest.fixture
def busy():
    """A server behind a proxy that answers for it so many times, `left`; then: cancel the run."""
    said = SimpleNamespace(left=0, status=504, page=None)

    def answer(request):
        if request.command == "GET":  # the stream of events, and the server's version: there is none
            return 404, b"", {}
        said.left -= 1
        away = said.left >= 0
        body = said.page if away and said.page else json.dumps([CANCELLING]).encode()
        return said.status if away else 200, body, {"Content-Type": "application/json"}

    with (
        serving(answer) as address,
        temporary_settings({PREFECT_API_URL: f"{address}/api", PREFECT_CLIENT_MAX_RETRIES: 0}),
    ):
        yield said


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
def test_it_hears_after_an_outage_that_ends_prefects_own_asking(busy, monkeypatch, status, page):
    busy.left, busy.status, busy.page = 20, status, page
    ask = observers.critical_service_loop  # another test of this process may have begun a runner
    monkeypatch.setattr(observers, "critical_service_loop", getattr(ask, "prefects_own", ask))
    told, deaf = asyncio.run(heard())
    assert deaf and not told, "Prefect asks on by itself: keep_listening is not needed any more"
    keep_listening()
    keep_listening()
    busy.left = 20
    told, deaf = asyncio.run(heard())
    assert told == RUN and not deaf
