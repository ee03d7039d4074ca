"""Decisions on versions of a real registry, killed, overtaken, by clocks that are wrong: who is champion then."""

from contextlib import nullcontext
from datetime import datetime, timedelta

import mlflow
import pytest
from signing_keys import write_pair
from versions import decided, killed_at

from hush_core.errors import InputError, VerificationError
from tasks.runtime import approvals, decisions, webhook
from tasks.runtime.approvals import AT, REFUTED, REJECTED, check_approval, check_last, last_promotion
from tasks.runtime.decisions import decide, finish_decisions, standing, withdraw
from tasks.runtime.environment import home
from tasks.runtime.versions import find_version


def approve(model, number):
    decided(f"models:/{model}/{number}")


def champion(model):
    """The number of the champion, which is believed."""
    entry = find_version(f"models:/{model}@champion")
    check_approval(entry)
    check_last(entry)
    return int(entry.version)


TAGS = ["validation_status", "reviewed_by", "reviewed_at", "decision_1", "review_signature"]


@pytest.mark.parametrize(("key", "when"), [(TAGS[0], "before"), *((key, "after") for key in TAGS)])
def test_wherever_a_promotion_is_killed_one_version_is_champion_and_is_believed(model, key, when):
    approve(model, 1)
    with killed_at("set_model_version_tag", when, key=key):
        approve(model, 2)
    assert champion(model) == 1, "until somebody finishes it"
    finish_decisions(model)
    whole = (key, when) == ("review_signature", "after")
    assert champion(model) == (2 if whole else 1)
    approve(model, 3)
    assert champion(model) == 3


@pytest.mark.parametrize("known", ["here", "registry"])
def test_an_alias_moved_back_to_an_older_approved_version_is_refused(model, monkeypatch, known):
    client = mlflow.MlflowClient()
    approve(model, 1)
    approve(model, 2)
    if known == "registry":  # its own note is what another home has not
        monkeypatch.setattr(approvals, "last_promotion", lambda model: None)
    else:  # whoever hides the newer approval hides nothing from the home
        client.set_model_version_tag(model, "2", "review_signature", "gone")
    client.set_registered_model_alias(model, "champion", "1")
    with pytest.raises(VerificationError, match="the alias was moved back"):
        champion(model)
    approve(model, 1)  # a person may go back
    assert champion(model) == 1


def test_the_alias_moved_back_is_refused_while_a_promotion_is_begun(model):
    approve(model, 1)
    approve(model, 2)
    with killed_at("set_registered_model_alias"):
        approve(model, 3)
    mlflow.MlflowClient().set_registered_model_alias(model, "champion", "1")
    with pytest.raises(VerificationError, match="version 2 was promoted"):
        champion(model)


def test_a_clock_that_goes_back_takes_no_champion_away(model, monkeypatch):
    class Clock(datetime):
        late = timedelta(minutes=5)

        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + cls.late

    monkeypatch.setattr(decisions, "datetime", Clock)
    approve(model, 1)
    Clock.late = timedelta(0)
    approve(model, 2)
    assert champion(model) == 2
    assert find_version(f"models:/{model}/2").tags[AT] > find_version(f"models:/{model}/1").tags[AT]
    mlflow.MlflowClient().set_registered_model_alias(model, "champion", "1")
    with pytest.raises(VerificationError, match="moved back"):
        champion(model)
    mlflow.MlflowClient().set_registered_model_alias(model, "champion", "2")
    assert decide(f"models:/{model}/2", REJECTED, by="bob", why="no")
    mlflow.MlflowClient().set_registered_model_alias(model, "champion", "1")
    with pytest.raises(VerificationError, match="the alias was taken away"):
        champion(model)


def test_what_another_home_promoted_since_is_not_overridden(model, monkeypatch, tmp_path):
    """Two homes with one organisation's key; the other one has no note of this home's."""
    private, trust = write_pair(tmp_path / "keys", "acme")
    monkeypatch.setenv("HUSH_SIGNING_KEY", str(private))
    monkeypatch.setenv("HUSH_TRUST", str(trust))
    approve(model, 1)
    with killed_at("set_registered_model_alias"):
        approve(model, 2)
    notes, elsewhere = home().root / "decisions", tmp_path / "notes of this home"
    notes.rename(elsewhere)
    approve(model, 3)
    for file in notes.iterdir():
        file.unlink()
    notes.rmdir()
    elsewhere.rename(notes)
    finish_decisions(model)
    assert champion(model) == 3 and last_promotion(model).version == "1"


def test_a_decision_on_a_version_that_was_deleted_blocks_nothing(model):
    approve(model, 1)
    with killed_at("set_registered_model_alias"):
        approve(model, 2)
    mlflow.MlflowClient().delete_model_version(model, "2")
    finish_decisions(model)
    assert champion(model) == 1
    decide(f"models:/{model}/1", REFUTED, by="hush audit", why="leaks")
    with pytest.raises(InputError, match="not in the registry"):
        champion(model)


def test_a_damaged_message_blocks_neither_decisions_nor_other_messages(model, receiver, caplog):
    approve(model, 1)
    (home().root / "outbox" / "decision-0.json").write_text("{")
    assert decide(f"models:/{model}/1", REFUTED, by="hush audit", why="leaks")
    approve(model, 2)
    assert len(webhook.deliver().taken) == 1 and "decision-0.json is damaged" in caplog.text
    (home().root / "outbox" / "decision-0.json").unlink()


def test_only_the_promotion_that_stands_is_told(model, receiver):
    approve(model, 1)
    approve(model, 2)
    assert [one.version for one in webhook.messages()] == ["2"]
    decide(f"models:/{model}/3", REJECTED, by="bob", why="no")
    assert [one.version for one in webhook.messages()] == ["2"], (
        "a rejection of another one overtakes nothing"
    )
    decide(f"models:/{model}/2", REJECTED, by="bob", why="no")
    assert webhook.messages() == [] and webhook.deliver() == webhook.Delivery()


@pytest.mark.parametrize("failed", [True, False])
def test_what_somebody_decided_during_a_look_is_not_taken_away(model, failed):
    mlflow.MlflowClient().set_registered_model_alias(model, "champion", "1")
    seen = standing(find_version(f"models:/{model}@champion"))
    approve(model, 1)
    assert not withdraw(seen, failed=failed) and champion(model) == 1
    seen = standing(find_version(f"models:/{model}@champion"))
    assert withdraw(seen, failed=failed) and last_promotion(model).version is None
    with pytest.raises(InputError, match="not in the registry"):
        champion(model)
    with pytest.raises(VerificationError) if failed else nullcontext():
        check_approval(find_version(f"models:/{model}/1"))
