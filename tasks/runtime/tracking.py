"""Runs in MLflow: their experiment, their numbers and files. What registers a model is in `registry`."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hush_core.errors import InputError
from hush_core.files import beside, put_in_place, sync
from tasks.ownership import RUN_TAG, one_at_a_time, token_of
from tasks.runtime.environment import home
from tasks.runtime.steps import is_alone

if TYPE_CHECKING:
    import mlflow

MODEL_TRAINING = "?workflowType=machine_learning"
"""At the end of a link to a page of MLflow: the pages of trained models, whatever the browser chose before."""
KIND = {"mlflow.experimentKind": "custom_model_development"}
"""What the experiment is. MLflow 3.17's pages do not look at it (`tracker_server`); those before did."""

PAGES = "HUSH_MLFLOW_PAGES"
"""In the environment: where a browser finds the tracker, if not where this process does (in a container, say)."""


_ONE_AT_A_TIME = threading.Lock()
"""MLflow makes its tables by migrations that two threads cannot run at once."""


def tracker() -> mlflow.MlflowClient:
    """MLflow's client, of the server that the environment names or of the database under HUSH_HOME."""
    import mlflow

    database = home().mlflow_database
    with _ONE_AT_A_TIME:
        if mlflow.get_tracking_uri() == f"sqlite:///{database}":
            make_database(database)
        return mlflow.MlflowClient()


def has_tracker() -> bool:
    """Whether there is a registry to ask: a server that is named, or a database that a job has made."""
    import mlflow

    database = home().mlflow_database
    return mlflow.get_tracking_uri() != f"sqlite:///{database}" or database.exists()


def make_database(database: Path) -> None:
    """MLflow's tables, all or none, if there is no database yet: a first start that is killed during MLflow's
    migrations would leave some of them, and every later start would fail."""
    if _is_made(database):
        return
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    part = beside(database)
    try:
        SqlAlchemyStore(f"sqlite:///{part}", home().artifacts.as_uri()).engine.dispose()
        part.chmod(0o600)
        sync(part)
        if not database.exists():
            with contextlib.suppress(FileExistsError):  # another process was first
                os.link(part, database)
                sync(database.parent)
        elif not _is_made(database):
            with one_at_a_time(home(), "database"):
                if not _is_made(database):
                    put_in_place(part, database)
    finally:
        part.unlink(missing_ok=True)


def _is_made(database: Path) -> bool:
    """An empty file is what SQLite leaves that was opened and written nothing to."""
    return database.exists() and database.stat().st_size > 0


@dataclass(frozen=True)
class ChildRun:
    """A run that is shown below another."""

    name: str
    params: Mapping[str, Any]
    metrics: Mapping[str, float]


def log_run(
    *,
    experiment: str,
    run_name: str,
    params: Mapping[str, Any],
    metrics: Mapping[str, float],
    files: Iterable[Path],
    children: Iterable[ChildRun] = (),
    run_id: str | None = None,
) -> str | None:
    """Log a run that registers nothing, with the runs below it; files that are not there are left out. Where a
    server shows it, or None. `run_id`: one that is open, and is ended here."""
    import mlflow

    client = tracker()
    experiment_id = experiment_of(client, experiment)
    known = None if run_id else experiment_id
    with mlflow.start_run(run_id, known, run_name=run_name, tags=owned()) as run:
        mlflow.log_params(dict(params))
        mlflow.log_metrics(dict(metrics))
        for path in files:
            if path.is_file():
                mlflow.log_artifact(str(path))
        for child in children:
            with mlflow.start_run(
                experiment_id=experiment_id, run_name=child.name, nested=True, tags=owned()
            ):
                mlflow.log_params(dict(child.params))
                mlflow.log_metrics(dict(child.metrics))
    return link_of(experiment_id, run.info.run_id)


@contextlib.contextmanager
def staged(out: Path) -> Iterator[Path]:
    """A folder to write files in; at the end each is put into `out`, a private place, wholly or not at all."""
    out.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out) as work:
        yield Path(work)
        for file in sorted(Path(work).iterdir()):
            file.chmod(0o600)
            sync(file)
            put_in_place(file, out / file.name)


def log_look(**run: Any) -> str | None:
    """`log_run`, of what trains nothing: a command without an orchestrator notes it in a tracker that the user
    names, and does not begin one of its own for it."""
    own = f"sqlite:///{home().mlflow_database}"
    if is_alone() and os.environ.get("MLFLOW_TRACKING_URI") in (None, "", own):
        return None
    return log_run(**run)


def log_files(folder: str, files: Mapping[str, Path]) -> None:
    """Log files under readable names: those of the store are hashes."""
    import mlflow

    with tempfile.TemporaryDirectory() as staging:
        for name, path in files.items():
            shutil.copyfile(path, Path(staging) / (name + path.suffix))
        mlflow.log_artifacts(staging, folder)


def owned() -> dict[str, str]:
    """The tag that says which process does a run: if it is killed, the next start closes the run."""
    return {RUN_TAG: token_of(home())}


def opened_run(client: mlflow.MlflowClient, place: str, known: str | None, name: str, **tags: str) -> str:
    """A run that this process does: one that is known, again, or a new one in an experiment."""
    if known is None:
        return client.create_run(place, tags={**owned(), **tags}, run_name=name).info.run_id
    client.update_run(known, status="RUNNING")
    for key, value in owned().items():
        client.set_tag(known, key, value)
    return known


def experiment_of(client: mlflow.MlflowClient, name: str) -> str:
    """The experiment's id; without a server its artifacts go under HUSH_HOME, not to ./mlruns."""
    import mlflow
    from mlflow.exceptions import MlflowException

    embedded = mlflow.get_tracking_uri().startswith("sqlite:")
    known = client.get_experiment_by_name(name)
    if known is None:
        try:
            return client.create_experiment(name, home().artifacts.as_uri() if embedded else None, tags=KIND)
        except MlflowException as error:
            known = client.get_experiment_by_name(name)
            if error.error_code != "RESOURCE_ALREADY_EXISTS" or known is None:
                raise
    if known.lifecycle_stage == "deleted":
        hint = "restore it or name another"
        raise InputError(f"tracking.experiment: {name}", "was deleted in MLflow", hint)
    for key, value in KIND.items():
        if key not in known.tags:  # of an older hush
            client.set_experiment_tag(known.experiment_id, key, value)
    return known.experiment_id


def is_unreachable(error: BaseException) -> bool:
    """Whether a call failed because the server, or its database, did not answer; not because of what was asked."""
    import requests
    from mlflow.exceptions import MlflowException

    away = ConnectionError, requests.exceptions.ConnectionError, requests.exceptions.Timeout
    while error is not None:
        if isinstance(error, away):
            return True
        code = isinstance(error, MlflowException) and error.error_code
        if code in ("INTERNAL_ERROR", "TEMPORARILY_UNAVAILABLE"):
            return bool(re.search(r"Max retries exceeded|error code 50[0234]|OperationalError", str(error)))
        error = error.__cause__ or error.__context__
    return False


def link_of(experiment_id: str, run_id: str) -> str | None:
    """Where a tracking server shows a run, without a login that its address holds; None without a server."""
    import mlflow

    uri = mlflow.get_tracking_uri()
    if not uri.startswith("http"):
        return None
    pages = os.environ.get(PAGES) or re.sub(r"//[^/?#]*@", "//", uri)
    return f"{pages.rstrip('/')}/#/experiments/{experiment_id}/runs/{run_id}{MODEL_TRAINING}"
