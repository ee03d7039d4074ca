"""What an older hush left behind, met by this one: its runs are counted, and its champions stay what they are."""

import hashlib
import io
import json
import shutil

import mlflow
import polars as pl
import pytest
import yaml
from old_home import unpack
from rich.console import Console
from signing_keys import write_pair
from sizes import some
from versions import artifact, champion, edit

import flows.watch as module
import hush
from flows.review import review, review_in_terminal
from flows.verify import verify_target
from flows.watch import HOLDS, NOBODY, watch
from hush_core.auditing.document import AuditDocument
from hush_core.certificate.older import OlderCertificate, check_unchanged
from hush_core.errors import InputError, OlderSchema, VerificationError
from hush_core.files import file_sha256, files_digest
from hush_core.history import RunHistory
from hush_core.signing import package, read_signing_key
from tasks.champion import _promoted
from tasks.refutation import keep
from tasks.runtime.approvals import APPROVED, REJECTED
from tasks.runtime.decisions import decide
from tasks.runtime.environment import Home, home
from tasks.runtime.store import Store
from tasks.runtime.versions import DIGEST, find_version

pytestmark = pytest.mark.usefixtures("prefect_harness")


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Without the promotions of other tests, and without a pause between two looks."""
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setattr(module, "promotions", lambda: iter(()))


@pytest.fixture
def older(register):
    """(name) → a champion that an older hush certified, registered and promoted; more arguments replace facts."""

    def make(name, *, approved=True, **facts):
        uri = register(name).model_uri
        sha256, client = rewrite(uri, **facts), mlflow.MlflowClient()
        if approved:
            decide(uri, APPROVED, by="ada", why="fine", certificate=sha256)
        else:
            client.set_registered_model_alias(name, "champion", "1")
        return uri

    return make


def rewrite(uri, **facts):
    """Make a version's certificate one of an older hush, with these facts and the tables that lie there; its
    SHA-256, which is noted in the registry."""
    path = artifact(uri) / "certificate" / "certificate.json"
    document = json.loads(path.read_bytes()) | {"schema_version": "hush-certificate/7", "digest": ""}
    # a run of its own: another test refutes the one that the fixture names
    document["facts"] |= {"run": hashlib.sha256(uri.encode()).hexdigest()} | facts
    document["tables"] = {name: file_sha256(path.parent / name) for name in document["tables"]}
    document["digest"] = hashlib.sha256(canonical(document)).hexdigest()
    path.write_bytes(canonical(document))
    sha256, entry = file_sha256(path), find_version(uri)
    mlflow.MlflowClient().set_model_version_tag(entry.name, entry.version, DIGEST, sha256)
    return sha256


def canonical(document):
    return (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()


def test_a_champion_of_an_older_hush_stays_champion_until_a_newer_one_is_reviewed(older, register):
    uri = older("upgraded")
    for look in (lambda: watch(models=["upgraded"]), lambda: review(uri, "ada", "approve", "again")):
        with pytest.raises(VerificationError, match="an older hush certified it") as caught:
            look()
        assert "no longer champion" not in str(caught.value) and "/tmp" not in str(caught.value)
        assert str(champion("upgraded")) == "1"
        assert find_version(uri).tags["validation_status"] == APPROVED
    for load in (hush.load, verify_target):
        with pytest.raises(OlderSchema, match="an older hush certified it"):
            load(uri)
        with pytest.raises(OlderSchema, match="an older hush certified it"):
            load("models:/upgraded@champion")
    found, files = _promoted("upgraded", Store(home().store))  # what a promise's next run goes on from
    assert found == uri and files.sha256
    review(register("upgraded").model_uri, "ada", "approve", "certified anew")
    assert watch(models=["upgraded"]).models[0].found == HOLDS and str(champion("upgraded")) == "2"


@pytest.mark.slow
def test_one_that_was_edited_meanwhile_does_not_pass_for_an_old_one(older):
    name = "upgraded-edited"
    edit(artifact(older(name)) / "model" / "model.safetensors")
    with pytest.raises(VerificationError, match="is no longer champion: .* is missing or was changed"):
        watch(models=[name])
    assert champion(name) is None and find_version(f"models:/{name}/1").tags["validation_status"] == "failed"


def test_one_that_nobody_approved_is_champion_no_more(older):
    older("upgraded-by-hand", approved=False)
    with pytest.raises(VerificationError, match="is no longer champion: .* nobody approved it"):
        watch(models=["upgraded-by-hand"])
    uri = older("upgraded-forged")
    path = artifact(uri) / "certificate" / "certificate.json"
    document = json.loads(path.read_bytes()) | {"digest": ""}
    document["facts"]["plan"]["noise_multiplier"] = 9.0
    document["digest"] = hashlib.sha256(canonical(document)).hexdigest()
    path.write_bytes(canonical(document))
    with pytest.raises(VerificationError, match="not the one whose digest was registered") as caught:
        watch(models=["upgraded-forged"])
    assert not isinstance(caught.value, OlderSchema) and champion("upgraded-forged") is None
    uri = older("upgraded-retagged")
    (artifact(uri) / "certificate" / "certificate.json").write_bytes(path.read_bytes())
    mlflow.MlflowClient().set_model_version_tag("upgraded-retagged", "1", DIGEST, file_sha256(path))
    with pytest.raises(VerificationError, match="no review with the key of this home did that"):
        watch(models=["upgraded-retagged"])
    assert champion("upgraded-retagged") is None


@pytest.mark.parametrize("approved", some([False, True], 1))
def test_without_a_trust_root_one_that_names_another_home_is_champion_no_more(older, approved):
    """Anyone can write such a document, and nobody can be asked whether it is true."""
    name = f"upgraded-foreign-{approved}"
    uri = older(name, approved=approved, store="f" * 64)
    with pytest.raises(VerificationError, match="no longer champion: .* it may be forged"):
        watch(models=[name])
    assert champion(name) is None and find_version(uri).tags["validation_status"] == "failed"


EARLIER = "e" * 64


@pytest.mark.parametrize(
    "way", some(["its files", "its certificate", "its run", "an earlier run", "another home"], 2)
)
def test_one_that_an_audit_refuted_is_champion_no_more(older, way, tmp_path, monkeypatch):
    monkeypatch.setattr("tasks.refutation.home", lambda: Home(tmp_path / "auditing").create())
    name = "upgraded-refuted-" + way.replace(" ", "-")
    uri = older(name, run=hashlib.sha256(way.encode()).hexdigest())
    folder = artifact(uri) / "certificate"
    if way == "an earlier run":
        training = json.loads((folder / "certificate.json").read_bytes())["facts"]["training"]
        table = pl.read_parquet(folder / "runs.parquet", columns=["key"]).clear()
        pl.concat([table, pl.DataFrame({"key": [EARLIER]})]).write_parquet(folder / "runs.parquet")
        sha256 = rewrite(uri, training=training | {"started_from": EARLIER})
        decide(uri, APPROVED, by="ada", why="fine", certificate=sha256)
    assert str(champion(name)) == "1"
    document = json.loads((folder / "certificate.json").read_bytes())
    found = AuditDocument(
        model=uri, made_at="2027-01-01", store="0" * 64, outcome="refuted", attacks=(), tables={}, code={},
        certificate_digest=document["digest"] if way in ("its certificate", "another home") else "0" * 64,
        model_files=files_digest(document["model_files"]) if way == "its files" else "0" * 64,
    )  # fmt: skip
    if way == "another home":
        client = mlflow.MlflowClient()
        client.log_text(find_version(uri).run_id, found.to_bytes().decode(), "audits/audit.json")
        client.set_model_version_tag(name, "1", "audit", "refuted")
    else:
        keep(
            found, *{"its run": [document["facts"]["run"]], "an earlier run": [EARLIER]}.get(way, ["d" * 64])
        )
    with pytest.raises(VerificationError, match="is no longer champion: .*REFUTED"):
        watch(models=[name])
    assert champion(name) is None and find_version(uri).tags["validation_status"] == APPROVED
    with pytest.raises(OlderSchema, match="REFUTED"):
        verify_target(uri)


def test_code_around_its_certified_files_does_not_pass_for_as_they_were(older):
    uri = older("upgraded-around")
    root = artifact(uri)
    (root / "evil.py").write_text("print('at mlflow.pyfunc.load_model')\n")
    mlmodel = yaml.safe_load((root / "MLmodel").read_text())
    mlmodel["flavors"]["python_function"] |= {"loader_module": "evil", "code": "."}
    (root / "MLmodel").write_text(yaml.safe_dump(mlmodel))
    with pytest.raises(InputError, match=r"evil\.py: is not part"):
        _promoted("upgraded-around", Store(home().store))
    with pytest.raises(VerificationError) as caught:
        watch(models=["upgraded-around"])
    for part in ("evil.py: is not part", "python_function.loader_module", "python_function.code"):
        assert f"is no longer champion: {part}" in str(caught.value).replace("MLmodel: flavors.", "")
    assert champion("upgraded-around") is None


def test_where_there_is_a_trust_root_its_whole_package_must_be_signed(register, tmp_path, monkeypatch):
    private, trust = write_pair(tmp_path / "keys", "acme")
    monkeypatch.setenv("HUSH_SIGNING_KEY", str(private))
    monkeypatch.setenv("HUSH_TRUST", str(trust))
    uri = register("upgraded-signed").model_uri
    root, sha256 = (
        artifact(uri),
        rewrite(uri, store="f" * 64),
    )  # of whichever home: the organisation signs for it
    shutil.rmtree(root / "signature")
    older = check_unchanged(root / "certificate", root / "model")
    with monkeypatch.context() as then:
        then.setattr(package, "PREDICATE", "urn:hush:certificate:7")
        then.setattr(OlderCertificate, "model_dump", lambda self, mode: dict(self.document), raising=False)
        package.sign_package(root, older, read_signing_key(private))
    decide(uri, APPROVED, by="ada", why="fine", certificate=sha256)
    with pytest.raises(VerificationError, match="an older hush certified it"):
        watch(models=["upgraded-signed"])
    assert str(champion("upgraded-signed")) == "1"

    def refusal():
        with pytest.raises(VerificationError) as caught:
            verify_target(uri)
        assert not isinstance(caught.value, OlderSchema)
        return str(caught.value)

    bill = (root / "bom.cdx.json").read_bytes()
    (root / "bom.cdx.json").write_bytes(bill + b"\n")
    assert "model.sig: does not hold for these files" in refusal()
    (root / "bom.cdx.json").write_bytes(bill)
    monkeypatch.setenv("HUSH_SIGNING_KEY", "")
    monkeypatch.setenv("HUSH_TRUST", str(write_pair(tmp_path / "keys", "stranger")[1]))
    assert "not one of those that are trusted" in refusal()
    monkeypatch.setenv("HUSH_TRUST", str(trust))
    shutil.rmtree(root / "signature")
    with pytest.raises(VerificationError, match="is no longer champion: .* no organisation signed this"):
        watch(models=["upgraded-signed"])
    assert champion("upgraded-signed") is None


def test_it_can_be_rejected_and_not_approved(older):
    uri = older("upgraded-rejected")
    with pytest.raises(VerificationError, match="changed since it was read"):
        review(uri, "ada", "reject", "it leaks", certificate="0" * 64)
    with pytest.raises(OlderSchema):
        review(uri, "ada", "approve", "it does not")
    done = review(uri, "ada", "reject", "it leaks")
    assert done.decision == "reject" and done.no_champion and champion("upgraded-rejected") is None
    tags = find_version(uri).tags
    assert tags["validation_status"] == REJECTED and tags["review_reason"] == "it leaks"
    assert done.certificate_sha256 == tags[DIGEST] and "decision_2" in tags
    assert watch(models=["upgraded-rejected"]).models[0].found == NOBODY
    for key, value in {"validation_status": APPROVED, "review_signature": "0" * 64}.items():
        mlflow.MlflowClient().set_model_version_tag("upgraded-rejected", "1", key, value)
    mlflow.MlflowClient().set_registered_model_alias("upgraded-rejected", "champion", "1")
    with pytest.raises(
        VerificationError, match="is no longer champion: .* no review with the key of this home"
    ):
        watch(models=["upgraded-rejected"])


@pytest.mark.slow
def test_in_a_terminal_too(older, monkeypatch):
    uri = older("upgraded-asked")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("flows.review.start_server", lambda: None)
    monkeypatch.setattr(
        "typer.prompt", lambda what: {"why": "it leaks", "approve or reject": "approve"}[what]
    )
    ask = {"reason": None, "reviewer": "ada", "console": Console(file=io.StringIO())}
    with pytest.raises(OlderSchema):
        review_in_terminal(uri, decision=None, **ask)
    assert review_in_terminal(uri, decision="reject", **ask).no_champion


def test_the_runs_of_an_older_home_are_counted(tmp_path):
    unpack(tmp_path)
    place = Home(tmp_path / "home")
    history = RunHistory(
        place.store, key=place.identity_key(), identity=place.fingerprint("identity"), refuted={}
    )
    (run,) = history.listed().iter_rows(named=True)
    document = json.loads((tmp_path / "version" / "certificate" / "certificate.json").read_bytes())
    assert run["key"] == document["facts"]["run"]
    assert run["noise_multiplier"] == document["facts"]["plan"]["noise_multiplier"]
    assert (run["rounds"], run["released"], run["secrets"]) == (4, 4, 5)
