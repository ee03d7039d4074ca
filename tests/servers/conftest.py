"""PostgreSQL, a Prefect server and an MLflow server on loopback, a tiny job, and `hush serve` between them.

Everything listens on ports that were free, stores in a temporary folder, and ends with the session.
"""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import urllib.error
from dataclasses import dataclass
from pathlib import Path

import pytest
from fresh_process import environment as environment_of
from jobs import commit
from local_servers import ROOT, answers, free_port, module, stop
from orchestrator import asked
from waiting import until


@dataclass
class Servers:
    """Addresses, the environment of clients, and a small client of Prefect's REST interface."""

    prefect: str
    mlflow: str
    login: str
    environment: dict
    home: Path

    def call(self, path, body=None, method=None):
        return asked(f"{self.prefect}/api", path, body, self.login, method)

    def deployment(self, flow):
        return self.call(f"/deployments/name/{flow}/hush-{flow}")

    def start(self, flow, parameters):
        made = self.call(
            f"/deployments/{self.deployment(flow)['id']}/create_flow_run", {"parameters": parameters}
        )
        return made["id"]

    def run(self, run_id):
        return self.call(f"/flow_runs/{run_id}")

    def finished(self, run_id):
        ends = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
        return until(lambda: (r := self.run(run_id))["state_type"] in ends and r, f"flow run {run_id}")

    def registry(self):
        from mlflow import MlflowClient

        return MlflowClient(self.mlflow, self.mlflow)


@pytest.fixture(scope="session")
def folder():
    with tempfile.TemporaryDirectory(prefix="hush-servers-") as name:
        yield Path(name)


@pytest.fixture(scope="session")
def postgres(folder):
    """{database: where it is, with the role and password of its own}, of a PostgreSQL that deploy/ has set up; the
    server refuses to run as root."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL's server binaries are not installed")
    binaries, data = found[-1].parent, folder / "postgres"
    data.mkdir(mode=0o700)
    user = {}
    if os.getuid() == 0:
        try:
            entry = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL cannot run as root, and there is no user postgres")
        user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        folder.chmod(0o711)
        shutil.chown(data, entry.pw_uid, entry.pw_gid)
    quiet = {"stdout": subprocess.DEVNULL, "cwd": "/", "timeout": 600, "check": True}
    given = folder / "secrets"
    given.mkdir()
    passwords = {name: secrets.token_hex(16) for name in ("postgres", "prefect_db", "mlflow_db")}
    for name, password in passwords.items():
        (given / f"{name}_password").write_text(password)
    options = ["--auth=scram-sha-256", f"--pwfile={given / 'postgres_password'}"]
    options += ["--username=hush", "--no-sync", "--encoding=UTF8", "--locale=C"]
    subprocess.run([binaries / "initdb", "-D", data, *options], **quiet, **user)
    port = free_port()
    command = [binaries / "postgres", "-D", data, "-p", str(port), "-c", f"unix_socket_directories={data}"]
    command += ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
    with open(folder / "postgres.log", "wb") as log:
        child = subprocess.Popen(command, cwd="/", stdout=log, stderr=log, **user)
    try:
        connect = ["-h", "127.0.0.1", "-p", str(port), "-U", "hush"]
        ready = [binaries / "pg_isready", *connect]
        until(
            lambda: subprocess.run(ready, stdout=subprocess.DEVNULL).returncode == 0, "PostgreSQL", pause=0.2
        )
        environment = {
            **os.environ, "PATH": f"{binaries}:{os.environ['PATH']}", "PGHOST": "127.0.0.1", "PGPORT": str(port),
            "PGPASSWORD": passwords["postgres"], "POSTGRES_USER": "hush", "POSTGRES_DB": "postgres",
            "HUSH_SECRETS": str(given),
        }  # fmt: skip
        subprocess.run([ROOT / "deploy" / "create-databases.sh"], env=environment, **quiet)
        yield {
            name: f"{name}:{passwords[f'{name}_db']}@127.0.0.1:{port}/{name}"
            for name in ("prefect", "mlflow")
        }
    finally:
        child.send_signal(signal.SIGINT)  # fast shutdown
        child.wait(600)


@pytest.fixture(scope="session")
def servers(postgres, folder):
    from tasks.runtime.environment import Home, settings

    home = Home(folder / "home").create()
    base = {**environment_of(home.root), **settings(home)}
    ports = {"prefect": free_port(), "mlflow": free_port()}
    prefect, mlflow = (f"http://127.0.0.1:{ports[name]}" for name in ("prefect", "mlflow"))
    login = f"hush:{secrets.token_hex(8)}"
    for_prefect = {
        **base,
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"postgresql+asyncpg://{postgres['prefect']}",
        "PREFECT_SERVER_API_AUTH_STRING": login,
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": prefect,
        "PREFECT_UI_API_URL": f"{prefect}/api",
        "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "2",
    }
    for_mlflow = {
        **base,
        "MLFLOW_BACKEND_STORE_URI": f"postgresql+psycopg2://{postgres['mlflow']}",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }
    artifacts = folder / "artifacts"
    of_mlflow = ["mlflow", "server", "--app-name", "hush", "--workers", "1", "--serve-artifacts"]
    commands = {
        "prefect": (["prefect", "server", "start"], for_prefect),
        "mlflow": ([*of_mlflow, "--artifacts-destination", str(artifacts)], for_mlflow),
    }
    children = []
    try:
        for name, (command, environment) in commands.items():
            command += ["--host", "127.0.0.1", "--port", str(ports[name])]
            children.append(module(command, folder / f"{name}.log", environment))
        for url in (f"{prefect}/api/health", f"{mlflow}/health"):
            until(lambda url=url: answers(url), url)
        client = {
            **base,
            "PREFECT_API_URL": f"{prefect}/api",
            "PREFECT_API_AUTH_STRING": login,
            "MLFLOW_TRACKING_URI": mlflow,
            "PREFECT_RUNNER_POLL_FREQUENCY": "2",
        }
        yield Servers(prefect, mlflow, login, client, home.root)
    finally:
        for child in children:
            stop(child)


@pytest.fixture(scope="session")
def job(folder):
    """A config: a small repository with a planted credential, one layer of width 32, three rounds."""
    files = {"vault/inside.py": "LIMIT = 12\n" * 10}
    for index in range(12):
        lines = [f"def step_{index}_{line}(value):\n    return value + {line}\n" for line in range(6)]
        files[f"module_{index}.py"] = "\n".join(lines)
    commit(folder / "repository", files)
    config = folder / "job.yaml"
    config.write_text(
        """\
version: 1
repos: [{path: repository}]
secrets:
  - {id: vault, kind: path, globs: ["vault/"], level: 0.01, bits: 20, protect: noise}
chunk_bytes: 64
model: {layers: 1, width: 32, heads: 2}
train: {rounds: 3, batch: 4, checkpoint_every: 2}
audit: {alternatives: 10}
tracking: {experiment: tiny, model: tiny}
"""
    )
    return config


@pytest.fixture(scope="session")
def served(servers, job, folder):
    """`hush serve` with a schedule, as a user starts it."""
    command = ["flows.cli", "serve", str(job), "--cron", "* * * * *"]
    child = module(command, folder / "serve.log", servers.environment, cwd=folder)
    try:

        def ready():
            assert child.poll() is None, (folder / "serve.log").read_text()[-3000:]
            try:
                return servers.deployment("watch")  # the last
            except urllib.error.HTTPError:
                return None

        until(ready, "the deployments")
        yield servers
    finally:
        stop(child)


@pytest.fixture(scope="session")
def scheduled(served):
    """(servers, the first run that the schedule started, ended); the schedule then stands still."""
    deployment = served.deployment("train")
    filters = {
        "deployments": {"id": {"any_": [deployment["id"]]}},
        "flow_runs": {"state": {"type": {"any_": ["RUNNING", "COMPLETED", "FAILED", "CRASHED"]}}},
    }
    first = until(lambda: served.call("/flow_runs/filter", filters), "a run started by the schedule")[0]
    served.call(f"/deployments/{deployment['id']}/pause_deployment", {})
    return served, served.finished(first["id"])
