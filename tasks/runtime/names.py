"""What a flow's run is called in the orchestrator's UI: the flow, and what it is of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from prefect.runtime import flow_run


def named(flow: str, parameter: str = "config_file") -> Callable[[], str]:
    """For `flow_run_name`: `train company` of train("/etc/hush/company.yaml"); a model's URI is left whole."""

    def name() -> str:
        of = str(flow_run.parameters.get(parameter) or "")
        return f"{flow} {of if of.startswith('models:') else Path(of).stem}".strip()

    return name
