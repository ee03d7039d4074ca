"""The review flow under a real engine: who may become champion, and who stops being it."""

import shutil
from dataclasses import replace

import mlflow
import numpy as np
import polars as pl
import pytest
from sizes import some
from versions import approve, artifact, champion, edit

from flows.reports.review import facts_page
from flows.reports.verification import verdict
from flows.review import Decision, review
from flows.verify import verify_target
from hush_core.certificate import read_certificate, read_tables, write_certificate
from hush_core.config import ByteGptModel
from hush_core.errors import InputError, VerificationError
from hush_core.history import PROFILES, RUNS, Earlier
from tasks.champion import Champion, continue_from, fetch_champion
from tasks.runtime.environment import Home
from tasks.runtime.store import open_store
from tasks.runtime.versions import find_version

pytestmark = pytest.mark.usefixtures("prefect_harness")

SHAPE = ByteGptModel(layers=1, width=32, heads=2)
"""Of `certified`, on texts of 65 bytes."""


def test_an_approved_model_becomes_champion(register):
    uri = register("approved").model_uri
    assert approve(uri).decision == "approve"
    assert str(champion("approved")) == "1"
    tags = find_version("models:/approved@champion").tags
    told = {"validation_status": "approved", "reviewed_by": "ada", "review_reason": "fine"}
    assert told.items() <= tags.items() and "reviewed_at" in tags


def test_a_rejected_champion_is_one_no_more(register):
    uri = register("rejected").model_uri
    approve(uri)
    review(uri, reviewer="bob", decision="reject", reason="no")
    assert champion("rejected") is None
    tags = find_version(uri).tags
    assert (tags["validation_status"], tags["reviewed_by"]) == ("rejected", "bob")
    approve(uri)
    tags = find_version(uri).tags  # every decision stays
    told = [tags[f"decision_{n}"].split(" at ")[0] for n in (1, 2, 3)]
    assert told == ["approved by ada", "rejected by bob", "approved by ada"] and "decision_4" not in tags
    assert tags["decision_2"].endswith(": no") and tags["reviewed_by"] == "ada"
    assert str(champion("rejected")) == "1"


@pytest.mark.parametrize(
    "part",
    some(["model/model.safetensors", "certificate/bounds.parquet", "certificate/certificate.json"], 1),
)
def test_an_edited_byte_is_refused_and_dethroned(register, part):
    name = "tampered-" + part.split("/")[1].split(".")[0]
    uri = register(name).model_uri
    approve(uri)
    edit(artifact(uri) / part)
    with pytest.raises(InputError, match=r"train\.start: models:/.* does not verify"):
        fetch_champion.fn(name, ())
    with pytest.raises(VerificationError):
        approve(uri)
    assert champion(name) is None
    assert find_version(uri).tags["validation_status"] == "failed"


@pytest.mark.parametrize(
    "way", some(["alias alone", "alias and status", "another's decision", "edited reason"], 2)
)
def test_a_champion_that_no_review_made_is_refused(register, way):
    """Whoever reaches MLflow can set aliases and tags; the signature takes the home's key."""
    name = "unreviewed-" + way.replace(" ", "-").replace("'", "")
    uri, client = register(name).model_uri, mlflow.MlflowClient()
    if way == "alias and status":
        client.set_model_version_tag(name, "1", "validation_status", "approved")
    if way == "another's decision":  # of a version that was approved, copied
        approve(register(f"{name}-approved").model_uri)
        for key, value in find_version(f"models:/{name}-approved/1").tags.items():
            client.set_model_version_tag(name, "1", key, value)
    if way == "edited reason":
        approve(uri)
        client.set_model_version_tag(name, "1", "review_reason", "better")
    client.set_registered_model_alias(name, "champion", "1")
    with pytest.raises(VerificationError, match="approved"):
        verify_target(f"models:/{name}@champion")
    with pytest.raises(InputError, match=r"(?s)train\.start: models:/.* does not verify: .*approved"):
        fetch_champion.fn(name, ())  # no later run of a promise goes on from it either
    assert verify_target(uri).approval == ""  # by its number it claims nothing
    approve(uri)
    assert "approved by ada" in verify_target(f"models:/{name}@champion").approval
    with pytest.raises(InputError, match="has not the files that any run counted by this promise ended in"):
        fetch_champion.fn(name, (("f" * 64, "0" * 64),))


@pytest.mark.slow
def test_the_tags_of_an_approval_do_not_come_back_after_a_rejection(register):
    name = "put-back"
    uri, client = register(name).model_uri, mlflow.MlflowClient()
    assert not approve(uri).no_champion
    kept = dict(find_version(uri).tags)
    assert review(uri, reviewer="bob", decision="reject", reason="no").no_champion  # said, as the alias goes
    for key, value in kept.items():
        client.set_model_version_tag(name, "1", key, value)
    client.set_registered_model_alias(name, "champion", "1")
    with pytest.raises(VerificationError, match="a later decision of this home took back"):
        verify_target(f"models:/{name}@champion")
    approve(uri)
    assert "approved by ada" in verify_target(f"models:/{name}@champion").approval


def test_no_run_goes_on_from_a_champion_of_another_shape(certified):
    files = open_store().put_directory(certified[0], kind="model")
    champion = Champion(uri="models:/m/1", promoted=True, files=files, run="0" * 64)
    for model, chunk_bytes in ((ByteGptModel(layers=1, width=32, heads=4), 65), (SHAPE, 66)):
        with pytest.raises(InputError, match="is not the model that the config describes"):
            continue_from.fn(champion, model, None, chunk_bytes, files)


def test_the_champion_of_another_home_is_told_as_not_checked(register, monkeypatch, tmp_path):
    uri = register("elsewhere").model_uri
    approve(uri)
    elsewhere = Home(tmp_path / "other").create()
    monkeypatch.setattr("flows.registered.home", lambda: elsewhere)
    verification = verify_target("models:/elsewhere@champion")
    assert any("NOT CHECKED whether a review" in line for line in verdict(verification))


def test_another_certificate_than_the_registered_one_is_refused(register):
    uri = register("swapped").model_uri
    mlflow.MlflowClient().set_model_version_tag("swapped", "1", "certificate_sha256", "0" * 64)
    with pytest.raises(VerificationError, match="digest was registered"):
        approve(uri)
    assert champion("swapped") is None


def test_a_model_that_was_refuted_while_a_person_thought_is_not_approved(register, monkeypatch):
    uri, asked = register("slow").model_uri, []

    def ask(*_):
        asked.append(uri)
        return Decision(decision="approve", reviewer="ada", reason="fine")

    def audited(verification, _):
        return replace(verification, audit="refuted meanwhile", refuted=bool(asked))

    monkeypatch.setattr("flows.review._ask", ask)
    monkeypatch.setattr("flows.registered.with_audit", audited)
    with pytest.raises(InputError, match="a refuted model cannot be approved"):
        review(uri)
    assert asked and champion("slow") is None


def test_an_answer_without_a_reason_is_no_answer(register):
    uri = register("silent").model_uri
    with pytest.raises(InputError, match="reason"):
        review(uri, reviewer="ada", decision="approve")
    assert champion("silent") is None


def test_verify_target_takes_folders_and_uris(register, certified):
    uri = register("target").model_uri
    page = facts_page(uri, verify_target(uri))
    assert "| `first` |" in page and "| `se/cond'` |" in page  # a name cannot break the table
    assert page.index("| `first` |") < page.index(
        "For every secret j"
    )  # what differs, before what never does
    assert "fields of the certificate NOT checked" in page and "secrets.parquet.kind" not in page
    assert verify_target(str(certified[1])).rows.height == 2
    assert verify_target(str(artifact(uri))).rows.height == 2


def test_verified_says_what_was_verified(certified, tmp_path):
    """A certificate alone, one with its model, and one of a secret that was in runs before."""
    alone = "\n".join(verdict(verify_target(str(certified[1]))))
    assert "model NOT checked" in alone and "model_files" in alone
    assert alone.count("WARNING") == 1 and "WARNING: NOT signed by an organisation" in alone
    assert "a second route confirmed 2 by their own rates" in alone
    assert "released WITHOUT noise, and not in the bound: `nothing`" in alone
    for field in verify_target(str(certified[1])).unchecked:
        assert field in alone
    shutil.copytree(certified[0], tmp_path / "model")
    shutil.copytree(certified[1], tmp_path / "certificate")
    whole = "\n".join(verdict(verify_target(str(tmp_path))))
    assert "certificate and model verified" in whole and "model_files" not in whole


def test_verified_says_what_earlier_runs_mean(certified, tmp_path):
    """One that drew secret 1 under the same settings, and one that does not say how it drew."""
    folder = tmp_path / "certificate"
    tables, old = read_tables(certified[1]), read_certificate(certified[1])

    def verified(earlier):
        added = ("earlier_runs", "bare", "curve", "all_runs", "all_runs_method", "all_runs_lower")
        bounds = tables["bounds.parquet"].drop(added)
        write_certificate(
            folder, old.facts, bounds=bounds, edges=tables["edges.parquet"], secrets=tables["secrets.parquet"],
            weights=tables["weights.parquet"]["weight"].to_numpy(), model_dir=certified[0], earlier=earlier,
        )  # fmt: skip
        return "\n".join(verdict(verify_target(str(folder))))

    runs = pl.DataFrame([(0, "a" * 64, 1.0, 300, 300, "0" * 64)], schema=RUNS, orient="row")
    profiles = pl.DataFrame([(0, 1, 1, 0.5, True)], schema=PROFILES, orient="row")
    known = verified(Earlier(runs, profiles, np.array([False, False]), 0))
    assert "of all runs of its store together, up to 1 earlier one:" in known and "1 of 1 confirmed" in known
    assert "WARNING: of 1 secret the bound of ALL RUNS together is ABOVE the target" in known
    unknown = verified(Earlier(runs.clear(), profiles.clear(), np.array([False, False]), 3))
    assert "WARNING: of 2 secrets nothing is promised over all runs: up to 3 earlier runs" in unknown
