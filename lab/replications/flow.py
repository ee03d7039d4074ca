"""Do the papers' figures come out again? Their cells one by one, then claims with marks, a page and a picture."""

from __future__ import annotations

from pathlib import Path

from prefect import flow
from prefect.artifacts import create_markdown_artifact
from prefect.logging import get_run_logger

from flows.results import ReplicationReport
from lab.replications import Size, code_digest, document_of, find_data, find_replication, page_of
from lab.replications.cells import compute_cell, machine, publish_replication, store_data, versions
from tasks.leftovers import claim_flow_run
from tasks.runtime.progress import suspendable

RESULTS = "lab/docs/results"


@flow(name="replicate", validate_parameters=True)
@suspendable
def replicate(
    name: str, size: Size = "short", data: str | None = None, out: str = RESULTS
) -> ReplicationReport:
    """Compute a replication's cells, each reused where it was done before, and write its page.

    Args:
        name: as `hush replicate --list` shows it. size: `short`, `full`, or `tiny` to see that it runs.
        data: folder of its data, if it needs any. out: folder for page, numbers, picture and the index.

    Stopped and started again with the same arguments, it goes on after the last finished cell.
    """
    claim_flow_run()
    replication, log = find_replication(name), get_run_logger()
    files = find_data(None if data is None else Path(data), replication.data)
    inputs, code = store_data(files), code_digest(f"lab.replications.{name}")
    cells, done = replication.cells(size), []
    for place, cell in enumerate(cells, 1):
        found = compute_cell(name, cell.table, dict(cell.settings), code, inputs)
        done.append(({"table": cell.table, "settings": dict(cell.settings)}, found.rows, found.cpu_seconds))
        log.info("%s: %d of %d cells, %s", name, place, len(cells), cell.label)
    made = {
        "command": command_of(name, size, with_data=bool(files)),
        "versions": versions(),
        "code": code,
        "machine": machine(),
        "data": {key: ref.sha256 for key, ref in inputs.items()},
    }
    document = document_of(replication, size, done, made)
    folder = publish_replication(document, out)
    create_markdown_artifact(page_of(document), key="hush-replication", description=replication.title)
    return ReplicationReport(name=name, claims=tuple(document["claims"]), folder=folder)


def command_of(name: str, size: Size, *, with_data: bool) -> str:
    """What to type for it again."""
    return f"hush replicate {name}" + " --full" * (size == "full") + " --data DIR" * with_data
