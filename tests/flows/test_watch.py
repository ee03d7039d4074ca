"""The watch under a real engine: which champions it takes away, and which it leaves alone."""

import mlflow
import pytest
import requests
from mlflow.exceptions import MlflowException
from receiving import named_receiver
from signing_keys import write_pair
from versions import approve, artifact, champion, edit

import flows.watch as module
from flows import registered
from flows.audit import audit
from flows.review import review
from flows.watch import HOLDS, NOBODY, NOT_CHECKED, watch
from hush_core.errors import InputError, VerificationError
from tasks.runtime import decisions, registry, webhook
from tasks.runtime.environment import Home
from tasks.runtime.versions import find_version

pytestmark = pytest.mark.usefixtures("prefect_harness")


@pytest.fixture
def receiver(tmp_path, monkeypatch):
    with named_receiver(tmp_path, monkeypatch) as found:
        yield found


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Without the promotions of other tests, and without a pause between two looks."""
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setattr(module, "promotions", lambda: iter(()))


def test_a_champion_that_holds_stays_and_one_that_was_edited_goes(register):
    for name in ("watched-kept", "watched-edited"):
        approve(register(name).model_uri)
    edit(artifact("models:/watched-edited/1") / "model/model.safetensors")
    with pytest.raises(VerificationError, match="models:/watched-edited/1 is no longer champion") as caught:
        watch(models=["watched-edited", "watched-kept"])
    assert "watched-kept" not in str(caught.value) and str(champion("watched-kept")) == "1"
    assert champion("watched-edited") is None
    assert find_version("models:/watched-edited/1").tags["validation_status"] == "failed"
    done = {
        one.model: (one.champion, one.found)
        for one in watch(models=["watched-edited", "watched-kept"]).models
    }
    assert done == {
        "watched-edited": (None, NOBODY), "watched-kept": ("models:/watched-kept/1", HOLDS),
    }  # fmt: skip


def test_an_alias_that_no_review_set_is_taken_away_and_the_version_stays_to_be_reviewed(register):
    uri = register("watched-alias").model_uri
    mlflow.MlflowClient().set_registered_model_alias("watched-alias", "champion", "1")
    with pytest.raises(VerificationError, match="nobody approved it"):
        watch(models=["watched-alias"])
    assert champion("watched-alias") is None
    assert find_version(uri).tags["validation_status"] == "pending"
    approve(uri)
    assert watch(models=["watched-alias"]).models[0].found == HOLDS


def test_an_approval_that_nobody_made_is_pending_again_and_one_of_its_time_stays(register):
    """Whoever reaches MLflow can set the status, too; a moved alias says nothing of an approval that was signed."""
    client = mlflow.MlflowClient()
    forged = register("watched-forged").model_uri
    client.set_model_version_tag("watched-forged", "1", "validation_status", "approved")
    client.set_registered_model_alias("watched-forged", "champion", "1")
    with pytest.raises(VerificationError, match="no review with the key of this home"):
        watch(models=["watched-forged"])
    assert find_version(forged).tags["validation_status"] == "pending" and champion("watched-forged") is None

    signed = register("watched-moved").model_uri
    approve(signed)
    review(signed, reviewer="bob", decision="reject", reason="no")
    approve(signed)
    client.delete_registered_model_alias("watched-moved", "champion")
    decisions.withdraw(decisions.standing(find_version(signed)), failed=False)
    assert find_version(signed).tags["validation_status"] == "approved"


def test_what_fails_once_and_nothing_that_says_nobody_answers_takes_a_champion_away(register, monkeypatch):
    approve(register("watched-flaky").model_uri)
    real, looks = module.verify_registered, []

    def once(*arguments):
        looks.append(arguments)
        if len(looks) == 1:
            raise VerificationError(["half of it was read"])
        return real(*arguments)

    monkeypatch.setattr(module, "verify_registered", once)
    assert watch(models=["watched-flaky"]).models[0].found == HOLDS and len(looks) == 2
    monkeypatch.setattr(module, "verify_registered", real)

    for error in (
        requests.exceptions.ConnectionError("refused"),
        MlflowException("403 Client Error: Forbidden"),
    ):

        def away(*_, error=error, **__):
            raise error

        monkeypatch.setattr(registry.mlflow.artifacts, "download_artifacts", away)
        with pytest.raises(type(error)):
            watch(models=["watched-flaky"])
        with pytest.raises(type(error)):
            review("models:/watched-flaky/1", reviewer="ada", decision="approve", reason="fine")
        assert str(champion("watched-flaky")) == "1"
    monkeypatch.undo()
    monkeypatch.setattr(
        registered, "is_full", lambda error: True
    )  # what did not verify, on a disk without room
    edit(artifact("models:/watched-flaky/1") / "model/model.safetensors")
    with pytest.raises(OSError, match="No space left"):
        review("models:/watched-flaky/1", reviewer="ada", decision="approve", reason="fine")
    assert str(champion("watched-flaky")) == "1"
    assert find_version("models:/watched-flaky/1").tags["validation_status"] == "approved"


@pytest.mark.slow
def test_of_another_home_without_a_trust_root_nothing_is_decided(register, monkeypatch, tmp_path):
    approve(register("watched-elsewhere").model_uri)
    elsewhere = Home(tmp_path / "other").create()
    monkeypatch.setattr(module, "home", lambda: elsewhere)
    assert watch(models=["watched-elsewhere"]).models[0].found == NOT_CHECKED
    assert str(champion("watched-elsewhere")) == "1"


def test_the_job_of_a_config_is_watched_and_audited_and_so_is_what_this_home_promoted(
    register, monkeypatch, tmp_path
):
    from tasks.runtime.approvals import promotions

    (tmp_path / "job.yaml").write_text(
        f"version: 1\nrepos: [{{path: {tmp_path}}}]\n"
        "secrets: [{id: a, kind: path, globs: ['a/'], level: 0.1, bits: 9}]\n"
        "train: {rounds: 1, batch: 1}\ntracking: {model: watched-job}\n"
    )
    config = str(tmp_path / "job.yaml")
    assert watch(config).models[0].found == NOBODY
    assert audit(config_file=config) is None, "there is nothing to audit yet"
    approve(register("watched-promoted").model_uri)
    monkeypatch.setattr(module, "promotions", lambda: (p for p in promotions() if "promoted" in p.model))
    assert [one.model for one in watch(config).models] == ["watched-job", "watched-promoted"]


@pytest.mark.slow
def test_a_promotion_that_the_receiver_missed_is_told_by_the_watch(register, receiver):
    receiver.status = 500
    uri = register("watched-told").model_uri
    approve(uri)
    assert len(receiver.came) == 1 and not receiver.taken
    receiver.status = 202
    for message in webhook.messages():
        message.model_copy(update={"due": 0.0}).keep()  # the pause is over
    done = watch(models=["watched-told"])
    assert done.sent == list(receiver.taken) and not done.waiting
    (told,) = receiver.taken.values()
    assert told["data"]["uri"] == uri


@pytest.mark.slow
def test_trouble_with_one_model_keeps_no_other_from_being_watched_nor_its_promotion_from_being_told(
    register, receiver, monkeypatch
):
    receiver.status = 500
    for name in ("watched-a-away", "watched-b-kept", "watched-c-edited"):
        approve(register(name).model_uri)
    edit(artifact("models:/watched-c-edited/1") / "model/model.safetensors")
    receiver.status, real = 200, module.verify_registered
    for message in webhook.messages():
        message.model_copy(update={"due": 0.0}).keep()

    def away(uri, *arguments):
        if "watched-a" in uri:
            raise requests.exceptions.ConnectionError("refused")
        return real(uri, *arguments)

    monkeypatch.setattr(module, "verify_registered", away)
    names = ["watched-a-away", "watched-b-kept", "watched-c-edited"]
    with pytest.raises(VerificationError, match="models:/watched-c-edited/1 is no longer champion"):
        watch(models=names)
    assert [str(champion(name)) for name in names] == ["1", "1", "None"]
    told = {one["data"]["model"] for one in receiver.taken.values()}
    assert told == {"watched-a-away", "watched-b-kept"}, "nobody is told what was taken away"
    with pytest.raises(requests.exceptions.ConnectionError):
        watch(models=names)


def test_a_champion_that_somebody_took_is_noticed_until_a_person_decides(register):
    uri = approve(register("watched-taken").model_uri).model_uri
    mlflow.MlflowClient().delete_registered_model_alias("watched-taken", "champion")
    for _ in range(2):
        with pytest.raises(VerificationError, match=f"{uri} was promoted at .* no decision took the alias"):
            watch(models=["watched-taken"])
    review(uri, reviewer="bob", decision="reject", reason="then let it be")
    assert watch(models=["watched-taken"]).models[0].found == NOBODY
    approve(uri)
    mlflow.MlflowClient().delete_registered_model_alias("watched-taken", "champion")
    mlflow.MlflowClient().delete_model_version("watched-taken", "1")
    assert watch(models=["watched-taken"]).models[0].found == f"{NOBODY}: {uri} was deleted"


@pytest.mark.slow
def test_what_a_person_promoted_during_the_look_stays_champion(register, monkeypatch):
    uri, client, looks = register("watched-stale").model_uri, mlflow.MlflowClient(), []
    client.set_registered_model_alias("watched-stale", "champion", "1")
    real = module.verify_registered

    def slow(*arguments):
        looks.append(arguments)
        if len(looks) == 2:
            approve(uri)
        return real(*arguments)

    monkeypatch.setattr(module, "verify_registered", slow)
    with pytest.raises(VerificationError, match="was decided on during this check, and is left until"):
        watch(models=["watched-stale"])
    assert str(champion("watched-stale")) == "1"
    assert watch(models=["watched-stale"]).models[0].found == HOLDS


def test_without_the_keys_of_the_organisation_nothing_that_it_approved_is_taken_away(
    register, monkeypatch, tmp_path
):
    private, trust = write_pair(tmp_path / "keys", "acme")
    with monkeypatch.context() as acme:
        acme.setenv("HUSH_SIGNING_KEY", str(private))
        acme.setenv("HUSH_TRUST", str(trust))
        approve(register("watched-keyless").model_uri)
        assert watch(models=["watched-keyless"]).models[0].found == HOLDS
    with pytest.raises(InputError, match="HUSH_TRUST: names no trust root here"):
        watch(models=["watched-keyless"])
    assert str(champion("watched-keyless")) == "1"
