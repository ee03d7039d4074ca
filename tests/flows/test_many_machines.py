"""`HUSH_RUNNER`: flows on a real Dask cluster of two workers give the same tables, and no value travels."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from types import SimpleNamespace

import polars as pl
import pytest
from fresh_process import ROOT
from jobs import CONFIG, Job
from local_servers import free_port, relay
from object_server import InBucket, InFolder, object_server

pytestmark = pytest.mark.slow

pytest.importorskip("prefect_dask", reason="the extra `dask` is not installed: pip install -e '.[dask]'")

SECOND = "\nrepos: [{{path: repository}}, {{path: other}}]\n"
CONFIG = re.sub(r"\nrepos: .*\n", SECOND, CONFIG).replace("unprotected: true", "unprotected: false")
KEY = bytes(range(32))
TLS = [f"DASK_DISTRIBUTED__COMM__TLS__{name}" for name in ("CA_FILE", "CLIENT__CERT", "CLIENT__KEY")]
SWEEP = ("--c", "0.1", "--c", "0.4")


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    made = Job(tmp_path_factory.mktemp("machines"), seed=29)
    shutil.copytree(made.folder / "repository", made.folder / "other")
    made.config = made.write(text=CONFIG)
    with made.served():
        yield made


@pytest.fixture(scope="module")
def by_threads(job):
    """The plan in another home with the same keys: nothing of it is reused."""
    ours, job.home = job.home, job.folder / "threads"
    shutil.copytree(ours, job.home)
    job.hush("plan", job.config, *SWEEP, "--out", job.folder / "by_threads")
    shutil.copytree(job.home / "keys", ours / "keys", dirs_exist_ok=True)
    home, job.home = job.home, ours
    return home


@contextmanager
def workers(folder, environments, certificate=None):
    """A scheduler and workers of somebody's own, as docs/running.md begins them: address and log."""
    port = free_port()
    address = f"{'tls' if certificate else 'tcp'}://127.0.0.1:{port}"
    tls = (
        ["--tls-ca-file", certificate, "--tls-cert", certificate, "--tls-key", certificate]
        if certificate
        else []
    )
    worker = [
        "worker", address, "--host", "127.0.0.1", "--nthreads", 1, "--no-dashboard", "--local-directory", folder,
        "--preload", "tasks.runtime.dask_preload", *tls,
    ]  # fmt: skip
    scheduler = ["scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard", *tls]
    log = open(folder / "log", "wb")  # noqa: SIM115
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + command[0], *map(str, command[1:])],
            cwd=ROOT, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
        )
        for command, environment in [(scheduler, environments[0]), *((worker, one) for one in environments)]
    ]  # fmt: skip
    try:
        import distributed

        names = ("tls_ca_file", "tls_client_cert", "tls_client_key")
        security = distributed.Security(**dict.fromkeys(names, certificate)) if certificate else None
        with distributed.Client(address, security=security, timeout=600, set_as_default=False) as client:
            client.wait_for_workers(len(environments), timeout=600)
        yield address, folder / "log"
    finally:
        for child in running[::-1]:
            child.terminate()
        for child in running:
            child.wait(600)
        log.close()


@pytest.fixture(scope="module")
def cluster(job, by_threads, tmp_path_factory):
    """Two workers that have the job's home; and the wire to their scheduler."""
    with workers(tmp_path_factory.mktemp("cluster"), [job.environment] * 2) as (address, log):
        kept = []
        with relay(int(address.rpartition(":")[2]), lambda data: kept.append(data) or True) as port:
            yield SimpleNamespace(port=port, kept=kept), log


@pytest.fixture(scope="module")
def storage(tmp_path_factory):
    """An object server where its parts are installed, else a folder."""
    if find_spec("s3fs") is None or find_spec("moto") is None:
        yield InFolder(tmp_path_factory.mktemp("storage") / "shared")
        return
    with object_server() as server:
        yield InBucket(server, "machines")


@pytest.fixture(scope="module")
def apart(job, by_threads, storage, tmp_path_factory):
    """The plan in a third home of the same keys, on two workers by TLS whose homes have its store's key alone: the
    homes, what was printed, the workers' log and the variables."""
    homes = [job.folder / name for name in ("third", "worker0", "worker1")]
    shutil.copytree(by_threads, homes[0], ignore=lambda folder, names: {"store"} & set(names))
    for home in homes:
        (home / "keys").mkdir(parents=True, exist_ok=True)
        (home / "keys" / "store.key").write_bytes(KEY)
    shared = {"HUSH_STORE": storage.address, **storage.environment}
    environments = [{**job.environment, **shared, "HUSH_HOME": str(home)} for home in homes[1:]]
    folder = tmp_path_factory.mktemp("apart")
    tls = {name: str(own_certificate(folder)) for name in TLS}
    with workers(folder, environments, tls[TLS[0]]) as (address, log):
        with elsewhere(job, homes[0], {**shared, **tls, "HUSH_RUNNER": address}) as there:
            said = by_itself(job, "plan", job.config, *SWEEP, "--out", job.folder / "apart")
        yield homes, said, log, there


def by_itself(job, *arguments, status=0):
    """The output of a command in a fresh process: Dask reads its certificates' variables as it is imported."""
    child = job.start(*arguments)
    said, _ = child.communicate(timeout=600)
    assert child.returncode == status, said[-4000:]
    return said


def own_certificate(folder):
    """A file with a key and a certificate that is its own authority."""
    import distributed

    made = distributed.Security.temporary()
    (folder / "own.pem").write_text(made.tls_client_key + made.tls_client_cert)
    return folder / "own.pem"


@contextmanager
def elsewhere(job, home, more):
    """The job in another home, with more variables."""
    ours, before = job.home, job.server
    job.home, job.server = home, {**before, **more}
    try:
        yield more
    finally:
        job.home, job.server = ours, before


@pytest.fixture(scope="module")
def planned(job, cluster):
    wire, _ = cluster
    job.server["HUSH_RUNNER"] = f"tcp://127.0.0.1:{wire.port}"
    try:
        return job.hush("plan", job.config, *SWEEP, "--out", job.folder / "by_cluster")
    finally:
        del job.server["HUSH_RUNNER"]


@pytest.fixture(scope="module")
def compared(job, planned, cluster):
    """Two rivals side by side, each trained by a worker."""
    job.server["HUSH_RUNNER"] = f"tcp://127.0.0.1:{cluster[0].port}"
    try:
        return job.hush(
            "compare", job.config, "--mechanisms", "hush/matched/plain,user_wise/2/noise", "--seeds", 1,
            "--parallel", 2, "--out", job.folder / "compared",
        )  # fmt: skip
    finally:
        del job.server["HUSH_RUNNER"]


def finished(log, step):
    return len(re.findall(rf"Task run '{step}-[\w-]+' - Finished in state Completed", log))


def objects(home):
    return {path.name for path in (home / "store" / "objects").rglob("*") if path.is_file()}


def test_a_cluster_gives_the_tables_of_threads_to_the_byte(job, by_threads, planned, cluster):
    assert objects(job.home) == objects(by_threads) and len(objects(job.home)) > 10
    tables = [pl.read_csv(job.folder / name / "frontier.csv") for name in ("by_threads", "by_cluster")]
    assert tables[0].equals(tables[1]) and tables[0].height == 4


def test_workers_without_the_home_do_what_needs_its_objects_alone(job, by_threads, apart, storage):
    homes, said, log = *apart[:2], apart[2].read_text()
    made = [objects(home) for home in homes]
    assert made[0] | made[1] | made[2] == objects(by_threads) and made[1] | made[2]
    tables = [pl.read_csv(job.folder / name / "frontier.csv") for name in ("by_threads", "apart")]
    assert tables[0].equals(tables[1])
    for step in ("weigh", "price"):
        assert finished(log, step) >= 2, step
    assert list(job.folder.glob("worker?/store/results/*")), "a worker keeps its results in its own home"
    assert finished(log, "scan") == 0 and not list(job.folder.glob("worker?/store/extraction/*"))
    assert len(storage.files()) >= len(made[0])
    for value in job.values:
        assert not any(value in data for data in storage.files().values())
        assert value.decode() not in log + said


def test_a_copy_of_the_home_is_no_worker(job, apart):
    homes, _, _, there = apart
    shutil.copy(homes[0] / "keys" / "identity.key", homes[1] / "keys" / "identity.key")
    with elsewhere(job, homes[0], there):
        said = by_itself(job, "plan", job.write("copied.yaml", text=CONFIG.replace("128", "96")), status=2)
    assert "has a copy of this home, which counts for itself" in " ".join(said.split())


def test_every_parallel_step_was_done_by_a_worker(job, planned, cluster):
    log = cluster[1].read_text()
    for step, times in (("scan", 2), ("weigh", 2), ("price", 4)):
        assert finished(log, step) >= times, step


def test_rivals_are_trained_by_workers(job, compared, cluster):
    log = cluster[1].read_text()
    assert finished(log, "train") == 2 and finished(compared, "train") == 0
    released = [
        len(file.read_bytes().splitlines()) - 1
        for file in (job.home / "store" / "work").glob("*/releases.jsonl")
    ]
    assert released == [4, 4], "each round is counted in the home of whoever asked"


def test_no_value_travels_or_is_logged(job, planned, compared, cluster):
    wire, log = cluster
    travelled = b"".join(wire.kept)
    assert len(travelled) > 10_000 and b"weigh" in travelled and b"train" in travelled
    for value in job.values:
        assert (
            value not in travelled
            and value not in log.read_bytes()
            and value.decode() not in planned + compared
        )
        for file in (job.home / "prefect").glob("*.db*"):
            assert value not in file.read_bytes()


def test_a_cluster_that_cannot_be_used_is_refused_in_a_line(job, cluster):
    wire, _ = cluster
    for runner, environment, said in (
        (f"tcp://127.0.0.1:{free_port()}", {}, "HUSH_RUNNER: cannot be used"),
        (
            f"tls://127.0.0.1:{wire.port}",
            {},
            "HUSH_RUNNER: cannot be used: TypeError. Hint: start the scheduler, or",
        ),
        (f"tcp://127.0.0.1:{wire.port}", {"HUSH_HOME": str(job.folder / "threads")}, "another HUSH_HOME"),
    ):
        ours, home = dict(job.server), job.home
        job.server |= {"HUSH_RUNNER": runner, **environment}
        try:
            said_so = job.hush("secrets", job.write("other.yaml", text=CONFIG.replace("128", "96")), status=2)
        finally:
            job.server, job.home = ours, home
        assert said in " ".join(said_so.split()) and "Traceback" not in said_so
