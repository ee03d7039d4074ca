"""Who may promote a model: an authorization function for MLflow's own login, by which hush alone may.

MLflow gives permissions by model. Anyone who may write to one may set any alias and any tag of it; admins may all.
With `authorization_function = tasks.runtime.registry_guard:authenticate` in the server's login file
(MLFLOW_AUTH_CONFIG_PATH), some requests are for hush's service account only; anyone else gets 403, admins too.
These move the alias `champion`, write a decision's tags, or delete or rename what has the alias. All else is as
MLflow decides it. MLflow's own parser reads the body, so the check sees what would be done.

`python -m tasks.runtime.registry_guard FILE` writes that login file, for a start script; HUSH_MLFLOW_USERS is the
address of the database that holds the users.
"""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Callable
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from hush_core.files import write_whole

ACCOUNT, SERVICE = "HUSH_MLFLOW_ACCOUNT", "hush"
"""The variable that names hush's account on the server, and its name where that is not set."""
CHAMPION = "champion"
GUARDED_TAGS = frozenset(
    {
        "validation_status", "reviewed_by", "reviewed_at", "review_reason", "review_signature", "audit",
        "certificate_sha256", "certificate_digest", "made_by", "signed_by",
    }
)  # fmt: skip
GUARDED_PREFIX = "decision_"
REMEMBERED = 60
"""Seconds for which the server remembers that a password was right (not one that was changed or taken away since).
Checking one takes it 0.4 s of CPU, by design, and a page of its UI asks ten times."""
PROMPT = "mlflow.prompt.is_prompt"
_USERS = ("/users/update-password", "/users/update-admin", "/users/delete")
REFUSAL = "hush: reviews set champion and the tags of a decision (hush review); no other account may"


def authenticate() -> Any:
    """MLflow's basic login; then 403 for what hush's account alone may do."""
    from flask import Response, make_response, request
    from mlflow.server.auth import authenticate_request_basic_auth

    who = authenticate_request_basic_auth()
    if isinstance(who, Response) or who.username == account():
        return who
    return make_response(REFUSAL, 403) if _is_guarded(request) else who


def account() -> str:
    return os.environ.get(ACCOUNT) or SERVICE


def _is_guarded(request: Any) -> bool:
    if request.url_rule is None:
        return False
    if request.path.rstrip("/").endswith(_USERS):
        from mlflow.server.auth import _get_request_param

        return _get_request_param("username") == account()
    found = _guarded_routes().get((request.url_rule.rule, request.method))
    if found is None:
        return False
    from mlflow.server.handlers import _get_request_message

    message, is_guarded = found
    return is_guarded(_get_request_message(message()))


@cache
def _guarded_routes() -> dict[tuple[str, str], tuple[type, Callable[[Any], bool]]]:
    """(route, method) → (its message, whether such a message is hush's alone), for every form of the address."""
    from mlflow.protos import model_registry_pb2 as registry
    from mlflow.server.handlers import get_endpoints

    guards = {
        registry.SetRegisteredModelAlias: lambda m: _is_champion(m.alias),
        registry.DeleteRegisteredModelAlias: lambda m: _is_champion(m.alias),
        registry.SetModelVersionTag: lambda m: _is_decision(m.key) or _hides(m.name, m.key),
        registry.SetRegisteredModelTag: lambda m: _hides(m.name, m.key),
        registry.DeleteModelVersionTag: lambda m: _is_decision(m.key),
        registry.CreateModelVersion: lambda m: any(
            _is_decision(t.key) or _hides(m.name, t.key) for t in m.tags
        ),
        registry.DeleteModelVersion: lambda m: _is_same(m.version, _champion_of(m.name)),
        registry.RenameRegisteredModel: lambda m: _champion_of(m.name) is not None,
        registry.DeleteRegisteredModel: lambda m: _champion_of(m.name) is not None,
    }
    routes = {}
    for path, message, methods in get_endpoints(lambda message: message):
        if message in guards:
            routes |= {(path, method): (message, guards[message]) for method in methods}
    missing = {message.__name__ for message in guards} - {message.__name__ for message, _ in routes.values()}
    if missing:
        raise RuntimeError(f"this MLflow has no route for {', '.join(sorted(missing))}")
    return routes


def _is_champion(alias: str) -> bool:
    return alias.strip().casefold() == CHAMPION


def _is_decision(key: str) -> bool:
    return key in GUARDED_TAGS or key.startswith(GUARDED_PREFIX)


def _hides(name: str, key: str) -> bool:
    """Whether a tag would make a model pass for a prompt: MLflow then leaves it out of what it lists."""
    found = _model(name)
    return key == PROMPT and found is not None and PROMPT not in found.tags


def _is_same(version: str, champion: str | None) -> bool:
    """As MLflow compares them, by number: 01 is 1. What is no number is guarded, too."""
    try:
        return champion is not None and int(version) == int(champion)
    except ValueError:
        return True


def _champion_of(name: str) -> str | None:
    found = _model(name)
    version = None if found is None else found.aliases.get(CHAMPION)
    return None if version is None else str(version)


def _model(name: str) -> Any:
    from mlflow.exceptions import MlflowException
    from mlflow.server.handlers import _get_model_registry_store

    try:
        return _get_model_registry_store().get_registered_model(name)
    except MlflowException:  # there is no such model; MLflow will say so
        return None


# before the server starts


def write_login(file: Path, database: str) -> None:
    """The server's login file; `database`: the address of where MLflow keeps its users. Mode 0600, for the
    password in that address. hush's account is the first user; MLflow makes it, with
    MLFLOW_AUTH_ADMIN_PASSWORD."""
    parser = configparser.ConfigParser(interpolation=None)
    parser["mlflow"] = {
        "default_permission": "READ",
        "database_uri": database.replace("%", "%%"),  # MLflow reads it with interpolation
        "admin_username": account(),
        "authorization_function": "tasks.runtime.registry_guard:authenticate",
        "auth_cache_ttl_seconds": str(REMEMBERED),
    }
    text = StringIO()
    parser.write(text)
    write_whole(file, text.getvalue().encode())


if __name__ == "__main__":
    write_login(Path(sys.argv[1]), os.environ["HUSH_MLFLOW_USERS"])
