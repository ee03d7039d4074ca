"""Runs in MLflow: their experiment, their numbers and files. What registers a model is in `registry`."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import mlflow
from mlflow.exceptions import MlflowException

from hush_core.errors import InputError
from hush_core.files import beside, put_in_place, sync
from tasks.ownership import RUN_TAG, token_of
from tasks.runtime.environment import home


def tracker() -> mlflow.MlflowClient:
    """MLflow's client, of the server that the environment names or of the database under HUSH_HOME."""
    database = home().mlflow_database
    if mlflow.get_tracking_uri() == f"sqlite:///{database}":
        make_database(database)
    return mlflow.MlflowClient()


def make_database(database: Path) -> None:
    """MLflow's tables, all or none, where there is no database yet: a first start that is killed amid MLflow's
    migrations would leave some of them, over which every later start stumbles."""
    if database.exists() and database.stat().st_size:
        return
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    part = beside(database)
    try:
        SqlAlchemyStore(f"sqlite:///{part}", home().artifacts.as_uri()).engine.dispose()
        part.chmod(0o600)
        sync(part)
        if database.exists():  # empty
            put_in_place(part, database)
        else:
            with contextlib.suppress(FileExistsError):  # another process was first
                os.link(part, database)
                sync(database.parent)
    finally:
        part.unlink(missing_ok=True)


def log_run(
    *,
    experiment: str,
    run_name: str,
    params: Mapping[str, Any],
    metrics: Mapping[str, float],
    files: Iterable[Path],
) -> str | None:
    """Log a run that registers nothing; files that are not there are left out. Where a server shows it, or None."""
    client = tracker()
    experiment_id = experiment_of(client, experiment)
    with mlflow.start_run(experiment_id=experiment_id, run_name=run_name, tags=owned()) as run:
        mlflow.log_params(dict(params))
        mlflow.log_metrics(dict(metrics))
        for path in files:
            if path.is_file():
                mlflow.log_artifact(str(path))
    return link_of(experiment_id, run.info.run_id)


def log_files(folder: str, files: Mapping[str, Path]) -> None:
    """Log files under readable names: those of the store are hashes."""
    with tempfile.TemporaryDirectory() as staging:
        for name, path in files.items():
            shutil.copyfile(path, Path(staging) / (name + path.suffix))
        mlflow.log_artifacts(staging, folder)


def owned() -> dict[str, str]:
    """The tag that says which process does a run: if it is killed, the next start closes the run."""
    return {RUN_TAG: token_of(home())}


def experiment_of(client: mlflow.MlflowClient, name: str) -> str:
    """The experiment's id; without a server its artifacts go under HUSH_HOME, not to ./mlruns."""
    embedded = mlflow.get_tracking_uri().startswith("sqlite:")
    known = client.get_experiment_by_name(name)
    if known is None:
        try:
            return client.create_experiment(name, home().artifacts.as_uri() if embedded else None)
        except MlflowException as error:
            known = client.get_experiment_by_name(name)
            if error.error_code != "RESOURCE_ALREADY_EXISTS" or known is None:
                raise
    if known.lifecycle_stage == "deleted":
        raise InputError(
            f"tracking.experiment: {name}", "was deleted in MLflow", "restore it or name another"
        )
    return known.experiment_id


def link_of(experiment_id: str, run_id: str) -> str | None:
    """Where a tracking server shows a run; None without a server."""
    uri = mlflow.get_tracking_uri()
    return (
        f"{uri.rstrip('/')}/#/experiments/{experiment_id}/runs/{run_id}" if uri.startswith("http") else None
    )
