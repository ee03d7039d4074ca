"""`hush run` as a user runs it: a process of its own, a real repository, Prefect and MLflow embedded.

The repository is small and the model tiny; nothing is replaced by a stand-in.
"""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest
from jobs import CONFIG, Job

from flows.answers import Answer, find_answer
from hush_core.config import Changes, load_config
from tasks.runtime.store import Store


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return Job(tmp_path_factory.mktemp("job"), seed=11)


@pytest.fixture(scope="module")
def runs(job):
    """The first run begins a server for itself, as by default, the second none; those after them share one."""
    output = job.hush("run", job.config)
    os.environ["PYTHONPROFILEIMPORTTIME"] = "1"
    try:
        again = job.hush("run", job.config)
    finally:
        del os.environ["PYTHONPROFILEIMPORTTIME"]
    with job.served():
        yield output, again


@pytest.fixture(scope="module")
def first(runs):
    return runs[0]


def states(output):
    """Task name → how its runs ended, in order."""
    found = re.findall(r"Task run '(\w+)-\w+' - Finished in state (\w+)", output)
    return {name: [state for n, state in found if n == name] for name, _ in found}


def test_a_repository_goes_in_and_a_verified_model_comes_out(job, first, tmp_path):
    assert "models:/job/1" in first and "4 of 4 rounds released" in first
    for name in ("alpha", "owners", "quants", "creds/", "names/1"):
        assert name in first
    assert job.versions() == [1]
    output = job.hush("verify", "models:/job/1", "--delta", "1e-6", "--out", tmp_path / "dp")
    assert "verified" in output and "dp_accounting" in output and "(ε, δ) at δ = 1e-06" in output
    privacy = pl.read_csv(tmp_path / "dp" / "privacy.csv")
    assert (privacy.filter(pl.col("examples") > 0)["epsilon"] > 0).all()
    assert {p.name for p in (tmp_path / "dp").iterdir()} == {"privacy.csv", "trade_off.csv", "trade_off.png"}
    proof = Path(re.search(r"proof\s+(\S+)", first).group(1)).expanduser()
    assert "UNPROTECTED model" in (proof / "certificate.json").read_text()
    work = {path.name for path in (job.home / "store" / "work").rglob("*.*") if path.is_file()}
    assert work == {"releases.jsonl", "checkpoint.pt"}  # the count, and one checkpoint


def test_the_second_run_trains_nothing_and_loads_nothing_to_train_with(job, first, monkeypatch):
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    output = job.hush("run", job.config)
    loaded = set(re.findall(r"^import time: .*\| +(\w+)$", output, re.M))
    assert {"prefect", "mlflow", "polars"} <= loaded, "the test is blind"
    assert not {"torch", "transformers", "pytorch_lightning", "matplotlib"} & loaded
    ended = states(output)
    assert set(ended) == set(states(first)) and "train" in ended
    assert all(set(runs) == {"Cached"} for name, runs in ended.items() if name != "record")
    assert "reused" in output and job.versions() == [1]


def test_what_ran_before_is_answered_without_a_server(job, runs):
    """The same words as of the run that made it, but for one, and none of the libraries that it took."""
    first, again = runs
    loaded = set(re.findall(r"^import time: .*\| +(\w+)$", again, re.M))
    assert "polars" in loaded, "the test is blind"
    assert not {"prefect", "mlflow", "torch", "ortools"} & loaded

    def words(output):
        """Of the report; import times and the servers' own lines aside."""
        lines = (x for x in output.split("\n") if not re.match(r"import time:|\d\d:\d\d:\d\d", x))
        report = "\n".join(lines)
        return report[report.index("hush  models:/") :].split()

    reused = ["(reused:", "nothing", "was", "trained)"]
    given = words(again)
    assert given[2:6] == reused and given[:2] + given[6:] == words(first)


@pytest.fixture
def kept(job, first, tmp_path, monkeypatch):
    """A home that answers, to be spoilt; the config that it answers."""
    home = tmp_path / "home"
    shutil.copytree(job.home, home)
    monkeypatch.setenv("HUSH_HOME", str(home))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{home / 'mlflow.db'}")
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    config = load_config(job.config)
    assert find_answer(config).reused
    return home, config


def test_an_answer_is_given_no_more_once_a_certificate_or_model_is_touched(kept):
    home, config = kept
    (answer,) = (home / "store" / "answers").iterdir()
    assert answer.stat().st_mode & 0o777 == 0o600
    refs = Answer.model_validate_json(answer.read_bytes()).refs
    assert {"model", "certificate", "examples"} <= {ref.kind for ref in refs}
    for ref in (ref for ref in refs if ref.kind in ("model", "certificate", "examples")):
        path = Store(home / "store").path(ref)
        file = max(path.rglob("*"), key=lambda p: p.stat().st_size) if path.is_dir() else path
        data = file.read_bytes()
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        assert find_answer(config) is None, ref.kind
        file.write_bytes(data)
    assert find_answer(config) is not None


def test_an_answer_is_not_given_for_another_job_or_registry_or_server(job, kept, monkeypatch):
    _, config = kept
    assert find_answer(load_config(job.config, Changes(rounds=5))) is None
    moved = config.model_copy(update={"chunk_bytes": config.chunk_bytes + 1})
    assert find_answer(moved) is None
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")  # whoever looks there expects a run
    assert find_answer(config) is None
    monkeypatch.delenv("PREFECT_API_URL")
    monkeypatch.setattr("flows.answers._software", lambda: "another version")
    assert find_answer(config) is None
    monkeypatch.undo()


def test_an_answer_ends_with_its_registered_version(kept):
    home, config = kept
    with sqlite3.connect(home / "mlflow.db") as registry:
        registry.execute("UPDATE model_versions SET current_stage = 'Deleted_Internal'")
    assert find_answer(config) is None


def test_a_changed_method_runs_again_from_calibration_on(job, first):
    output = job.hush("run", job.config, "--method", "renyi")
    ended = states(output)
    assert set(ended["extract"] + ended["weigh"] + ended["pretrain"]) == {"Cached"}
    assert ended["train"] == ["Completed"]
    assert "models:/job/2" in output and "an earlier run was planned otherwise" in " ".join(output.split())
    job.hush("verify", "models:/job/2")


def test_no_value_reaches_log_tracker_or_orchestrator(job, first):
    shared = [
        job.home / "mlflow.db",
        *(job.home / "mlartifacts").rglob("*"),
        *(job.home / "prefect").rglob("*"),
    ]
    shared += [*(job.home / "store" / "results").rglob("*")]
    files = [path for path in shared if path.is_file()]
    assert any(path.suffix == ".parquet" for path in files) and len(files) > 10
    forms = [f for value in job.values for f in (value, value.hex().encode(), value[4:])]
    for path in files:
        data = path.read_bytes()
        if path.suffix == ".parquet":  # compressed: look at what a reader sees
            data += str(pl.read_parquet(path).to_dicts()).encode()
        assert not any(form in data for form in forms), path
    assert not any(value.decode() in first for value in job.values)
    examples = [p for p in (job.home / "store" / "objects").rglob("*.parquet") if b"ghp_" in _text(p)]
    assert examples, "the test is blind: the private store does not hold the value either"


def test_no_hash_of_the_protected_text_is_published(job, first):
    """A commit, tree or table hash would let guesses be tried without asking the model."""
    shared = [
        job.home / "mlflow.db",
        *(job.home / "mlartifacts").rglob("*"),
        *(job.home / "prefect").rglob("*"),
    ]
    data = b"".join(path.read_bytes() for path in shared if path.is_file()) + first.encode()
    objects = [p for p in (job.home / "store" / "objects").rglob("*.parquet") if _text(p)]
    ids = subprocess.run(
        ["git", "-C", job.folder / "repository", "log", "--format=%H%n%T"], capture_output=True, check=True
    ).stdout.split()
    assert len(ids) >= 4 and len(objects) >= 2
    for secret in [*ids, *(path.stem.encode() for path in objects)]:
        assert secret not in data and bytes.fromhex(secret.decode()) not in data


def _text(path):
    frame = pl.read_parquet(path)
    return b"".join(frame["text"].to_list()) if "text" in frame.columns else b""


def test_one_changed_byte_of_the_certificate_is_refused_by_the_command(job, first, tmp_path):
    directory = re.search(r"proof\s+(\S+)", first).group(1)
    copy = tmp_path / "certificate"
    shutil.copytree(Path(directory).expanduser(), copy)
    job.hush("verify", copy)
    document = copy / "certificate.json"
    data = document.read_bytes()
    document.write_bytes(data.replace(b'"rounds": 4', b'"rounds": 5'))
    output = job.hush("verify", copy, status=1)
    assert "edited" in output and "Traceback" not in output


def test_review_moves_the_champion_only_after_approval(job, first):
    from mlflow import MlflowClient

    uri = f"sqlite:///{job.home / 'mlflow.db'}"
    output = job.hush("review", "models:/job/1", "--decision", "reject", "--reason", "not yet")
    assert "reject" in output and not MlflowClient(uri, uri).get_registered_model("job").aliases
    output = job.hush(
        "review", "models:/job/1", "--decision", "approve", "--reason", "bounds hold", "--reviewer", "ada"
    )
    assert "models:/job/1: approve, by ada; champion is this version now" in output
    assert MlflowClient(uri, uri).get_model_version_by_alias("job", "champion").version in (1, "1")
    assert MlflowClient(uri, uri).get_model_version("job", "1").tags["reviewed_by"] == "ada"


MISTAKES = {
    "unknown key": ("chunk_bytes: 128", "chunk_byte: 128", "unknown key chunk_byte"),
    "missing repository": ("path: {repository}", "path: nowhere", "nowhere"),
    "unknown revision": ("path: {repository}", "path: {repository}, rev: no-such-branch", "revision"),
    "batch above the weight": ("batch: {batch}", "batch: 100000", "train.batch"),
    "nothing found": ('globs: ["trading/**"]', 'globs: ["trading/**"], bits: 3', "not above the prior"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_and_status_2(tmp_path, mistake):
    old, new, says = MISTAKES[mistake]
    job = Job(tmp_path, seed=3)
    assert old in CONFIG
    output = job.hush("run", job.write("wrong.yaml", text=CONFIG.replace(old, new)), status=2)
    told = [line for line in output.splitlines() if line.startswith("hush: ")]
    assert len(told) == 1 and says in told[0] and "Hint:" in told[0]
    assert "Traceback" not in output and job.versions() == []


def test_a_graph_without_edges_is_refused(tmp_path):
    job = Job(tmp_path, seed=5)
    text = re.sub(r"  - .*\n", "", CONFIG).replace(
        "secrets:\n",
        'secrets:\n  - {{id: none, kind: contributors, emails: ["nobody@example.com"], level: high}}\n',
    )
    output = job.hush("run", job.write("empty.yaml", text=text), status=2)
    assert "Traceback" not in output and job.versions() == []
    assert output.count("no example") == 2  # once in the log, once as the command's last word
    assert "hush: secrets: no example" in output


def test_an_interrupted_run_goes_on(tmp_path):
    job = Job(tmp_path, seed=7)
    config = job.write(rounds=400)
    # as a terminal does: to every process of the command; as `kill` and a supervisor do: to the command itself
    for end in (lambda pid: os.killpg(pid, signal.SIGINT), lambda pid: os.kill(pid, signal.SIGTERM)):
        child = job.start("run", config)
        seen = ""
        for line in child.stdout:
            seen += line
            if re.search(r"train: \d+ of 400", line):
                time.sleep(0.5)
                end(child.pid)
                break
        seen += child.stdout.read()
        assert child.wait(timeout=120) == 130, seen[-4000:]
        assert "goes on from here" in seen and "Traceback" not in seen and job.versions() == []
    output = job.hush("run", config)
    assert states(output)["extract"] == ["Cached"]
    assert "resumed: 400 rounds released, 0 of them lost" in output
    assert "400 of 400 rounds released" in output
    job.hush("verify", "models:/job/1")
