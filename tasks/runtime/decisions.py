"""Decisions on a version, by a reviewer, an audit or the watch: written to the registry, and the alias moved.

The order makes a kill at any point harmless. The home notes first what will be promoted and what was before
(`Promotion`), then the registry gets the signed tags, and the alias moves last. `finish_decisions` completes a
killed decision if all its tags were written; else it restores the earlier state.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from hush_core.errors import InputError, VerificationError
from tasks.ownership import one_at_a_time
from tasks.runtime import webhook
from tasks.runtime.approvals import (
    APPROVED,
    AT,
    BY,
    SIGNATURE,
    SIGNED,
    WHY,
    Promotion,
    approved_since,
    check_approval,
    last_promotion,
    note_last,
    signature,
)
from tasks.runtime.environment import home
from tasks.runtime.tracking import tracker
from tasks.runtime.trust import trust_root
from tasks.runtime.versions import CHAMPION, DIGEST, STATUS, find_version


def decide(model_uri: str, status: str, *, by: str, why: str, certificate: str | None = None) -> bool:
    """Write a signed decision to the registry; the alias moves last: to an approved version, away from others.

    Returns whether that left the model without a champion. If a webhook is set up, a promotion is noted for it
    before the alias moves; `webhook.deliver` sends it.

    certificate: SHA-256 of the certificate.json that the decision is about; an approval must name it. Raises
    VerificationError: the registry names another certificate by now. InputError: this account may not decide; or
    the webhook cannot be used as it is set up."""
    receiver = webhook.endpoint() if status == APPROVED else None
    with _refused_in_words(), one_at_a_time(home(), "decisions"):
        entry, client = find_version(model_uri), tracker()
        if (certificate or status == APPROVED) and entry.tags.get(DIGEST) != certificate:
            raise VerificationError(
                [f"{model_uri}: is not what was reviewed: the registry names another certificate"]
            )
        _finish(entry.name)
        facts = {STATUS: status, BY: by, WHY: why, AT: _next_time(entry.name)}
        number = 1 + sum(key.startswith("decision_") for key in entry.tags)  # the others stay
        facts[f"decision_{number}"] = f"{status} by {by} at {facts[AT]}: {why}"
        facts[SIGNATURE] = signature(entry.name, entry.version, entry.tags | facts)
        note_last(entry.name, entry.version, facts[SIGNATURE])
        pending = None
        if status == APPROVED:
            if receiver:
                _message(entry, facts).keep()
            pending = Promotion.begun(entry.name, str(entry.version), facts[AT]).keep()
        for key, value in facts.items():  # the signature last
            client.set_model_version_tag(entry.name, entry.version, key, value)
        if pending is None:
            return _take_alias(entry)
        _move_alias(pending)
        return False


def finish_decisions(model: str) -> None:
    """Finish a decision that was killed: move the alias to what was approved, and release its message. If not all
    its tags were written, or a later decision overtook it, restore the state before it. Raises InputError: this
    account may not decide."""
    with _refused_in_words(), one_at_a_time(home(), "decisions"):
        _finish(model)


def _finish(model: str) -> None:
    last = last_promotion(model)
    if last is not None and not last.moved:
        if _is_meant(last):
            _move_alias(last)
        else:
            last.undo()
    _forget_overtaken(model)


def _is_meant(noted: Promotion) -> bool:
    """Whether all its tags were written, and nobody promoted another version since (another home can)."""
    try:
        entry = find_version(f"models:/{noted.model}/{noted.version}")
        check_approval(entry)
    except (InputError, VerificationError):  # the version was deleted, or nobody approved it
        return False
    later = approved_since(noted.model, noted.at, trust_root())
    return entry.tags[AT] == noted.at and next(later, None) is None


def _move_alias(noted: Promotion) -> None:
    tracker().set_registered_model_alias(noted.model, CHAMPION, noted.version)
    for message in webhook.messages():
        if noted.is_announced_by(message):
            message.model_copy(update={"moved": True}).keep()
    noted.done().keep()
    _forget_overtaken(noted.model)


def _forget_overtaken(model: str) -> None:
    """Drop the messages of promotions that are not (or no longer) valid: consumers would load what was taken
    back."""
    last = last_promotion(model)
    for message in webhook.messages():
        if message.model == model and (last is None or not last.is_announced_by(message)):
            message.forget()


def _next_time(model: str) -> str:
    """Now, and later than every decision before: clocks are set back, and those of two homes differ."""
    last = last_promotion(model)
    known = [other.tags[AT] for other in approved_since(model, "", trust_root())]
    latest = max([*known, last.at if last else ""])
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return now if now > latest else (datetime.fromisoformat(latest) + timedelta(seconds=1)).isoformat()


def _message(entry: ModelVersion, facts: Mapping[str, str]) -> webhook.Message:
    signed = [entry.name, str(entry.version), entry.tags[DIGEST], *(facts[key] for key in SIGNED)]
    return webhook.Message(
        model=entry.name, version=str(entry.version), certificate_sha256=entry.tags[DIGEST], by=facts[BY],
        at=facts[AT], decision=hashlib.sha256(json.dumps(signed).encode()).hexdigest(),
    )  # fmt: skip


@contextmanager
def _refused_in_words() -> Iterator[None]:
    try:
        yield
    except MlflowException as error:
        if "403" not in str(error) and error.error_code != "PERMISSION_DENIED":
            raise
        what = "may not decide on a model: MLflow refuses it"
        hint = "answer the review in the Prefect UI, whose worker has hush's account, or log in with that"
        raise InputError("MLFLOW_TRACKING_USERNAME", what, hint) from None


@dataclass(frozen=True)
class Standing:
    """A version as the registry and this home had it before somebody looked at it."""

    entry: ModelVersion
    note: Promotion | None


def standing(entry: ModelVersion) -> Standing:
    """Of a version that was just found in the registry."""
    return Standing(entry, last_promotion(entry.name))


def withdraw(seen: Standing, *, failed: bool) -> bool:
    """Take the champion's alias from a version that has it. Returns whether that was done.

    It is not done if anybody decided on the model since it was `seen`: a check takes minutes, and was of something
    else then.

    failed: its files or its certificate do not hold, and it must be reviewed again. Otherwise only its promotion
        does not hold: an approval that nobody made is `pending` again.
    """
    name, version = seen.entry.name, seen.entry.version
    with _refused_in_words(), one_at_a_time(home(), "decisions"):
        _finish(name)
        now = find_version(f"models:/{name}/{version}")
        if now.tags.get(SIGNATURE) != seen.entry.tags.get(SIGNATURE) or last_promotion(name) != seen.note:
            return False
        if failed:
            note_last(name, version, "failed")
        _take_alias(now)
        if failed:
            tracker().set_model_version_tag(name, version, STATUS, "failed")
        elif _claims_approval(now):
            tracker().set_model_version_tag(name, version, STATUS, "pending")
        return True


def _claims_approval(entry: ModelVersion) -> bool:
    """Whether a version says that it was approved, and no decision that counts did that."""
    try:
        check_approval(entry)
    except VerificationError:
        return entry.tags.get(STATUS) == APPROVED
    return False


def _take_alias(entry: ModelVersion) -> bool:
    """Whether it had it. MLflow takes an alias by its name: one that another home moves between these two requests
    is taken, too."""
    client, last = tracker(), last_promotion(entry.name)
    champion = client.get_registered_model(entry.name).aliases.get(CHAMPION)
    had = str(champion) == str(entry.version)
    if had or (champion is None and last is not None and last.version == str(entry.version)):
        taken = Promotion(model=entry.name, version=None, at=_next_time(entry.name), moved=True)
        taken.keep()  # first: a kill leaves it refused
        _forget_overtaken(entry.name)
    if had:
        client.delete_registered_model_alias(entry.name, CHAMPION)
    return had
