"""*Cancel* and *Suspend* are heard however long Prefect's server was away.

Prefect's runner, and the process of a run, hear of both by a stream of events, and where that breaks they ask
every ten seconds. After three questions in a row that nobody answered they stop asking for good, and go on
deaf: a quarter of an hour with the retries that hush sets (PREFECT_CLIENT_MAX_RETRIES). Prefect has no setting
for that but one that kills what runs. So here the loop that asks is begun again.

Seen in Prefect 3.8.8, `prefect._internal.observers`. A worker of Prefect's own (`prefect worker start`) is another
program: after such an outage it must be restarted (docs/runbook.md).
"""

from __future__ import annotations

from typing import Any


def keep_listening() -> None:
    """In this process, from now on; once is enough."""
    from prefect._internal import observers

    ask = observers.critical_service_loop
    if hasattr(ask, "prefects_own"):
        return

    async def asked_for_good(*given: Any, **named: Any) -> None:
        while True:
            try:
                return await ask(*given, **named)
            except RuntimeError as error:
                if "error threshold" not in str(
                    error
                ):  # what it says after three failures, and waits in between
                    raise

    asked_for_good.prefects_own = ask  # type: ignore[attr-defined]
    observers.critical_service_loop = asked_for_good
