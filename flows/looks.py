"""Commands that look and train nothing: a flow of Prefect where a server is named, else steps of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flows import command_line

if TYPE_CHECKING:
    from flows.reports.plan_report import PlanReport
    from hush_core.config import Changes
    from tasks.publish_secrets import Summary


def secrets_of(config_file: str, baseline: str | None, out: str | None) -> Summary:
    """The result of `hush secrets`."""
    if command_line.needs_orchestrator():
        from flows.secrets import secrets

        command_line.serve()
        with command_line.owned():
            return secrets(config_file, baseline, out)
    from flows.extraction import find_secrets

    with command_line.without_orchestrator("secrets"):
        return find_secrets(config_file, baseline, out)


def plan_of(
    config_file: str,
    changes: Changes,
    sweep: list[float] | None,
    noise: list[float] | None,
    out: str | None,
) -> PlanReport:
    """The result of `hush plan`."""
    if command_line.needs_orchestrator():
        from flows.plan import plan

        command_line.serve()
        with command_line.owned():
            return plan(config_file, changes, sweep, noise, out)
    from flows.planning import planned

    with command_line.without_orchestrator("plan"):
        return planned(config_file, changes, sweep, noise, out)
