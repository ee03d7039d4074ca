"""Runs in MLflow: their experiment, their numbers and files. What registers a model is in `registry`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import mlflow
from mlflow.exceptions import MlflowException

from hush_core.errors import InputError
from tasks.runtime.environment import home


def log_run(
    *,
    experiment: str,
    run_name: str,
    params: Mapping[str, Any],
    metrics: Mapping[str, float],
    files: Iterable[Path],
) -> str | None:
    """Log a run that registers nothing; files that are not there are left out. Where a server shows it, or None."""
    client = mlflow.MlflowClient()
    experiment_id = experiment_of(client, experiment)
    with mlflow.start_run(experiment_id=experiment_id, run_name=run_name) as run:
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
