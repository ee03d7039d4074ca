"""The task runner that HUSH_RUNNER names (`runner`).

@flow(task_runner=ChosenRunner())
"""

from __future__ import annotations

import os
from typing import Any

from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from tasks.runtime.environment import runner


class ChosenRunner(ThreadPoolTaskRunner[Any]):
    """What HUSH_RUNNER says when the flow starts; Prefect duplicates a flow's runner for each of its runs."""

    def duplicate(self) -> TaskRunner[Any]:  # type: ignore[override]
        chosen = runner()
        if chosen == "threads":
            return ThreadPoolTaskRunner(max_workers=os.cpu_count() or 1)
        from tasks.runtime.dask_cluster import dask_runner  # an optional extra

        return dask_runner(chosen)
