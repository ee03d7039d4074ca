"""`hush run` as a user runs it: a process of its own, a real repository, Prefect and MLflow embedded.

The repository is small and the model tiny; nothing is replaced by a stand-in.
"""

import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
from pathlib import Path

import polars as pl
import pytest
from jobs import CONFIG, Job
from small_disk import hush_on_a_full_disk, small_disk
from waiting import PATIENCE

from flows.answers import Answer, find_answer
from hush_core.config import Changes, load_config
from hush_core.files import file_sha256
from tasks.runtime.store import Store

LATER = "{{id: later, kind: literals, file: later.txt, level: high, bits: 20, protect: noise, may_be_empty: true}}"
TEXT = CONFIG.replace("chunk_bytes", f"  - {LATER}\nchunk_bytes")


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    job = Job(tmp_path_factory.mktemp("job"), seed=11, empty=True)
    (job.folder / "later.txt").write_text("a-name-that-nobody-wrote-yet\n")
    job.write(text=TEXT)
    return job


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


@pytest.mark.slow
def test_a_job_whose_disk_was_full_said_so_in_one_line_and_the_next_one_went_on(tmp_path):
    job = Job(tmp_path, seed=11, empty=True)
    with small_disk(job.home, 1 << 20) as disk:
        if not disk:
            pytest.skip("only root may mount a disk to fill")
        output, status, left = hush_on_a_full_disk(
            job, disk, "run", job.config, from_line="Task run 'extract"
        )
        next_one = job.hush("run", job.config)
    assert status == 1, output[-4000:]
    said = [line for line in output.splitlines() if line.startswith("hush: ")]
    assert said == ["hush: the disk is full; free some, and start the same command again"]
    assert "Traceback" not in output and len(output.splitlines()) < 25
    assert states(output) == {"extract": ["Failed"]}
    whole = [path for path in left if path.parts[:2] == ("store", "objects")]
    assert all(file_sha256(job.home / path) == path.name.partition(".")[0] for path in whole)
    assert not [path for path in left if path.parts[:2] == ("store", "tmp")]
    assert states(next_one)["extract"][0] == "Completed" and "Traceback" not in next_one


def told(job, database, query):
    """The first column of all rows, joined."""
    with sqlite3.connect(f"file:{job.home / database}?mode=ro", uri=True) as opened:
        return "\n".join(str(row[0]) for row in opened.execute(query))


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
    html, document = (
        next((job.home / "mlartifacts").rglob(f"report.{kind}")).read_text() for kind in ("html", "json")
    )
    assert html == (job.home / "reports" / "job-1.html").read_text() and html.count("data:image/png") >= 6
    words = " ".join(re.sub(r"<[^>]*>", " ", html).split())
    assert "4 of 4 rounds released" in words and "UNPROTECTED model" in words
    assert str(job.home / "reports" / "job-1.html") in first
    assert not any(value.decode() in page for value in job.values for page in (html, document))
    shown = told(
        job, "mlflow.db", "SELECT step FROM metrics WHERE key = 'training/rounds_released' ORDER BY step"
    )
    assert shown.split()[0] == "1" and shown.split()[-1] == "4", "from the first round to the last"
    assert told(job, "mlflow.db", "SELECT status FROM runs") == "FINISHED"  # and the model is in the same run
    assert not list((job.home / "store" / "live").iterdir())
    progress = told(job, "prefect/prefect.db", "SELECT data FROM artifact WHERE key = 'hush-rounds'")
    assert float(progress) == 100
    pages = {
        "orchestrator": told(job, "prefect/prefect.db", "SELECT data FROM artifact WHERE key = 'hush-train'"),
        "tracker": words,
        "registry": told(job, "mlflow.db", "SELECT description FROM model_versions"),
    }
    for place, page in pages.items():  # as loud where a reviewer looks as in the terminal
        assert "arnings" in page and "protected 7." in " ".join(re.sub(r"[|]", " ", page).split()), place
        assert "No other version is champion" in page, place
        assert not any(value.decode() in page for value in job.values), place
    assert (
        told(job, "mlflow.db", "SELECT value FROM params WHERE key = 'c'") == "0.4"
    )  # as the config says it
    stages = re.findall(r" - ([a-z ]+): (\d+) of (\d+)", first)
    ends = {stage: (int(done), int(total)) for stage, done, total in stages}
    assert len(ends) > 4 and all(done == total for done, total in ends.values()), ends
    assert "custom_model_development" in told(job, "mlflow.db", "SELECT value FROM experiment_tags")
    assert "| `quants` |" in pages["orchestrator"] and ">quants<" in html
    assert "train job" in told(job, "prefect/prefect.db", "SELECT name FROM flow_run")
    (bounds,) = (job.home / "mlartifacts").rglob("bounds.preview.csv")
    assert "posterior" in bounds.read_text().splitlines()[0]
    work = {path.name for path in (job.home / "store" / "work").rglob("*.*") if path.is_file()}
    assert work == {"releases.jsonl", "checkpoint.pt"}  # the count, and one checkpoint


def test_hopeless_rounds_are_warned_of_before_anything_is_released_and_in_the_report(first):
    before, _, after = first.partition(" - train: 1 of")
    assert re.search(r"WARNING .*HOPELESS: the noise of all rounds", before), before[-3000:]
    assert "HOPELESS" in after


@pytest.fixture
def same_answers(job, first):
    """The answers of the home are those of before the test."""
    folder = job.home / "store" / "answers"
    before = set(folder.iterdir())
    yield
    for file in set(folder.iterdir()) - before:
        file.unlink()


@pytest.mark.usefixtures("same_answers")
def test_with_a_server_named_the_second_run_is_shown_there_and_trains_nothing_and_the_third_is_answered(
    job, first, monkeypatch
):
    """The first under that server is a run of the flow; what it kept answers the next, which Prefect shows."""
    query = "SELECT COUNT(*) FROM flow_run WHERE state_name = 'Cached' AND state_type = 'COMPLETED'"
    before = told(job, "prefect/prefect.db", query)
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPROFILEIMPORTTIME", "1")
        output = job.hush("run", job.config)
    loaded = set(re.findall(r"^import time: .*\| +(\w+)$", output, re.M))
    assert {"prefect", "mlflow", "polars"} <= loaded, "the test is blind"
    assert not {"torch", "transformers", "pytorch_lightning", "matplotlib"} & loaded
    ended = states(output)
    assert set(ended) == set(states(first)) and "train" in ended
    assert all(set(runs) == {"Cached"} for name, runs in ended.items() if name != "record")
    assert "reused" in output and job.versions() == [1]
    assert told(job, "prefect/prefect.db", query) == before
    output = job.hush("run", job.config)
    assert "reused" in output and "Finished in state" not in output
    assert int(told(job, "prefect/prefect.db", query)) == int(before) + 1


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


def test_an_answer_ends_with_an_audit_that_refutes_it(kept):
    """Of its model or of the run that trained it; one of another run changes nothing."""
    from hush_core.auditing.document import AuditDocument
    from hush_core.certificate import read_certificate
    from hush_core.files import files_digest
    from tasks.refutation import keep

    home, config = kept
    certificate = read_certificate(Path(find_answer(config).certificate_dir))

    def refuted(digest, model_files, run):
        document = AuditDocument(
            model="models:/job/1", certificate_digest=digest, model_files=model_files, made_at="2027-01-01",
            store="0" * 64, outcome="refuted", attacks=(), tables={}, code={},
        )  # fmt: skip
        shutil.rmtree(home / "store" / "audits", ignore_errors=True)
        keep(document, run)
        return find_answer(config) is None

    assert not refuted("0" * 64, "0" * 64, "0" * 64)
    assert refuted(certificate.digest, "0" * 64, "0" * 64)
    assert refuted("0" * 64, files_digest(certificate.model_files), "0" * 64)


def test_an_answer_ends_with_its_registered_version(kept):
    home, config = kept
    with sqlite3.connect(home / "mlflow.db") as registry:
        registry.execute("UPDATE model_versions SET current_stage = 'Deleted_Internal'")
    assert find_answer(config) is None


def test_results_of_an_older_hush_are_computed_again_and_nothing_is_released_twice(job, first):
    """Those of a type that there is no more; the ledger and the checkpoint are what they were."""
    ledgers = {path: path.read_bytes() for path in job.home.rglob("releases.jsonl")}
    for record in (job.home / "store" / "results").iterdir():
        record.write_text(
            re.sub(r"tasks\.(training\.Trained|weighing\.Weighed)", r"tasks.\1Before", record.read_text())
        )
    shutil.rmtree(job.home / "store" / "answers")
    output = job.hush("run", job.config)
    ended = states(output)
    assert "Completed" in ended["weigh"] and ended["train"] == ["Completed"]
    assert {*ended["extract"], *ended["calibrate"]} == {"Cached"}
    assert "resumed: 4 rounds released, 0 of them lost" in output and "Traceback" not in output
    assert ledgers and {path: path.read_bytes() for path in job.home.rglob("releases.jsonl")} == ledgers
    assert "models:/job/1" in output and job.versions() == [1]


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


def test_review_moves_the_champion_only_after_approval(job, first):
    from mlflow import MlflowClient

    uri = f"sqlite:///{job.home / 'mlflow.db'}"
    assert not MlflowClient(uri, uri).get_registered_model("job").aliases
    output = job.hush(
        "review", "models:/job/1", "--decision", "approve", "--reason", "bounds hold", "--reviewer", "ada"
    )
    assert "models:/job/1: approved by ada; champion is this version now" in output
    assert MlflowClient(uri, uri).get_model_version_by_alias("job", "champion").version in (1, "1")
    assert MlflowClient(uri, uri).get_model_version("job", "1").tags["reviewed_by"] == "ada"


@pytest.mark.slow
def test_a_changed_method_runs_again_from_calibration_on(job, first):
    """After the tests of a first version, which nobody has approved."""
    job.hush("review", "models:/job/1", "--decision", "approve", "--reason", "first", "--reviewer", "ada")
    output = job.hush("run", job.config, "--method", "renyi")
    ended = states(output)
    assert set(ended["extract"] + ended["weigh"] + ended["pretrain"]) == {"Cached"}
    assert ended["train"] == ["Completed"]
    assert "models:/job/2" in output and "an earlier run was planned otherwise" in " ".join(output.split())
    job.hush("verify", "models:/job/2")
    for page in (
        told(job, "prefect/prefect.db", "SELECT data FROM artifact WHERE key = 'hush-train'"),
        told(job, "mlflow.db", "SELECT description FROM model_versions WHERE version = 2"),
    ):
        assert "an earlier run was planned otherwise" in page, "a warning that no reviewer sees"
        plain = page.replace("&emsp;", "")  # the columns of MLflow stand apart
        assert "champion `models:/job/1`" in plain and "| noise multiplier | 0." in plain


def test_an_entry_that_protects_nothing_stops_the_job_unless_it_may(job, first):
    (job.folder / "nobody.txt").write_text("a-name-that-nobody-wrote\n")
    nothing = job.write("nothing.yaml", text=TEXT.replace("codenames.txt", "nobody.txt"))
    versions, output = job.versions(), job.hush("run", nothing, status=2)
    assert "Traceback" not in output and job.versions() == versions and "Task run 'weigh" not in output
    assert output.count("names: protects nothing") == 2  # once in the log, once as the command's last word
    assert "hush: secrets.names: protects nothing" in output and "may_be_empty" in output
    assert "later: protects NOTHING" in (job.home / "reports" / "job-1.html").read_text()


@pytest.mark.slow
def test_a_rerun_under_another_experiment_is_logged_there(job, first):
    text = TEXT.replace("experiment: job", "experiment: elsewhere")
    output = job.hush("run", job.write("elsewhere.yaml", text=text))
    assert "models:/job/1" in output and "reused" in output
    query = "SELECT e.name FROM runs r JOIN experiments e ON r.experiment_id = e.experiment_id"
    once = told(job, "mlflow.db", query).splitlines()
    assert once.count("elsewhere") == 1
    job.hush("run", job.write("elsewhere.yaml", text=text + "# the same again\n"))
    assert told(job, "mlflow.db", query).splitlines() == once and 1 in job.versions()


@pytest.mark.slow
def test_an_interrupted_run_goes_on(tmp_path):
    job = Job(tmp_path, seed=7)
    text = CONFIG.replace("unprotected: true", "unprotected: false").replace(
        "checkpoint_every: 2", "checkpoint_every: 20"
    )
    config = job.write(rounds=400, text=text)
    # as a terminal does: to every process of the command; as `timeout` does: to the command itself, as a supervisor
    # would, and to all of it; as a terminal does that is closed
    for end in (
        lambda pid: os.killpg(pid, signal.SIGINT),
        lambda pid: (os.kill(pid, signal.SIGTERM), os.killpg(pid, signal.SIGTERM)),
        lambda pid: os.kill(pid, signal.SIGHUP),
    ):
        child = job.start("run", config)
        seen = ""
        for line in child.stdout:
            seen += line
            if re.search(r"train: \d+ of 400", line):
                end(child.pid)
                break
        seen += child.stdout.read()
        assert child.wait(PATIENCE) == 130, seen[-4000:]
        assert "continues from here" in seen and "Traceback" not in seen and job.versions() == []
        with sqlite3.connect(f"file:{job.home}/prefect/prefect.db?mode=ro", uri=True) as database:
            found = {row[0] for row in database.execute("SELECT state_type FROM flow_run")}
        assert found == {"CRASHED"}, "a run would stay Running"
        port = re.search(r"temporary server on http://127.0.0.1:(\d+)", seen)[1]
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", int(port))), "its server still listens"
    output = job.hush("run", config)
    assert set(states(output)["extract"]) == {"Cached"}
    assert "resumed: 400 rounds released, 0 of them lost" in output
    assert "400 of 400 rounds released" in output
    job.hush("verify", "models:/job/1")
