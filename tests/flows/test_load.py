"""Who uses a model gets it verified, approved and signed, or not at all."""

import os
import subprocess
import sys

import mlflow
import pytest
import torch
from signing_keys import write_pair
from sizes import some

import hush
from flows.review import review
from hush_core.errors import InputError, VerificationError
from tasks.runtime import approvals, decisions
from tasks.runtime.environment import Home, home
from tasks.runtime.versions import DIGEST, find_version

pytestmark = pytest.mark.usefixtures("prefect_harness")


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """(private key, trust root) of the organisation, and those of a stranger."""
    folder = tmp_path_factory.mktemp("keys")
    return write_pair(folder, "acme"), write_pair(folder, "stranger")


@pytest.fixture
def acme(keys, monkeypatch):
    (private, trust), _ = keys
    monkeypatch.setenv("HUSH_SIGNING_KEY", str(private))
    return trust


def approve(uri, decision="approve"):
    review(uri, reviewer="ada", decision=decision, reason="fine")
    return uri


def test_the_champion_is_loaded_elsewhere_by_who_trusts_the_key(register, acme, keys, monkeypatch, tmp_path):
    name = "used"
    uri = approve(register(name).model_uri)
    monkeypatch.delenv("HUSH_SIGNING_KEY")
    monkeypatch.setattr("tasks.runtime.approvals.home", lambda: Home(tmp_path / "consumer"))
    model = hush.load(f"models:/{name}@champion", trust=acme)
    assert model.uri == uri and "approved by ada" in model.approval and "signed by acme" in model.approval
    tokens = model.tokenizer("def f(", return_tensors="pt")
    with torch.no_grad():
        assert model.network(**tokens).logits.isfinite().all()
    assert not model.network.training and model.verification.rows.height == 2
    with pytest.raises(VerificationError, match="not one of those that are trusted"):
        hush.load(f"models:/{name}@champion", trust=keys[1][1])


@pytest.mark.parametrize("state", some(["unreviewed", "rejected", "refuted", "edited"], 2))
def test_what_may_not_be_used_is_refused(register, acme, state):
    name = "unused-" + state.replace(" ", "-")
    uri, client = register(name).model_uri, mlflow.MlflowClient()
    if state in ("rejected", "refuted", "edited"):
        approve(uri)
    if state == "rejected":
        approve(uri, "reject")
    if state == "refuted":
        decisions.decide(uri, approvals.REFUTED, by="hush audit", why="found too much")
    if state == "edited":
        artifacts = home().artifacts / "models" / find_version(uri).source.removeprefix("models:/")
        weights = artifacts / "artifacts" / "model" / "model.safetensors"
        data = weights.read_bytes()
        weights.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    client.set_registered_model_alias(name, "champion", "1")
    with pytest.raises(VerificationError) as refusal:
        hush.load(f"models:/{name}@champion", trust=acme)
    expected = {"unreviewed": "nobody approved", "edited": "safetensors"}
    assert expected.get(state, f"is {state}") in str(refusal.value)


def test_a_registry_that_answers_with_another_version_is_caught(register, monkeypatch):
    uri, other = approve(register("asked").model_uri), register("other").model_uri
    answer = find_version(other)
    with monkeypatch.context() as patch:
        patch.setattr(mlflow.MlflowClient, "get_model_version", lambda *_: answer)
        with pytest.raises(VerificationError, match="answers with models:/other/1"):
            find_version(uri)


def test_what_was_approved_and_what_was_verified_are_one(register, monkeypatch):
    """The registry's tags are read before the files: between them the version may become another one."""
    uri = approve(register("swapped-before-loading").model_uri)
    before = find_version(uri)
    before.tags[DIGEST] = "1" * 64
    with monkeypatch.context() as patch:
        patch.setattr("tasks.runtime.versions.find_version", lambda _: before)
        with pytest.raises(VerificationError, match="changed while it was loaded"):
            hush.load(uri)
    with pytest.raises(VerificationError, match="is not what was reviewed"):
        decisions.decide(uri, approvals.APPROVED, by="ada", why="fine", certificate="1" * 64)
    with pytest.raises(VerificationError, match="is not what was reviewed"):
        decisions.decide(uri, approvals.APPROVED, by="ada", why="fine")


def test_without_a_trust_root_only_the_home_that_reviewed_it_can_load_it(register, monkeypatch, tmp_path):
    uri = approve(register("own").model_uri)
    assert "with the key of this home" in hush.load(uri).approval
    monkeypatch.setattr("flows.load.home", lambda: Home(tmp_path / "other").create())
    with pytest.raises(VerificationError, match="no trust root says whose review counts"):
        hush.load(uri)


def test_a_signed_model_is_wanted_where_there_is_a_trust_root(register, keys):
    uri = approve(register("plain").model_uri)
    with pytest.raises(VerificationError, match="no organisation signed"):
        hush.load(uri, trust=keys[0][1])


def test_importing_it_imports_nothing_and_a_registry_must_be_named(tmp_path):
    code = """
import sys, hush
assert not {"torch", "mlflow", "prefect", "flows"} & sys.modules.keys(), "imported"
try:
    hush.load("models:/x@champion")
except Exception as error:
    print(type(error).__name__, error)
"""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_", "HUSH_"))}
    environment = {**kept, "HUSH_HOME": str(tmp_path / "none"), "PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=600
    )
    assert told.stdout.startswith("InputError MLFLOW_TRACKING_URI: names no registry"), told.stderr[-2000:]
    assert not (tmp_path / "none").exists()
    with pytest.raises(InputError, match="is not in the registry"):
        hush.load("models:/nothing@champion")
    with pytest.raises(AttributeError):
        hush.nothing  # noqa: B018
