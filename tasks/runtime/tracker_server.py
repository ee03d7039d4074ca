"""MLflow's own server, opened where hush's runs are: what `mlflow server --app-name hush` serves.

pyproject.toml names it under `mlflow.app`.

>>> mlflow server --app-name hush --backend-store-uri sqlite:///…      # in a shell

MLflow 3.17 opens every new browser on its GenAI pages, which are empty for our experiments, and ignores the
experiment's kind (`mlflow.experimentKind`). It follows what the browser has stored under names of its own. So its
page gets one line that writes these, once: a user who chooses otherwise keeps that choice.

Its assistant is left out. It hands runs to a language model, a remote one, too, and lets that run commands on the
server's machine for anyone who calls from there.

Where MLFLOW_AUTH_CONFIG_PATH names a configuration of MLflow's login (`registry_guard`), it asks for that.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from fastapi import FastAPI

CHOSEN = {
    "mlflow.workflowType_v1": "machine_learning",
    "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": True,
    "_mlflow_model_registry_promo_modal_dismissed_v1": True,
    "mlflow.telemetry.info.alert.dismissed_v1": True,  # it is off: MLFLOW_DISABLE_TELEMETRY
}
"""What the browser stores, by name."""
HIDDEN = "<style>[data-assistant-ui]{display:none!important}</style>"
"""The button of the assistant, which would lead nowhere."""


def create_app() -> FastAPI:
    """The application that `mlflow server` makes by itself, with another first page and without the assistant."""
    from mlflow.server import app as pages
    from mlflow.server.assistant.api import assistant_router

    assistant_router.routes.clear()
    page = opening(Path(pages.static_folder or "", "index.html").read_text())
    pages.view_functions["serve"] = lambda: page
    if os.environ.get("MLFLOW_AUTH_CONFIG_PATH"):
        from mlflow.server import auth

        auth.bootstrap_admin_user()  # MLflow does so by itself for its own application's name alone
        return auth.create_app(pages)
    from mlflow.server.fastapi_app import app

    return app


def opening(page: str) -> str:
    """MLflow's page, which sets in a browser what has not been set there."""
    stored = json.dumps({key: json.dumps(value) for key, value in CHOSEN.items()})
    script = (
        f"for(const [k,v] of Object.entries({stored})) localStorage.getItem(k)??localStorage.setItem(k,v)"
    )
    return page.replace("<head>", f"<head><script>{script}</script>{HIDDEN}", 1)
