"""The audit flow on real servers and real models: what is refuted, what is not, and what of it is told."""

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

import mlflow
import numpy as np
import polars as pl
import pytest
from certifying import certify
from prefect import flow
from prefect.context import FlowRunContext
from prefect.exceptions import Pause
from prefect.states import Suspended

from flows.audit import audit
from flows.demo.run import audited
from flows.reports.job_report import Report, SecretRow
from flows.review import review
from flows.runs import add_runs, counted_runs
from flows.verify import verify_target
from hush_core.auditing.canaries import plant_canaries
from hush_core.auditing.document import read_audit
from hush_core.config import ByteGptModel
from hush_core.errors import InputError, VerificationError
from hush_core.training import byte_gpt, fit_plain, save_model
from tasks.audit import AuditInputs, _in_parts, note_inputs
from tasks.audit_record import note_elsewhere, record_audit, signed
from tasks.champion import fetch_champion
from tasks.models import Model
from tasks.refutation import refuted_runs
from tasks.runtime.environment import Home, home
from tasks.runtime.progress import SCREENS
from tasks.runtime.store import Store
from tasks.runtime.versions import find_version, model_files

pytestmark = pytest.mark.usefixtures("prefect_harness")

CANARIES = plant_canaries(6, length=12, repeats=(2,), seed=3, form="code {number}: {value}.")
RNG = np.random.default_rng(8)
REST = [bytes(RNG.integers(97, 123, 30).astype(np.uint8)) for _ in range(24)]
TEXTS = [*CANARIES.texts, *REST]
VALUES = [TEXTS[i][start:end] for _, i, start, end in CANARIES.occurrences.iter_rows()]
ROUNDS, BATCH = 4, 6


def start_model():
    return byte_gpt(ByteGptModel(layers=1, width=64, heads=2), 48, seed=0)


@pytest.fixture(scope="module")
def learned():
    """Trained without any protection, on every text with a secret."""
    return fit_plain(TEXTS[:12], start_model(), steps=220, batch=12, learning_rate=5e-3)


def run_of(name):
    """A run of its own for each model: what refutes one concerns no other."""
    return hashlib.sha256(name.encode()).hexdigest()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("audited")


@pytest.fixture(scope="module")
def registered(prefect_harness, register, folder):
    """Register a model under a name, with a certificate that verifies, whatever the model was trained on."""
    root = folder

    def make(name, model, start=None):
        folder, certificate = root / name / "model", root / name / "certificate"
        save_model(model, folder)
        edges = CANARIES.occurrences.select("example_id", "secret_id", reason=pl.lit("canary")).sort(
            "example_id"
        )
        secrets = CANARIES.secrets.select(
            "secret_id", kind=pl.lit("canaries"), name="name", prior=pl.lit(2.0**-33), posterior=pl.lit(1e-4),
            bits=pl.lit(33.0), provenance=pl.lit("planted"),
        )  # fmt: skip
        shape = {"examples": 36, "batch": BATCH, "rounds": ROUNDS}
        certify(certificate, folder, edges, secrets, **shape, name=name, run=run_of(name))
        uri = register(name, model_dir=folder, certificate_dir=certificate).model_uri
        if start is not None:
            note(certificate, secrets, start, root / name / "start")
        return uri

    return make


SHARED = "models:/shared/1"


@pytest.fixture(scope="module")
def audited_once(registered, learned):
    """A model that this home's audit refuted: its run, and the audit as it lies in the registry."""
    assert registered("shared", learned, start_model()) == SHARED
    with pytest.raises(VerificationError):
        audit(SHARED, alternatives=50)
    return run_of("shared"), artifact(SHARED, "audit.json")


@pytest.fixture
def refuted(audited_once):
    """The same in each test, whatever the one before did to it."""
    run, document = audited_once
    client, entry = mlflow.MlflowClient(), find_version(SHARED)
    client.log_text(entry.run_id, document, "audits/audit.json")
    client.set_model_version_tag("shared", "1", "audit", "refuted")
    return run, document


def note(certificate, secrets, start, folder):
    store = Store(home().store)
    save_model(start, folder)
    examples = pl.DataFrame(
        {"example_id": range(36), "path": [f"file-{i}" for i in range(36)], "text": TEXTS},
        schema={"example_id": pl.UInt32, "path": pl.String, "text": pl.Binary},
    )
    empty = {"redacted_id": pl.UInt32}
    tables = {
        "examples": examples,
        "occurrences": CANARIES.occurrences,
        "secrets": secrets,
        "redactions": pl.DataFrame(schema=empty),
        "redacted_values": pl.DataFrame(schema=empty),
        "redacted": pl.DataFrame(schema=empty),
    }
    refs = {name: store.put_frame(frame, kind=name) for name, frame in tables.items()}
    model = Model(files=store.put_directory(folder, kind="model"), bits=None, unit="byte")
    note_inputs(store, store.put_directory(certificate, kind="certificate"), AuditInputs(start=model, **refs))


def artifact(uri, name):
    return mlflow.artifacts.load_text(f"runs:/{find_version(uri).run_id}/audits/{name}")


def told(uri, tmp_path):
    """Everything of the audit that others can read."""
    folder = mlflow.artifacts.download_artifacts(
        f"runs:/{find_version(uri).run_id}/audits", dst_path=str(tmp_path)
    )
    found = str(find_version(uri).tags).encode()
    for path in sorted((tmp_path / "audits").iterdir()):
        found += path.read_bytes()
        if path.suffix == ".parquet":
            found += str(pl.read_parquet(path).to_dicts()).encode()
    assert folder and b"audit" in found
    return found


@pytest.mark.slow
def test_a_model_trained_without_protection_is_refuted(registered, learned, tmp_path, capfd):
    uri = registered("unprotected", learned, start_model())
    review(uri, reviewer="ada", decision="approve", reason="looks good")
    assert "champion" in mlflow.MlflowClient().get_registered_model("unprotected").aliases
    with pytest.raises(VerificationError, match="more than the certificate allows"):
        audit(uri, alternatives=200)
    tags = find_version(uri).tags
    assert "champion" not in mlflow.MlflowClient().get_registered_model("unprotected").aliases
    assert tags["validation_status"] == tags["audit"] == "refuted" and tags["reviewed_by"] == "hush audit"
    assert "evidence" in tags["review_reason"] and tags["decision_2"].startswith("refuted by hush audit")
    document = json.loads(artifact(uri, "audit.json"))
    first = document["attacks"][0]
    assert (
        first["outcome"] == "refuted" and first["evidence"] > 1000 and first["ceiling"] >= first["evidence"]
    )
    with pytest.raises(VerificationError, match="REFUTED"):
        verify_target(uri)
    with tempfile.TemporaryDirectory() as folder:
        files = Store(home().store).put_directory(model_files(uri, Path(folder)), kind="model")
    with pytest.raises(InputError, match="was refuted by an audit"):
        fetch_champion.fn("unprotected", (("f" * 64, "0" * 64), ("e" * 64, files.sha256)))
    again = registered("again", learned, start_model())  # another certificate of the same model
    with pytest.raises(VerificationError, match="REFUTED"):
        verify_target(again)
    with pytest.raises(InputError, match="refuted model cannot be approved"):
        review(again, reviewer="ada", decision="approve", reason="this one is new")
    with pytest.raises(InputError, match="refuted model cannot be approved"):
        review(uri, reviewer="ada", decision="approve", reason="I do not care")
    assert review(uri, reviewer="ada", decision="reject", reason="it leaks").decision == "reject"
    output = "".join(capfd.readouterr()).encode()
    for value in VALUES:
        assert value not in output and value not in told(uri, tmp_path / value.decode())


@pytest.mark.slow
def test_suspended_it_ends_at_once_and_resumed_it_repeats_no_finished_attack(registered):
    """The request is Prefect's own, as its engine notes it when its server has accepted Suspend."""
    uri, seen = registered("paused", start_model(), start_model()), []

    def suspend(stage, done, total):
        seen.append(stage)
        if stage == "log-likelihoods":
            FlowRunContext.get().flow_run_suspension_request.mark_requested(Suspended())

    def watch(stage, done, total):
        seen.append(stage)

    SCREENS.append(suspend)
    try:
        with pytest.raises(Pause) as stopped:
            audit(uri, alternatives=20)
    finally:
        SCREENS.remove(suspend)
    assert stopped.value.state.name == "Suspended" and "audit" not in find_version(uri).tags
    assert "secrets attacked" in seen and seen.count("log-likelihoods") == 1, "it went on"
    seen.clear()
    SCREENS.append(watch)
    try:
        report = audit(uri, alternatives=20)
    finally:
        SCREENS.remove(watch)
    assert report.document.outcome == find_version(uri).tags["audit"] != "refuted"
    assert "log-likelihoods" in seen and "secrets attacked" not in seen


def test_what_another_home_refuted_is_learned_and_kept_and_its_releases_count(
    refuted, folder, tmp_path, monkeypatch
):
    """By a home of another key, and by a copy of this one that was made before the audit."""
    run, _ = refuted
    shutil.copytree(home().root, tmp_path / "copy", symlinks=True)
    shutil.rmtree(tmp_path / "copy" / "store" / "audits")
    for root in (Home(tmp_path / "other").create().root, tmp_path / "copy"):
        monkeypatch.setenv("HUSH_HOME", str(root))
        assert home().root == root
        note_elsewhere({"1" * 64})
        assert not refuted_runs()
        note_elsewhere({run, "1" * 64})
        assert set(refuted_runs()) == {run} and "REFUTED" in refuted_runs()[run].in_words()
    with pytest.raises(VerificationError, match="REFUTED"):
        verify_target(SHARED)
    assert add_runs(SHARED) == (1, 0), "its releases happened, whatever the audit found"
    (counted,) = counted_runs().runs
    assert (counted.key, counted.released) == (run, ROUNDS) and "REFUTED" in counted.refuted
    certificate = str(folder / "shared" / "certificate")
    with pytest.raises(VerificationError, match="REFUTED"):
        verify_target(certificate)
    assert add_runs(certificate) == (0, 1)
    mlflow.MlflowClient().delete_model_version_tag("shared", "1", "audit")
    note_elsewhere({run})
    assert set(refuted_runs()) == {run}, "kept for good, whatever becomes of the registry"


def test_a_home_that_found_nothing_hides_no_refutation_of_another(refuted, tmp_path, monkeypatch):
    run, document = refuted
    monkeypatch.setenv("HUSH_HOME", str(Home(tmp_path / "other").create().root))
    harmless = {"outcome": "not refuted", "store": home().fingerprint("identity")}
    refuting = read_audit(document.encode(), "audit.json")
    record_audit.fn(SHARED, signed(refuting.model_copy(update=harmless)), [], run)
    assert find_version(SHARED).tags["audit"] == "refuted"
    assert json.loads(artifact(SHARED, "audit.json"))["outcome"] == "refuted"
    assert json.loads(artifact(SHARED, "audit-later.json"))["outcome"] == "not refuted"
    with pytest.raises(VerificationError, match="REFUTED"):
        verify_target(SHARED)
    monkeypatch.setattr("tasks.audit_record.runs_in_model", lambda _: ("3" * 64, "2" * 64))
    note_elsewhere({"2" * 64})
    assert set(refuted_runs()) == {"2" * 64}, "the run whose releases a model without rounds holds"
    forged = refuting.model_copy(update={"model_files": "4" * 64, "store": "5" * 64})
    mlflow.MlflowClient().log_text(
        find_version(SHARED).run_id, forged.to_bytes().decode(), "audits/audit.json"
    )
    with pytest.raises(VerificationError, match="an audit of something else"):
        note_elsewhere({"3" * 64})
    assert set(refuted_runs()) == {"2" * 64}


@pytest.mark.slow
def test_what_the_model_before_says_too_is_no_evidence(registered, learned):
    report = audit(registered("guessable", learned, learned), alternatives=200)
    assert report.document.outcome != "refuted"
    assert {a.evidence for a in report.document.attacks if a.evidence is not None} == {0.0}
    assert all(row["extracted"] and row["extracted_start"] for row in report.rows)


def test_a_protected_model_is_not_refuted_and_is_told_so(registered, tmp_path):
    quiet = byte_gpt(ByteGptModel(layers=1, width=64, heads=2), 48, seed=1)
    uri = registered("quiet", quiet, start_model())
    out = tmp_path / "out"
    report = audit(uri, alternatives=200, out=str(out))
    outcomes = {a.name: a.outcome for a in report.document.attacks}
    assert report.document.outcome == "not refuted" and outcomes["written out"] == "not refuted"
    assert outcomes["k-extraction"] == outcomes["calibrated loss"] == "no test of the certificate"
    assert {p.name for p in out.iterdir()} >= {
        "secrets.parquet",
        "audit.png",
        "audit.json",
        "texts_at_risk.png",
    }
    table = pl.read_parquet(out / "secrets.parquet")
    assert table.height == 6 and (table["written"] <= table["written_upper"]).all()
    assert (table["certified"] <= 1e-4).all() and not table["extracted"].any()
    assert "not refuted; 1 of 2 attacks" in verify_target(uri).audit
    assert review(uri, reviewer="ada", decision="approve", reason="audited").decision == "approve"


def job_report(uri):
    """Of the report that the demo's job ends in, what its audit reads."""
    promise = {"kind": "canaries", "examples": 2, "prior": 2.0**-33, "target": 1e-4, "bound": 1e-4}
    rows = [SecretRow(name=name, **promise) for name in CANARIES.secrets["name"]]
    return Report.model_construct(model_uri=uri, rows=rows)


@pytest.mark.slow
def test_the_demo_shows_its_audit_beside_what_is_certified(registered, learned, tmp_path):
    """Certified above, the best guess at every noisy step below it, and what the model writes out below that; a
    refutation is told in the same report."""
    quiet = byte_gpt(ByteGptModel(layers=1, width=64, heads=2), 48, seed=1)
    report = audited(job_report(registered("demo", quiet, start_model())), tmp_path / "demo-audit")
    assert not report.audit_refuted and "not refuted" in report.audit and Path(report.audit_picture).is_file()
    assert all(row.attacked < row.every_step < row.bound for row in report.rows)
    leaky = audited(job_report(registered("leaky", learned, start_model())), tmp_path / "leaky-audit")
    assert leaky.audit_refuted and all(row.attacked > row.bound for row in leaky.rows)


@pytest.mark.slow
def test_an_audit_that_cannot_refute_does_not_say_that_anything_held(registered):
    """Ranked among 20 the evidence is 21 at most, and 200 refutes."""
    report = audit(registered("few", start_model(), start_model()), alternatives=20)
    ranked = next(a for a in report.document.attacks if a.name.startswith("ranked"))
    assert ranked.outcome == "cannot refute" and ranked.ceiling < ranked.needed
    assert "passed" not in report.document.model_dump_json()


def test_an_edited_audit_is_found(refuted):
    client, run = mlflow.MlflowClient(), find_version(SHARED).run_id
    document = refuted[1].replace('"outcome": "refuted"', '"outcome": "not refuted"', 1)
    client.log_text(run, document, "audits/audit.json")
    with pytest.raises(VerificationError, match="edited"):
        verify_target(SHARED)
    client.delete_model_version_tag("shared", "1", "audit")  # nor is it forgotten: the home has it too
    with pytest.raises(VerificationError, match="REFUTED"):
        verify_target(SHARED)


def test_a_killed_attack_goes_on_behind_the_parts_that_it_saved(monkeypatch):
    places = pl.DataFrame({"secret_id": range(5)}, schema={"secret_id": pl.UInt32})
    monkeypatch.setattr("tasks.audit.PART", 2)
    asked = []

    def attack(ids):
        asked.append(list(ids))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return pl.DataFrame({"secret_id": ids})

    @flow
    def some():
        return _in_parts(Store(home().store), "audit-parts-test", places, "secret_id", attack)[
            "secret_id"
        ].to_list()

    with pytest.raises(KeyboardInterrupt):
        some()
    assert some() == [0, 1, 2, 3, 4] and asked == [[0, 1], [2, 3], [2, 3], [4]]
    assert not any(Store(home().store).work_dir("audit-parts-test").iterdir())


def test_a_home_without_the_texts_says_so(registered):
    uri = registered("elsewhere", start_model())
    with pytest.raises(InputError, match="was not trained in this HUSH_HOME"):
        audit(uri)
