"""What killed processes left behind: runs that never seem to end, temporary files, a server without a client.

Swept when the next command starts, or the next run of a deployment. Only what a process of this home and host
began, and only when that process is surely gone (`ownership`); only in this home's own orchestrator and tracker.
Servers of yours that HUSH_HOME does not hold are never written to.
"""

from __future__ import annotations

import logging
import os

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, TaskRunFilter
from prefect.context import FlowRunContext
from prefect.states import Crashed

from tasks.ownership import RUN_TAG, Owner, dead_owners, end_server, remove_files, remove_parts, token_of
from tasks.runtime.environment import Home, home
from tasks.runtime.flow_runs import keep_listening
from tasks.runtime.json_logs import one_line_errors

TAG = "hush-owner:"
"""Before the token, among a flow run's tags."""
_OPEN = ["RUNNING", "PENDING", "PAUSED", "CANCELLING"]


def owner_tag(place: Home) -> str:
    """The tag that says that this process does a flow run."""
    return TAG + token_of(place)


def claim_flow_run() -> None:
    """Tag the flow run that this is called in: one that a schedule or a form began has no owner yet, and a process
    that has no command of hush. What dead owners left open is closed first."""
    keep_listening()
    one_line_errors()
    # of a training that was killed its worker closes the run alone, not the run's steps
    sweep_if_it_can(home())
    context, tag = FlowRunContext.get(), owner_tag(home())
    if context is not None and context.flow_run is not None and tag not in context.flow_run.tags:
        kept = [t for t in context.flow_run.tags if not t.startswith(TAG)]
        with get_client(sync_client=True) as client:
            client.update_flow_run(context.flow_run.id, tags=[*kept, tag])


def sweep_if_it_can(place: Home) -> None:
    """The same, never in the way of the work; the next start tries again."""
    try:
        sweep(place)
    except Exception as error:
        kind = type(error).__name__
        logging.getLogger("prefect").warning("what killed runs left could not be closed (%s)", kind)


def sweep(place: Home) -> int:
    """Close what dead owners left open; how many there were. Called when the orchestrator answers."""
    count = 0
    for owner in dead_owners(place):
        count += 1
        end_server(owner)
        remove_files(owner, place.store)
        if "PREFECT_API_URL" in owner.own:
            with get_client(sync_client=True) as client:
                _crash(client, owner)
        served = os.environ.get("MLFLOW_TRACKING_URI", "").startswith("http")
        if "MLFLOW_TRACKING_URI" in owner.own and (served or place.mlflow_database.exists()):
            _fail(owner)
    if count:
        remove_parts(place)
    return count


def _crash(client: SyncPrefectClient, owner: Owner) -> None:
    tagged, still = {"all_": [TAG + owner.token]}, {"type": {"any_": _OPEN}}
    of_owner = FlowRunFilter.model_validate({"tags": tagged})
    state = Crashed(message=f"{owner}; the next run of the same command continued")
    for run in client.read_flow_runs(flow_run_filter=of_owner):
        for step in client.read_task_runs(
            flow_run_filter=FlowRunFilter.model_validate({"id": {"any_": [run.id]}}),
            task_run_filter=TaskRunFilter.model_validate({"state": still}),
        ):
            client.set_task_run_state(step.id, state, force=True)
        if run.state_type is not None and run.state_type.value in _OPEN:
            client.set_flow_run_state(run.id, state, force=True)


def _fail(owner: Owner) -> None:
    import mlflow

    client = mlflow.MlflowClient()
    experiments = [e.experiment_id for e in client.search_experiments()]
    query = f"attributes.status = 'RUNNING' and tags.`{RUN_TAG}` = '{owner.token}'"
    for run in client.search_runs(experiments, query) if experiments else ():
        client.set_tag(run.info.run_id, "hush.ended", str(owner))
        client.set_terminated(run.info.run_id, "KILLED")
