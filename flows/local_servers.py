"""PostgreSQL, Prefect and MLflow on loopback, each with a login of its own, under the supervisor of `hush serve`.

Passwords are made up once and kept in HUSH_HOME/keys. Without PostgreSQL both servers keep SQLite databases in
HUSH_HOME: enough for one person. Only hush's account may set a model's alias in MLflow (`registry_guard`).
"""

from __future__ import annotations

import hashlib
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from flows.supervision import Children
from hush_core.errors import InputError
from hush_core.files import new_file
from tasks.runtime.empty_database import begin_database
from tasks.runtime.environment import OWN_SERVERS, Home
from tasks.runtime.registry_guard import write_login

HOST = "127.0.0.1"
DATABASES = ("prefect", "mlflow")
POSTGRES = "HUSH_POSTGRES"
"""The folder of PostgreSQL's data, in place of HUSH_HOME/postgres (of root: a folder under /var/lib/postgresql)."""


def start_servers(
    children: Children,
    home: Home,
    environment: dict[str, str],
    *,
    prefect_port: int,
    mlflow_port: int,
    postgres_port: int | None = None,
) -> None:
    """Start what the environment does not name, and put its address there. `postgres_port`: where PostgreSQL
    listens, which then holds the databases of both; None: SQLite does."""
    own = ["PREFECT_API_URL"] if not environment.get("PREFECT_API_URL") else []
    if environment.get("MLFLOW_TRACKING_URI", "").startswith("sqlite:"):
        own.append("MLFLOW_TRACKING_URI")
    databases: dict[str, str] = {}
    if postgres_port is not None and own:
        databases = start_postgres(children, home, environment, postgres_port)
    if "PREFECT_API_URL" in own:
        _start_prefect(children, home, environment, prefect_port, databases.get("prefect"))
    if "MLFLOW_TRACKING_URI" in own:
        _start_mlflow(children, home, environment, mlflow_port, databases.get("mlflow"))
    environment[OWN_SERVERS] = " ".join(own)


def _start_prefect(
    children: Children, home: Home, environment: dict[str, str], port: int, database: str | None
) -> None:
    check_free(port, "Prefect")
    # the UI's own origin alone may call the API: any web page could otherwise start a run
    environment["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"] = f"http://{HOST}:{port}"
    # no Host check either, so a login keeps out a page that rebinds its name, and other local users
    environment["PREFECT_SERVER_API_AUTH_STRING"] = home.login("prefect")
    environment["PREFECT_API_AUTH_STRING"] = home.login("prefect")
    environment["PREFECT_UI_API_URL"] = f"http://{HOST}:{port}/api"
    arguments = ["-m", "prefect", "server", "start", "--host", HOST, "--port", str(port)]
    server = dict(environment)
    if database:
        server["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = f"postgresql+asyncpg://{database}"
    else:
        begin_database(Path(environment["PREFECT_HOME"]))
    children.start("Prefect server", [sys.executable, *arguments], server)
    environment["PREFECT_API_URL"] = f"http://{HOST}:{port}/api"
    children.await_answer(environment["PREFECT_API_URL"] + "/health")
    print(f"Prefect: http://{HOST}:{port}, login in {home.keys / 'prefect.login'}", flush=True)


def _start_mlflow(
    children: Children, home: Home, environment: dict[str, str], port: int, database: str | None
) -> None:
    check_free(port, "MLflow")
    store = environment["MLFLOW_TRACKING_URI"]
    users = f"sqlite:///{home.root / 'mlflow_users.db'}"
    if database:
        store = users = f"postgresql+psycopg2://{database}"
    elif store == f"sqlite:///{home.mlflow_database}":
        from tasks.runtime.tracking import make_database

        make_database(home.mlflow_database)
    write_login(home.keys / "mlflow_login.ini", users)
    user, _, password = home.login("mlflow").partition(":")
    environment |= {"MLFLOW_TRACKING_USERNAME": user, "MLFLOW_TRACKING_PASSWORD": password}
    arguments = ["--host", HOST, "--port", str(port), "--workers", "1", "--serve-artifacts"]
    arguments += ["--artifacts-destination", str(home.artifacts), "--app-name", "hush"]
    server = {
        **environment,
        "HUSH_MLFLOW_ACCOUNT": user,
        "MLFLOW_AUTH_CONFIG_PATH": str(home.keys / "mlflow_login.ini"),
        "MLFLOW_AUTH_ADMIN_PASSWORD": password,
        "MLFLOW_BACKEND_STORE_URI": store,  # not an argument: other users of the machine see those
        "MLFLOW_FLASK_SERVER_SECRET_KEY": home.password("mlflow_session"),
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }
    server.pop("MLFLOW_TRACKING_URI")
    children.start("MLflow server", [sys.executable, "-m", "mlflow", "server", *arguments], server)
    environment["MLFLOW_TRACKING_URI"] = f"http://{HOST}:{port}"
    children.await_answer(environment["MLFLOW_TRACKING_URI"] + "/health")
    login = home.keys / "mlflow.login"
    print(f"MLflow: http://{HOST}:{port}, login in {login}", flush=True)


# PostgreSQL


def start_postgres(children: Children, home: Home, environment: dict[str, str], port: int) -> dict[str, str]:
    """Database → where it is, with the role and password of its own."""
    found = binaries()
    account: dict[str, Any] = {}
    data = home.root / "postgres"
    if os.getuid() == 0:  # PostgreSQL refuses to run as root, and its user cannot enter HUSH_HOME
        try:
            entry = pwd.getpwnam("postgres")
        except KeyError:
            what, hint = "does not run as root, and there is no user postgres", "run hush as another user"
            raise InputError("PostgreSQL", what, hint) from None
        account = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        name = hashlib.sha256(str(home.root).encode()).hexdigest()[:12]
        data = Path("/var/lib/postgresql") / f"hush-{name}"
    data = Path(environment.get(POSTGRES) or data)
    check_free(port, "PostgreSQL")
    _make_cluster(found, data, home, account)
    settings = {"listen_addresses": HOST, "unix_socket_directories": "", "log_min_messages": "fatal"}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    command = [str(found / "postgres"), "-D", str(data), "-p", str(port), *options]
    children.start("PostgreSQL server", command, _minimal_environment(environment), cwd="/", **account)
    children.await_that(lambda: _make_databases(home, port), "PostgreSQL")
    print(f"PostgreSQL: {HOST}:{port}, in {data}", flush=True)
    return {name: f"{name}:{home.password(f'postgres_{name}')}@{HOST}:{port}/{name}" for name in DATABASES}


def _minimal_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What a program of another account needs: none of the caller's keys, tokens and addresses."""
    return {name: environment[name] for name in ("PATH", "TZ") if name in environment} | {"LC_ALL": "C"}


def binaries() -> Path:
    """Of the newest PostgreSQL that Debian's packages installed, or of the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4]))
    if found:
        return found[-1].parent
    if there := shutil.which("initdb"):
        return Path(there).parent
    raise InputError("PostgreSQL", "is not installed", "apt-get install postgresql, or leave out --postgres")


def _make_cluster(programs: Path, data: Path, home: Home, account: dict[str, Any]) -> None:
    """A database cluster with a login, all or nothing: made beside its place, and renamed."""
    if (data / "PG_VERSION").is_file():
        return
    part = data.with_name(f".{data.name}.{secrets.token_hex(8)}")
    password = part.with_name(f"{part.name}.password")
    given = home.password("postgres")
    try:
        part.mkdir(mode=0o700, parents=True)
        with new_file(password) as file:  # nobody else can read it at any moment
            file.write(given.encode())
        for path in (part, password):
            if account:
                # a link that its owner put there meanwhile leads nowhere
                os.chown(path, account["user"], account["group"], follow_symlinks=False)
        options = ["--auth=scram-sha-256", f"--pwfile={password}", "--username=hush", "--encoding=UTF8"]
        done = subprocess.run(
            [str(programs / "initdb"), "-D", str(part), *options, "--locale=C"],
            cwd="/", env=_minimal_environment(os.environ), capture_output=True, text=True, **account,
        )  # fmt: skip
        if done.returncode:
            raise InputError(f"PostgreSQL ({data})", f"cannot be set up: {done.stderr[-300:]}", "fix that")
        part.rename(data)
    finally:
        password.unlink(missing_ok=True)
        shutil.rmtree(part, ignore_errors=True)


def _make_databases(home: Home, port: int) -> bool:
    """A role and a database for each server, closed to the other one's; False where the server does not answer
    yet."""
    import psycopg2
    from psycopg2 import sql

    login = {"host": HOST, "port": port, "user": "hush", "password": home.password("postgres")}
    try:
        connection = psycopg2.connect(**login, dbname="postgres", connect_timeout=5)
    except psycopg2.OperationalError as error:
        if "password" in str(error):
            hint = "restore keys/ from a backup"
            raise InputError("PostgreSQL", "does not take the password of this HUSH_HOME", hint) from None
        return False
    connection.autocommit = True
    with closing(connection), connection.cursor() as ask:
        for name in DATABASES:
            known, password = sql.Identifier(name), home.password(f"postgres_{name}")
            ask.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,))
            if not ask.fetchone():
                ask.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD %s").format(known), (password,))
            ask.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,))
            if not ask.fetchone():
                ask.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(known, known))
            ask.execute(sql.SQL("REVOKE CONNECT ON DATABASE {} FROM PUBLIC").format(known))
    return True


def check_free(port: int, name: str) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            hint = "stop what uses it, or give the server another port"
            raise InputError(f"port {port}", f"is taken, so no {name} server can start", hint) from None
