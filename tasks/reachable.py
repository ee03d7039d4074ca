"""Is there room on the disk, do the tracker and the orchestrator answer that the environment names, and are the
machines of a training there? Asked before any work, in seconds.

MLflow's own client tries seven times over minutes, and Prefect's ends in a traceback. This imports neither.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import re
import shutil
import socket
import sqlite3
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from hush_core.errors import InputError
from tasks.runtime.deadline import within
from tasks.runtime.environment import home

if TYPE_CHECKING:
    from hush_core.training.hosts import Hosts

PATIENCE = 5.0
"""Seconds for a server to answer; one that does not is not waited for by a job of hours either."""
NO_ANSWER = "does not answer"
_TRACKER, _ORCHESTRATOR = "MLFLOW_TRACKING_URI", "PREFECT_API_URL"
_DATABASES = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
_ELSEWHERE = ("databricks", "databricks-uc", "uc")
"""Addresses that only MLflow's own plugins can ask."""


LEAST_ROOM = 256 << 20
"""Bytes that must be free under HUSH_HOME for anything to be begun; what a training's checkpoints take is asked
before its first round, when it is known."""


def check_disk() -> None:
    """Refuse to begin on a disk that is full. Raises InputError: fewer than LEAST_ROOM bytes are free under
    HUSH_HOME."""
    root = home().root
    free = shutil.disk_usage(root).free
    if free < LEAST_ROOM:
        what = f"its disk has {free >> 20} MiB free, and nothing starts below {LEAST_ROOM >> 20}"
        hint = "free some, or set HUSH_HOME to another disk"
        raise InputError(f"HUSH_HOME ({root})", what, hint)


def check_tracker() -> None:
    """Refuse an MLFLOW_TRACKING_URI that leads to no MLflow. Raises InputError: it is no address, nothing answers
    there within PATIENCE, or what answers is no MLflow."""
    uri = os.environ.get(_TRACKER, "")
    scheme = re.split(r"[+:]", uri, maxsplit=1)[0]
    if not uri or scheme in _ELSEWHERE:
        return
    if scheme == "sqlite":
        _check_sqlite(uri)
    elif scheme in _DATABASES:
        _check_port(uri, _DATABASES[scheme])
    elif scheme in ("http", "https"):
        headers = tracker_login()
        # one that wants a login wants it for its version, too
        status, body = ask(_TRACKER, f"{uri.rstrip('/')}/version", headers)
        if status == 200 and re.fullmatch(rb"\d+\.\d+[\w.+-]*", body.strip()):
            query = f"{uri.rstrip('/')}/api/2.0/mlflow/experiments/search?max_results=1"
            status, _ = ask(_TRACKER, query, headers)
        elif status not in (401, 403):
            raise _refusal(_TRACKER, uri, "answers, and is no MLflow server")
        if status in (401, 403):
            raise _refusal(
                _TRACKER, uri, "wants a login", "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"
            )
    else:
        raise _refusal(_TRACKER, uri, "is no address of an MLflow (http, https, sqlite or a database)")


def check_orchestrator() -> None:
    """Refuse a PREFECT_API_URL that leads to no Prefect server. Raises InputError: it is no address, nothing
    answers there within PATIENCE, or what answers is no Prefect."""
    uri = os.environ.get(_ORCHESTRATOR, "")
    if not uri:
        return
    if not uri.lower().startswith(("http://", "https://")):
        raise _refusal(_ORCHESTRATOR, uri, "is no address of a Prefect server")
    if os.environ.get("PREFECT_API_KEY"):  # Prefect Cloud answers for an account, not under /health
        ask(_ORCHESTRATOR, uri)
        return
    status, body = ask(_ORCHESTRATOR, f"{uri.rstrip('/')}/health")
    if status != 200 or body.strip() != b"true":
        hint = "end it in /api, as http://HOST:4200/api"
        raise _refusal(_ORCHESTRATOR, uri, "answers, and is no Prefect server's API", hint)
    status, body = ask(_ORCHESTRATOR, f"{uri.rstrip('/')}/admin/version", orchestrator_login())
    if status in (401, 403):
        raise _refusal(_ORCHESTRATOR, uri, "wants a login", "set PREFECT_API_AUTH_STRING to USER:PASSWORD")
    if status != 200 or not isinstance(_json(body), str):
        raise _refusal(_ORCHESTRATOR, uri, "answers, and is no Prefect server's API")


def await_orchestrator(patience: float) -> None:
    """`check_orchestrator`, where a server that does not answer is one that is being started, for `patience`
    seconds."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return check_orchestrator()
        except InputError as error:
            if error.what != NO_ANSWER or time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def _check_sqlite(uri: str) -> None:
    path = Path(unquote(uri.partition(":///")[2].partition("?")[0]))
    shown = f"{_TRACKER}: {path}"
    if not path.exists():
        if not _writable(path.parent):
            raise InputError(shown, "cannot be created there", "name a folder that you may write to")
        return
    try:
        with open(path, "rb") as file:
            head = file.read(16)
    except OSError as error:
        raise InputError(shown, error.strerror or "cannot be read", "name a database of MLflow") from None
    if head not in (b"", b"SQLite format 3\0"):
        raise InputError(shown, "is no SQLite database", "name a database of MLflow, or move this file away")
    _check_schema(path, shown)


def _writable(folder: Path) -> bool:
    """Whether a file can be made there: root passes every check of permissions, and /proc takes none."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _check_schema(path: Path, shown: str) -> None:
    """Of a database of MLflow: the one that the installed MLflow reads."""
    try:
        with closing(
            sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=PATIENCE)
        ) as file:
            tables = {row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            found = file.execute("SELECT version_num FROM alembic_version").fetchall() if tables else []
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            hint = "name another, or move this file away"
            raise InputError(shown, "is no database of MLflow", hint) from None
        return  # locked by who writes just now: MLflow waits for it
    except sqlite3.DatabaseError:
        raise InputError(shown, "is damaged", "restore it from a backup") from None
    known, newest = _schemas()
    if not found or not known or found[0][0] == newest:
        return
    if found[0][0] in known:
        hint = f"keep a copy, then: mlflow db upgrade sqlite:///{path}"
        raise InputError(shown, "has the schema of an older MLflow", hint)
    hint = "install that one, as pinned there"
    raise InputError(shown, "has the schema of a newer MLflow than is installed", hint)


def _schemas() -> tuple[set[str], str]:
    """(every schema that the installed MLflow knows, the one that it reads), without importing it."""
    found = importlib.util.find_spec("mlflow")
    folder = Path(str(found.origin)).parent / "store" / "db_migrations" / "versions" if found else Path()
    after: dict[str, str] = {}
    for file in folder.glob("*.py"):
        text = file.read_text(encoding="utf-8")
        named = dict(re.findall(r"^(revision|down_revision) = [\"']?(\w+)", text, re.M))
        after[named.get("revision", "")] = named.get("down_revision", "")
    last = set(after) - set(after.values()) - {""}
    return set(after) - {""}, last.pop() if len(last) == 1 else ""


def _check_port(uri: str, usual: int) -> None:
    """Of a database: that something listens. Login and schema are MLflow's to see."""
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname or "127.0.0.1", parts.port or usual
    except ValueError:
        raise _refusal(_TRACKER, uri, "is no address") from None

    def connect() -> None:
        socket.create_connection((host, port), PATIENCE).close()

    try:
        within(PATIENCE + 1, connect)
    except (OSError, UnicodeError, TimeoutError):
        raise _refusal(_TRACKER, uri, NO_ANSWER) from None


def ask(
    name: str, url: str, headers: dict[str, str] | None = None, body: dict[str, Any] | None = None
) -> tuple[int, bytes]:
    """(status, the first bytes of the answer); with a `body`, which is sent as JSON, by POST. Raises InputError:
    nothing answered."""
    data = None if body is None else json.dumps(body).encode()

    def get() -> tuple[int, bytes]:
        try:
            request = urllib.request.Request(
                url, data, {"Content-Type": "application/json", **(headers or {})}
            )
            # by the proxies of the environment now, as urllib's own
            with urllib.request.build_opener(_Stay).open(request, timeout=PATIENCE) as answer:
                return answer.status, answer.read(1 << 16)
        except urllib.error.HTTPError as error:
            return error.code, b""

    try:
        return within(PATIENCE + 1, get)
    except Exception as error:  # urllib and http.client raise a dozen kinds, all of which say: no answer
        what = NO_ANSWER
        if "CERTIFICATE" in str(error):
            what = "shows a certificate that is not trusted here"
        raise _refusal(name, os.environ.get(name, ""), what) from None


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows nobody elsewhere: what is asked carries a login."""

    def redirect_request(self, *_: Any) -> None:
        return None


def tracker_login() -> dict[str, str]:
    known = _basic(os.environ.get("MLFLOW_TRACKING_USERNAME"), os.environ.get("MLFLOW_TRACKING_PASSWORD"))
    token = os.environ.get("MLFLOW_TRACKING_TOKEN")
    return {"Authorization": f"Bearer {token}"} if token and not known else known


def orchestrator_login() -> dict[str, str]:
    if key := os.environ.get("PREFECT_API_KEY"):
        return {"Authorization": f"Bearer {key}"}
    return _basic(*os.environ.get("PREFECT_API_AUTH_STRING", "").split(":", 1))


def _basic(user: str | None = None, password: str | None = None) -> dict[str, str]:
    if not user:
        return {}
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password or ''}".encode()).decode()}


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _refusal(name: str, uri: str, what: str, hint: str = "") -> InputError:
    """The address without its login."""
    shown = re.sub(r"//.*@", "//…@", uri)
    shown = re.sub(r"[\x00-\x1f]", " ", shown)[:200]
    usual = f"start it, correct {name}, or unset it for the one that hush brings along"
    return InputError(f"{name} ({shown})", what, hint or usual)


HOSTS, INTERFACE = "HUSH_HOSTS", "HUSH_INTERFACE"


def training_hosts(processes: int | None = None) -> Hosts | None:
    """The machines; None for this one alone. `processes`: how many the job has, where that is known. Raises
    InputError: one of the two is nothing that can be, or names what this machine has not; there are fewer processes
    than machines."""
    if not os.environ.get(HOSTS):
        return None
    from hush_core.training.hosts import Hosts  # torch comes with it

    hosts = Hosts.parse(os.environ[HOSTS], os.environ.get(INTERFACE, ""))
    hosts.check_here()
    if processes is not None:
        hosts.check(processes)
    return hosts
