"""The stack of `make up` under kill -9: training goes on, every release is counted, one version is registered,
once.

PostgreSQL, Prefect and MLflow are those that `hush serve --with-servers --postgres` starts and starts again.
"""

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from jobs import Job
from local_servers import free_port, until

pytestmark = pytest.mark.servers
ROUNDS = 400
CONFIG = """\
version: 1
repos: [{{path: {repository}}}]
secrets: [{{id: alpha, kind: path, globs: ["trading/**"], level: 1.0e-3, bits: 20}}]
chunk_bytes: 128
model: {{layers: 1, width: 32, heads: 2}}
train: {{rounds: {rounds}, batch: {batch}, checkpoint_every: 20}}
audit: {{alternatives: 10}}
tracking: {{experiment: job, model: job}}
"""


class Stack:
    """`hush serve --with-servers --postgres` on a job, as a process; its children by their names in /proc."""

    def __init__(self, job):
        self.job, self.ports = job, {name: free_port() for name in ("prefect", "mlflow", "postgres")}
        self.log = job.folder / "serve.log"

    def start(self):
        ports = ", ".join(f"{name}_port={port}" for name, port in self.ports.items())
        code = (
            f"from pathlib import Path; from flows.serve import serve; serve(Path({str(self.job.config)!r}), "
        )
        code += f"cron='0 2 29 2 *', with_servers=True, postgres=True, {ports})"
        with open(self.log, "wb") as output:
            self.child = subprocess.Popen(
                [sys.executable, "-c", code], env=self.environment, stdout=output, stderr=output,
                cwd=self.job.folder, start_new_session=True,
            )  # fmt: skip
        until(self.deployment, "the deployments", 400)

    @property
    def environment(self):
        return {
            **self.job.environment, "HUSH_POSTGRES": str(self.job.folder / "postgres"),
            "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",  # MLflow's own patience is not what is tried here
            "PREFECT_RUNNER_POLL_FREQUENCY": "2",
        }  # fmt: skip

    def login(self, name):
        return (self.job.home / "keys" / f"{name}.login").read_text()

    def call(self, path, body=None):
        token = base64.b64encode(self.login("prefect").encode()).decode()
        headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{self.ports['prefect']}/api{path}"
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as answer:
            return json.loads(answer.read() or "null")

    def deployment(self):
        assert self.child.poll() is None, self.log.read_text()[-3000:]
        try:
            return self.call("/deployments/name/train/hush-train")["id"]
        except OSError:
            return None

    def state(self, run):
        try:
            return self.call(f"/flow_runs/{run}")["state_type"]
        except OSError:  # its database has just been killed
            return None

    def leader(self, word):
        """The child of the supervisor in whose command a word stands."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if int(parent) == self.child.pid and word in command:
                return int(folder.name)
        return None

    def client(self):
        from mlflow import MlflowClient

        user, _, password = self.login("mlflow").partition(":")
        os.environ |= {"MLFLOW_TRACKING_USERNAME": user, "MLFLOW_TRACKING_PASSWORD": password}
        url = f"http://127.0.0.1:{self.ports['mlflow']}"
        return MlflowClient(url, url)

    def released(self):
        lines = (f.read_bytes().splitlines() for f in self.job.home.rglob("work/*/releases.jsonl"))
        return sum(len(one) - 1 for one in lines)

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(120)
        finally:
            if self.child.poll() is None:
                os.killpg(self.child.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def stack():
    if not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        pytest.skip("PostgreSQL's server binaries are not installed")
    with tempfile.TemporaryDirectory(prefix="hush-faults-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # of root: PostgreSQL's user must come by
        job = Job(folder, seed=47, empty=True)
        job.config = job.write(rounds=ROUNDS, text=CONFIG)
        if os.getuid() == 0:
            (folder / "postgres").mkdir()
            shutil.chown(folder / "postgres", "postgres", "postgres")
            (folder / "postgres").rmdir()
            folder.chmod(0o777)
        found = Stack(job)
        try:
            found.start()
            yield found
        finally:
            found.stop()
            for name in ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"):
                os.environ.pop(name, None)


def test_servers_killed_amid_a_run_lose_nothing(stack):
    run = stack.call(f"/deployments/{stack.deployment()}/create_flow_run", {})["id"]
    stack.first = run
    until(lambda: stack.released() >= 3, "the first rounds", 400)
    second = subprocess.Popen(  # another worker takes the same run: no release is made twice
        [sys.executable, "-m", "flows.cli", "run", str(stack.job.config)], env=stack.environment,
        cwd=stack.job.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.kill(stack.leader("bin/postgres"), signal.SIGKILL)
    os.killpg(stack.leader("mlflow server"), signal.SIGKILL)
    with socket.socket() as held:  # MLflow cannot come back before the model is trained, and asked for once
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        until(lambda: _bound(held, stack.ports["mlflow"]), "MLflow's port", 30, 0.05)
        before = stack.released()
        until(lambda: stack.released() > before or stack.released() == ROUNDS, "rounds without servers")
        until(lambda: "Task run failed with exception" in stack.log.read_text(), "a refused delivery", 400)
    until(lambda: stack.state(run) in ("COMPLETED", "FAILED", "CRASHED"), "the end of the run", 400)
    assert stack.state(run) == "COMPLETED", stack.log.read_text()[-5000:]
    _, said = second.communicate(timeout=400)  # whoever came second was refused, or found the work done
    assert second.returncode == 0 or "another process is training this run" in said, said[-3000:]
    assert stack.released() == ROUNDS

    client = stack.client()
    (version,) = client.search_model_versions("name = 'job'")
    assert f"models:/job/{version.version}" in version.description and "VERSION" not in version.description
    experiment = client.get_experiment_by_name("job").experiment_id
    told = client.search_runs([experiment])
    assert [one.info.status for one in told] == ["FINISHED"]
    assert {f.path for f in client.list_artifacts(told[0].info.run_id)} >= {
        "certificate",
        "tables",
        "report.html",
    }
    open_states = {"state": {"type": {"any_": ["RUNNING", "PENDING"]}}}
    assert stack.call("/flow_runs/filter", {"flow_runs": open_states}) == []


def test_a_damaged_store_is_made_again_without_another_release(stack):
    """A byte of every object, as a disk may do it: what is damaged is computed again, and what was released is
    not."""
    damaged = 0
    for file in sorted((stack.job.home / "store" / "objects").rglob("*")):
        if file.is_file() and (data := bytearray(file.read_bytes())):
            data[len(data) // 2] ^= 1
            file.write_bytes(data)
            damaged += 1
    assert damaged > 10
    run = stack.call(f"/deployments/{stack.deployment()}/create_flow_run", {})["id"]
    until(lambda: stack.state(run) in ("COMPLETED", "FAILED", "CRASHED"), "the end of the run", 400)
    assert stack.state(run) == "COMPLETED", stack.log.read_text()[-5000:]
    assert "a stored object is gone or damaged; computing it again" in stack.log.read_text()
    assert stack.released() == ROUNDS
    ends = [stack.client().get_run(v.run_id).info.status for v in stack.client().search_model_versions()]
    assert ends and set(ends) == {"FINISHED"}


def _bound(held, port):
    try:
        held.bind(("127.0.0.1", port))
    except OSError:
        return False
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)  # from now on nobody else may
    return True


def test_the_registry_of_the_stack_wants_a_login_and_its_databases_are_closed_to_each_other(stack):
    url = f"http://127.0.0.1:{stack.ports['mlflow']}/api/2.0/mlflow/experiments/search?max_results=1"
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(url, timeout=10)
    import psycopg2

    secret = (stack.job.home / "keys" / "postgres_mlflow.password").read_text()
    login = {"host": "127.0.0.1", "port": stack.ports["postgres"], "user": "mlflow", "password": secret}
    psycopg2.connect(**login, dbname="mlflow").close()
    with pytest.raises(psycopg2.OperationalError, match="permission denied"):
        psycopg2.connect(**login, dbname="prefect")
    arguments = b"".join(
        p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline") if os.access(p, os.R_OK)
    )
    assert secret.encode() not in arguments
    assert secret not in stack.log.read_text()


def test_all_of_it_ends_and_begins_again_from_a_backup(stack):
    """The home and the databases are gone; what was backed up while they ran is there again, and verifies."""

    def hush(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "flows.cli", *map(str, arguments)], env=stack.environment,
            cwd=stack.job.folder, capture_output=True, text=True, timeout=400,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    known, backup = _versions(stack), stack.job.folder / "backup"
    hush("backup", backup)
    assert {"prefect.dump", "mlflow.dump", "store.tar", "keys.tar"} <= {p.name for p in backup.iterdir()}
    leaders = [stack.leader(word) for word in ("bin/postgres", "mlflow server", "prefect")]
    stack.stop()
    assert not any(leader and Path(f"/proc/{leader}").exists() for leader in leaders)
    for lost in (stack.job.home, stack.job.folder / "postgres"):
        shutil.rmtree(lost)
    with open(backup / "keys.tar", "r+b") as file:  # a damaged backup makes no home
        file.seek(600)
        file.write(b"x")
    refused = subprocess.run(
        [sys.executable, "-m", "flows.cli", "restore", str(backup)], env=stack.environment, capture_output=True,
        text=True, timeout=100,
    )  # fmt: skip
    assert refused.returncode == 1 and "keys.tar: is missing or was changed" in refused.stderr
    assert not stack.job.home.exists()
    with open(backup / "keys.tar", "r+b") as file:
        file.seek(600)
        file.write(b"\0")
    assert "restored as of" in hush("restore", backup)
    stack.start()
    assert _versions(stack) == known and stack.released() == ROUNDS
    assert stack.state(stack.first) == "COMPLETED"


def _versions(stack):
    return sorted(str(v.version) for v in stack.client().search_model_versions("name = 'job'"))
