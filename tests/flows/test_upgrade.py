"""What an older hush left behind, met by this one: its runs are counted, and its champions stay what they are."""

import hashlib
import json

import mlflow
import pytest
from old_home import unpack

import flows.watch as module
from flows.review import review
from flows.watch import HOLDS, watch
from hush_core.errors import OlderSchema, VerificationError
from hush_core.files import file_sha256
from hush_core.history import RunHistory
from tasks.champion import _promoted
from tasks.runtime.approvals import APPROVED
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
    """(name) → a champion that an older hush certified, registered and promoted."""

    def make(name, *, approved=True):
        uri = register(name).model_uri
        path = artifact(uri) / "certificate" / "certificate.json"
        document = json.loads(path.read_bytes()) | {"schema_version": "hush-certificate/7", "digest": ""}
        document["digest"] = hashlib.sha256(canonical(document)).hexdigest()
        path.write_bytes(canonical(document))
        client, sha256 = mlflow.MlflowClient(), file_sha256(path)
        client.set_model_version_tag(name, "1", DIGEST, sha256)
        if approved:
            decide(uri, APPROVED, by="ada", why="fine", certificate=sha256)
        else:
            client.set_registered_model_alias(name, "champion", "1")
        return uri

    return make


def canonical(document):
    return (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()


def artifact(uri):
    return home().artifacts / "models" / find_version(uri).source.removeprefix("models:/") / "artifacts"


def champion(name):
    return mlflow.MlflowClient().get_registered_model(name).aliases.get("champion")


def edit(path):
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)


def test_a_champion_of_an_older_hush_stays_champion_until_a_newer_one_is_reviewed(older, register):
    uri = older("upgraded")
    for look in (lambda: watch(models=["upgraded"]), lambda: review(uri, "ada", "approve", "again")):
        with pytest.raises(VerificationError, match="an older hush certified it") as caught:
            look()
        assert "no longer champion" not in str(caught.value) and "/tmp" not in str(caught.value)
        assert str(champion("upgraded")) == "1"
        assert find_version(uri).tags["validation_status"] == APPROVED
    found, files = _promoted("upgraded", Store(home().store))  # what a promise's next run goes on from
    assert found == uri and files.sha256
    review(register("upgraded").model_uri, "ada", "approve", "certified anew")
    assert watch(models=["upgraded"]).models[0].found == HOLDS and str(champion("upgraded")) == "2"


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
