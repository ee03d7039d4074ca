"""Which files hold which secret? The extraction alone, reported; weighs, plans and trains nothing."""

from __future__ import annotations

from prefect import flow

from flows.extraction import find_secrets
from tasks.leftovers import claim_flow_run
from tasks.publish_secrets import Summary
from tasks.runtime.flow_runs import ChosenRunner, named
from tasks.runtime.progress import suspendable


@flow(name="secrets", flow_run_name=named("secrets"), validate_parameters=True, task_runner=ChosenRunner())
@suspendable
def secrets(config_file: str, baseline: str | None = None, out: str | None = None) -> Summary:
    """Find the secrets of a config, and report where they are and what changed since the last report.

    Args:
        config_file: the YAML file, or the folder of a git repository, on the machine that runs the flow.
        baseline: the baseline.json of an earlier report; without it that of the report in `out`, if there is one.
        out: folder for the report, a private place; without it one of the config's own under HUSH_HOME/secrets.
    """
    claim_flow_run()
    return find_secrets(config_file, baseline, out)
