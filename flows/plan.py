"""What will it cost? Everything up to the noise multiplier, for a sweep of c or of σ; trains nothing."""

from __future__ import annotations

from prefect import flow

from flows.planning import planned
from flows.reports.plan_report import PlanReport
from hush_core.config import Changes
from tasks.leftovers import claim_flow_run
from tasks.runtime.flow_runs import ChosenRunner, named
from tasks.runtime.progress import suspendable


@flow(name="plan", flow_run_name=named("plan"), validate_parameters=True, task_runner=ChosenRunner())
@suspendable
def plan(
    config_file: str,
    changes: Changes | None = None,
    sweep: list[float] | None = None,
    noise: list[float] | None = None,
    out: str | None = None,
) -> PlanReport:
    """Extract, weigh and calibrate for each point of the sweep and each method; recommend one.

    Args:
        config_file: the YAML file, on the machine that runs the flow.
        changes: what to take in place of the file's values.
        sweep: values of c relative to c_max, each in (0, 1].
        noise: in place of `sweep`, noise multipliers to fit the weights to; capacities become equalised.
        out: folder for the tables and the picture; one of the config's own under HUSH_HOME/plans without it.
    """
    claim_flow_run()
    return planned(config_file, changes, sweep, noise, out)
