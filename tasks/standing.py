"""Is what was registered still valid, and does the orchestrator show that a job was asked for? Asked by the REST
APIs of MLflow and Prefect, or in the home's own database, without importing either.

Used where a command is answered with the result of an earlier one (`flows.answers`): nothing else is
left to do then, and both libraries take seconds to load. Every doubt is a "no", and the flow runs.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from typing import Any
from urllib.parse import urlencode

from hush_core.errors import InputError
from tasks.reachable import ask, orchestrator_login, tracker_login
from tasks.runtime.environment import home, settings

REFUTED = ("audit", "refuted")
"""The tag of a version that an audit refuted (`tasks.audit_record`)."""


def tracker_is_own() -> bool:
    """Whether the tracker is the home's own database."""
    return os.environ.get("MLFLOW_TRACKING_URI") == settings(home())["MLFLOW_TRACKING_URI"]


def has_known_registry() -> bool:
    """Whether the registry is one that this module can ask."""
    return tracker_is_own() or os.environ.get("MLFLOW_TRACKING_URI", "").startswith(("http://", "https://"))


def is_registered(model_uri: str) -> bool:
    """Whether the registry has a version, `models:/NAME/NUMBER`, and is ready to serve it."""
    try:
        _, name, number = model_uri.split("/")
        if tracker_is_own():
            query = "SELECT status, current_stage FROM model_versions WHERE name = ? AND version = ?"
            row = _row(query, name, int(number))
            return row is not None and row[0] == "READY" and row[1] != "Deleted_Internal"
        found = _registry("get", name=name, version=number)["model_version"]
        return (found["name"], found["version"], found["status"]) == (name, number, "READY")
    except (sqlite3.Error, ValueError, KeyError, TypeError, InputError):
        return False


def any_refuted() -> bool:
    """Whether an audit of any home refuted a version of the registry: the flow then knows which."""
    key, value = REFUTED
    try:
        if tracker_is_own():
            query = "SELECT 1 FROM model_version_tags WHERE key = ? AND value = ? LIMIT 1"
            return _row(query, key, value) is not None
        found = _registry("search", filter=f"tags.`{key}` = '{value}'", max_results=1)
        return bool(found.get("model_versions"))
    except (sqlite3.Error, ValueError, TypeError, InputError):
        return True


def note_answered(flow: str, run_name: str) -> bool:
    """Where a Prefect server is named, note a flow run that has completed by an earlier result. True if it is
    noted, or no server is named."""
    url = os.environ.get("PREFECT_API_URL", "").rstrip("/")
    if not url:
        return True
    state = {
        "type": "COMPLETED",
        "name": "Cached",
        "message": "nothing is new: answered with an earlier result",
    }
    try:
        known = _posted(f"{url}/flows/", {"name": flow})
        _posted(f"{url}/flow_runs/", {"flow_id": known["id"], "name": run_name, "state": state})
    except (ValueError, KeyError, TypeError, InputError):
        return False
    return True


def _posted(url: str, body: dict[str, Any]) -> Any:
    status, answer = ask("PREFECT_API_URL", url, orchestrator_login(), body)
    if status not in (200, 201):
        raise ValueError(f"status {status}")
    return json.loads(answer)


def _registry(what: str, **query: Any) -> Any:
    url = os.environ["MLFLOW_TRACKING_URI"].rstrip("/")
    url += f"/api/2.0/mlflow/model-versions/{what}?{urlencode(query)}"
    status, answer = ask("MLFLOW_TRACKING_URI", url, tracker_login())
    if status != 200:
        raise ValueError(f"status {status}")
    return json.loads(answer)


def _row(query: str, *values: Any) -> Any:
    database = f"{home().mlflow_database.as_uri()}?mode=ro"
    with closing(sqlite3.connect(database, uri=True, timeout=5)) as registry:
        return registry.execute(query, values).fetchone()
