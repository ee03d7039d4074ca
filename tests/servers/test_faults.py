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
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from jobs import Job
from local_servers import free_port
from orchestrator import asked, nothing_open, released
from prometheus_client.parser import text_string_to_metric_families
from waiting import until

pytestmark = [pytest.mark.servers, pytest.mark.slow]
ROUNDS, CHECKPOINT = 120, 20
CONFIG = """\
version: 1
repos: [{{path: {repository}}}]
secrets: [{{id: alpha, kind: path, globs: ["trading/**"], level: 1.0e-3, bits: 20, protect: noise}}]
chunk_bytes: 128
model: {{layers: 1, width: 32, heads: 2}}
train: {{rounds: {rounds}, batch: {batch}, checkpoint_every: 20}}
audit: {{alternatives: 10}}
tracking: {{experiment: job, model: job}}
"""


def child_of(parent, chosen):
    """The number of a process's first child that is chosen; None where there is none."""
    with suppress(psutil.Error):
        for child in psutil.Process(parent).children():
            with suppress(psutil.Error):  # it has just ended
                if chosen(child):
                    return child.pid


class Stack:
    """`hush serve --with-servers --postgres` on a job, as a process; its children by their names."""

    def __init__(self, job):
        self.job, self.ports = (
            job,
            {name: free_port() for name in ("prefect", "mlflow", "postgres", "metrics")},
        )
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
        until(self.deployment, "the deployments")

    @property
    def environment(self):
        return {
            **self.job.environment, "HUSH_POSTGRES": str(self.job.folder / "postgres"),
            "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",  # MLflow's own patience is not what is tried here
            "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
            "HUSH_LOG_FORMAT": "json",
            "HUSH_TRACKER_RETRIES": ",".join(["2"] * 30),  # half an hour, as a minute
            "PREFECT_RUNNER_POLL_FREQUENCY": "2",
            "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
            "PREFECT_SERVER_SERVICES_DB_VACUUM_LOOP_SECONDS": "5",
        }  # fmt: skip

    def shell(self):
        """The environment of somebody who works against these servers, as the runbook has it."""
        user, _, password = self.login("mlflow").partition(":")
        return self.environment | {
            "PREFECT_API_URL": f"http://127.0.0.1:{self.ports['prefect']}/api",
            "PREFECT_API_AUTH_STRING": self.login("prefect"),
            "MLFLOW_TRACKING_URI": f"http://127.0.0.1:{self.ports['mlflow']}",
            "MLFLOW_TRACKING_USERNAME": user, "MLFLOW_TRACKING_PASSWORD": password,
        }  # fmt: skip

    def hush(self, *arguments, environment=None):
        return subprocess.run(
            [sys.executable, "-m", "flows.cli", *map(str, arguments)], env=environment or self.environment,
            cwd=self.job.folder, capture_output=True, text=True, timeout=600,
        )  # fmt: skip

    def login(self, name):
        return (self.job.home / "keys" / f"{name}.login").read_text()

    def call(self, path, body=None):
        return asked(f"http://127.0.0.1:{self.ports['prefect']}/api", path, body, self.login("prefect"))

    def deployment(self):
        assert self.child.poll() is None, self.log.read_text()[-3000:]
        try:
            return self.call("/deployments/name/train/hush-train")["id"]
        except OSError:
            return None

    def begin(self):
        """A run of the job by its deployment."""
        return self.call(f"/deployments/{self.deployment()}/create_flow_run", {})["id"]

    def training(self, run):
        """The process that the worker began for a run."""

        def found():
            worker = self.leader("flows.serve")
            return worker and child_of(worker, lambda one: one.environ().get("PREFECT__FLOW_RUN_ID") == run)

        return until(found, "the run's process")

    def state(self, run):
        try:
            return self.call(f"/flow_runs/{run}")["state_type"]
        except OSError:  # its database has just been killed
            return None

    def leader(self, word):
        """The child of the supervisor in whose command a word stands."""
        return child_of(self.child.pid, lambda one: word in " ".join(one.cmdline()))

    def client(self):
        from mlflow import MlflowClient

        user, _, password = self.login("mlflow").partition(":")
        os.environ |= {"MLFLOW_TRACKING_USERNAME": user, "MLFLOW_TRACKING_PASSWORD": password}
        url = f"http://127.0.0.1:{self.ports['mlflow']}"
        return MlflowClient(url, url)

    def released(self):
        return released(self.job)

    def metric(self, name, *labels):
        """As Prometheus reads it."""
        token = base64.b64encode(self.login("metrics").encode()).decode()
        url = f"http://127.0.0.1:{self.ports['metrics']}/metrics"
        request = urllib.request.Request(url, headers={"Authorization": f"Basic {token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            families = text_string_to_metric_families(answer.read().decode())
            samples = [sample for family in families for sample in family.samples]
        (value,) = [s.value for s in samples if s.name == name and set(labels) == set(s.labels.values())]
        return value

    @contextmanager
    def database(self, name):
        """Ask a database as its superuser: `ask(sql)` gives the rows."""
        import psycopg2

        secret = (self.job.home / "keys" / "postgres.password").read_text()
        login = {"host": "127.0.0.1", "port": self.ports["postgres"], "user": "hush", "password": secret}
        connection = psycopg2.connect(**login, dbname=name)
        connection.autocommit = True

        def ask(sql):
            with connection.cursor() as cursor:
                cursor.execute(sql)
                return cursor.fetchall() if cursor.description else []

        with closing(connection):
            yield ask

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(600)
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


@pytest.mark.timeout(1800)
def test_whatever_is_killed_amid_a_job_nothing_is_lost_and_no_release_uncounted(stack):
    """One job, begun three times: its servers, its worker, its training and its registration are killed in turn.

    A training is stopped while it is arranged what it finds when it goes on, so that little of it needs to be done.
    """
    # another worker takes the same run; then its servers, amid the rounds: MLflow hangs, then is gone
    run = stack.first = stack.begin()
    training = stack.training(run)
    _pause(training, until_released=lambda: stack.released() > CHECKPOINT)
    second = stack.hush("run", stack.job.config, environment=stack.shell())
    assert second.returncode and "another process is training this run" in second.stderr, second.stderr[
        -3000:
    ]
    os.killpg(stack.leader("mlflow server"), signal.SIGSTOP)
    os.kill(stack.leader("bin/postgres"), signal.SIGKILL)
    os.kill(stack.leader("prefect server"), signal.SIGKILL)
    _rounds_go_on(stack, training)
    with socket.socket() as held:  # MLflow cannot come back
        os.killpg(stack.leader("mlflow server"), signal.SIGKILL)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        until(lambda: _bound(held, stack.ports["mlflow"]), "MLflow's port", pause=0.05)
        _rounds_go_on(stack, training)
        # training and worker at once: nobody is left who could say that the run is over
        worker = stack.leader("flows.serve")
        os.kill(worker, signal.SIGKILL)
        os.kill(training, signal.SIGKILL)
    until(lambda: stack.leader("flows.serve") not in (None, worker), "another worker")
    until(lambda: stack.state(run) == "CRASHED", "what the next worker says of the run")
    before = stack.released()
    assert CHECKPOINT < before < ROUNDS

    # the training goes on from its checkpoint; the tracker hangs when it is over, then answers to all that was
    # asked meanwhile; the registration is cut
    run, said = stack.begin(), len(stack.log.read_text())
    training = stack.training(run)
    _pause(training, until_released=lambda: stack.released() > before)
    os.killpg(stack.leader("mlflow server"), signal.SIGSTOP)
    os.kill(training, signal.SIGCONT)
    until(lambda: "Task run failed with exception" in stack.log.read_text()[said:], "a refused delivery")
    assert stack.released() == ROUNDS
    assert (
        stack.metric("hush_releases_total") == ROUNDS
        and stack.metric("hush_flow_runs", "train", "running") == 1
    )
    with stack.database("mlflow") as ask:
        ask(HELD_UP)
        os.killpg(stack.leader("mlflow server"), signal.SIGCONT)
        until(lambda: ask("SELECT 1 FROM model_versions WHERE name = 'job'"), "a version", pause=0.1)
        until(lambda: ask(WAITING), "the write of its number", pause=0.1)
        os.kill(training, signal.SIGKILL)
        ask(f"SELECT pg_terminate_backend(pid) FROM ({WAITING}) AS waiting")
        ask("DROP TRIGGER held_up ON model_versions")
    until(lambda: stack.state(run) == "CRASHED", "what the worker says of a training that was killed")
    (cut,) = stack.client().search_model_versions("name = 'job'")
    assert "models:/job/VERSION" in cut.description

    # and once more, without a fault
    run = stack.begin()
    until(lambda: stack.state(run) in ENDS, "the end of the run")
    assert stack.state(run) == "COMPLETED", stack.log.read_text()[-5000:]
    assert stack.released() == ROUNDS

    client = stack.client()
    (version,) = client.search_model_versions("name = 'job'")
    assert f"models:/job/{version.version}" in version.description and "VERSION" not in version.description
    experiment = client.get_experiment_by_name("job").experiment_id
    told = client.search_runs([experiment])
    assert [one.info.status for one in told] == ["FINISHED"]
    files = {f.path for f in client.list_artifacts(told[0].info.run_id)}
    assert files >= {"certificate", "tables", "report.html"}
    rounds = [m.step for m in client.get_metric_history(told[0].info.run_id, "training/rounds_released")]
    assert len(rounds) == len(set(rounds)) and max(rounds) == ROUNDS, "each that was kept is there once"
    assert int(version.tags["rounds_released"]) == ROUNDS, "those that were lost are counted, too"
    until(lambda: nothing_open(stack.call), "the end of all runs in the orchestrator")
    until(lambda: stack.metric("hush_flow_runs", "train", "running") == 0, "the end in the metrics")

    lines = [json.loads(line) for line in stack.log.read_text().splitlines() if line.startswith("{")]
    assert any(line.get("run") and f"of {ROUNDS}" in line["message"] for line in lines)
    assert not any(value.decode() in stack.log.read_text() for value in stack.job.values)


ENDS = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
HELD_UP = """
CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(600); RETURN NEW; END $$;
CREATE TRIGGER held_up BEFORE UPDATE ON model_versions FOR EACH ROW
    WHEN (OLD.description IS DISTINCT FROM NEW.description) EXECUTE FUNCTION hold_up()"""
"""The number of a version is written into its description last; a window of milliseconds, made wide."""
WAITING = (
    "SELECT pid FROM pg_stat_activity WHERE query LIKE 'UPDATE model_versions%' AND wait_event = 'PgSleep'"
)


def _pause(training, until_released):
    until(until_released, "the first rounds", pause=0.01)
    os.kill(training, signal.SIGSTOP)


def _rounds_go_on(stack, training):
    """A paused training goes on, without servers, and is paused again."""
    before = stack.released()
    os.kill(training, signal.SIGCONT)
    _pause(training, lambda: stack.released() > before)


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
    run = stack.begin()
    until(lambda: stack.state(run) in ENDS, "the end of the run")
    assert stack.state(run) == "COMPLETED", stack.log.read_text()[-5000:]
    assert "a stored object is gone or damaged" in stack.log.read_text()
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
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            assert secret.encode() not in process.read_bytes()
    assert secret not in stack.log.read_text()
    with stack.database("postgres") as ask:  # another account's program: it has nothing of the caller's
        ask("CREATE TEMP TABLE told (line text)")
        ask("COPY told FROM PROGRAM 'env'")
        names = {line.partition("=")[0] for (line,) in ask("SELECT line FROM told")}
    own = {"PATH", "TZ", "PWD", "OLDPWD", "SHLVL", "_"}
    assert "PATH" in names and not {n for n in names - own if not n.startswith(("PG", "LC_"))}


def test_runs_of_more_than_90_days_ago_are_forgotten_where_the_runbooks_setting_says_so(stack):
    flow = stack.call("/deployments/name/train/hush-train")["flow_id"]
    made = {"flow_id": flow, "state": {"type": "COMPLETED"}}
    old, new = (stack.call("/flow_runs/", made)["id"] for _ in range(2))
    with stack.database("prefect") as ask:
        for run, days in ((old, 91), (new, 89)):
            ask(f"UPDATE flow_run SET end_time = now() - interval '{days} days' WHERE id = '{run}'")
        until(lambda: not ask(f"SELECT 1 FROM flow_run WHERE id = '{old}'"), "the end of the old one")
        assert ask(f"SELECT 1 FROM flow_run WHERE id = '{new}'")


def test_all_of_it_ends_and_begins_again_from_a_backup(stack):
    """The home and the databases are gone; what was backed up while they ran is there again, and verifies."""

    known, backup = _versions(stack), stack.job.folder / "backup"
    assert (done := stack.hush("backup", backup)).returncode == 0, done.stderr
    assert {"prefect.dump", "mlflow.dump", "store.tar", "keys.tar"} <= {p.name for p in backup.iterdir()}
    leaders = [stack.leader(word) for word in ("bin/postgres", "mlflow server", "prefect")]
    stack.stop()
    assert not any(leader and Path(f"/proc/{leader}").exists() for leader in leaders)
    for lost in (stack.job.home, stack.job.folder / "postgres"):
        shutil.rmtree(lost)
    with open(backup / "keys.tar", "r+b") as file:  # a damaged backup makes no home
        file.seek(600)
        file.write(b"x")
    refused = stack.hush("restore", backup)
    assert refused.returncode == 1 and "keys.tar: is missing or was changed" in refused.stderr
    assert not stack.job.home.exists()
    with open(backup / "keys.tar", "r+b") as file:
        file.seek(600)
        file.write(b"\0")
    done = stack.hush("restore", backup)
    assert done.returncode == 0 and "restored as of" in done.stdout, done.stderr
    stack.start()
    assert _versions(stack) == known and stack.released() == ROUNDS
    assert stack.state(stack.first) == "CRASHED"


def _versions(stack):
    return sorted(str(v.version) for v in stack.client().search_model_versions("name = 'job'"))
