"""What Prefect is given of a flow run: its name, the task runner that HUSH_RUNNER names, and an ear for *Cancel*.

@flow(flow_run_name=named("train"), task_runner=ChosenRunner())
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prefect.runtime import flow_run
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from tasks.runtime.environment import runner


def named(flow: str, parameter: str = "config_file") -> Callable[[], str]:
    """For `flow_run_name`: `train company` of train("/etc/hush/company.yaml"); a model's URI is left whole."""

    def name() -> str:
        of = str(flow_run.parameters.get(parameter) or "")
        return f"{flow} {of if of.startswith('models:') else Path(of).stem}".strip()

    return name


class ChosenRunner(ThreadPoolTaskRunner[Any]):
    """What HUSH_RUNNER says when the flow starts; Prefect duplicates a flow's runner for each of its runs."""

    def duplicate(self) -> TaskRunner[Any]:  # type: ignore[override]
        chosen = runner()
        if chosen == "threads":
            return ThreadPoolTaskRunner(max_workers=os.cpu_count() or 1)
        from tasks.runtime.dask_cluster import dask_runner  # an optional extra

        return dask_runner(chosen)


PAUSE = 10.0
"""Seconds, as Prefect's own."""


def keep_listening() -> None:
    """Hear *Cancel* and *Suspend* in this process from now on, however long Prefect's server is away.

    Prefect's runner, and the process of a run, hear of both by a stream of events, and where that breaks they ask
    every ten seconds. After three questions in a row that nobody answered they stop asking for good: a quarter of
    an hour with the retries that hush sets. So they do after one answer that is no server's: the 404 or the login
    page of a proxy. Prefect has no setting for that but one that kills what runs. So here the loop that asks is
    begun again. Seen in Prefect 3.8.8. A worker of Prefect's own is another program: restart it after such an
    outage."""
    import httpx
    from prefect._internal import observers
    from prefect.exceptions import PrefectException

    ask = observers.critical_service_loop
    if hasattr(ask, "prefects_own"):
        return

    async def keep_asking(*given: Any, **named: Any) -> None:
        while True:
            try:
                return await ask(*given, **named)
            except RuntimeError as error:
                if "error threshold" not in str(error):  # what it says after three failures
                    raise
            except (httpx.HTTPStatusError, PrefectException, ValueError):  # ValueError: no JSON, or another's
                await asyncio.sleep(named.get("interval", PAUSE))

    keep_asking.prefects_own = ask  # type: ignore[attr-defined]
    observers.critical_service_loop = keep_asking
