"""What flows give to Prefect: what a run is called in its UI, and the task runner that HUSH_RUNNER names.

@flow(flow_run_name=named("train"), task_runner=ChosenRunner())
"""

from __future__ import annotations

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
