"""*Cancel* and *Suspend* are heard however long Prefect's server was away.

Prefect's runner, and the process of a run, hear of both by a stream of events, and where that breaks they ask
every ten seconds. After three questions in a row that nobody answered they stop asking for good, and continue
deaf: a quarter of an hour with the retries that hush sets (PREFECT_CLIENT_MAX_RETRIES). One answer that is no
server's ends it at once: the 404, the login page or the 200 of a proxy whose server is away. Prefect has no
setting for that but one that kills what runs. So here the loop that asks is begun again.

Seen in Prefect 3.8.8, `prefect._internal.observers`. A worker of Prefect's own (`prefect worker start`) is another
program: after such an outage it must be restarted (docs/running.md).
"""

from __future__ import annotations

import asyncio
from typing import Any

PAUSE = 10.0
"""Seconds, as Prefect's own."""


def keep_listening() -> None:
    """In this process, from now on; once is enough."""
    import httpx
    from prefect._internal import observers
    from prefect.exceptions import PrefectException

    ask = observers.critical_service_loop
    if hasattr(ask, "prefects_own"):
        return

    async def asked_for_good(*given: Any, **named: Any) -> None:
        while True:
            try:
                return await ask(*given, **named)
            except RuntimeError as error:
                if "error threshold" not in str(error):  # what it says after three failures
                    raise
            except (httpx.HTTPStatusError, PrefectException, ValueError):  # ValueError: no JSON, or another's
                await asyncio.sleep(named.get("interval", PAUSE))

    asked_for_good.prefects_own = ask  # type: ignore[attr-defined]
    observers.critical_service_loop = asked_for_good
