"""A decision on a version, a reviewer's or an audit's, signed with the key of the organisation or of the home.

MLflow lets anyone who reaches it set a tag or move the alias; only who can read the key can make this signature.
Where there is a trust root (`trust`), the organisation's key makes it, and whoever has the trust root can check
it; where there is none, the home's own, which the home alone can check. Whoever kept the tags of an approval
could put them back after a rejection of the same version, so the home keeps the signature of its last decision
on each (HUSH_HOME/decisions), and no other one counts there. It keeps where it put the alias last, too
(`promotions`): the alias moved back to an older version that was approved in its time is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from hush_core.errors import InputError, VerificationError
from hush_core.files import write_whole
from hush_core.signing import TrustRoot, open_statement, sign_statement
from tasks.ownership import one_at_a_time
from tasks.runtime import webhook
from tasks.runtime.environment import home
from tasks.runtime.promotions import Promotion, last_promotion
from tasks.runtime.tracking import tracker
from tasks.runtime.trust import signing_key, trust_root
from tasks.runtime.versions import CHAMPION, DIGEST, STATUS, find_version, versions_of

SIGNATURE = "review_signature"
BY, AT, WHY = "reviewed_by", "reviewed_at", "review_reason"
_SIGNED = (STATUS, BY, AT, WHY)
PREDICATE = "urn:hush:decision:1"
APPROVED, REJECTED, REFUTED = "approved", "rejected", "refuted"


def signature(name: str, version: str, tags: Mapping[str, str]) -> str:
    """Of the decision that stands in `tags`, on this version with this certificate."""
    if key := signing_key():
        return sign_statement(key, _subject(name, version, tags), PREDICATE, _said(tags))
    return _home_signature(name, version, tags)


def _home_signature(name: str, version: str, tags: Mapping[str, str]) -> str:
    signed = (*(tags.get(key) for key in _SIGNED), tags.get(DIGEST))
    return home().sign("decision", json.dumps([name, str(version), *signed]))


def _subject(name: str, version: str, tags: Mapping[str, str]) -> dict[str, str]:
    """The version, by the hash of its certificate."""
    return {f"models:/{name}/{version}": tags.get(DIGEST, "")}


def _said(tags: Mapping[str, str]) -> dict[str, str | None]:
    return {key: tags.get(key) for key in _SIGNED}


def note_last(name: str, version: str, decision: str) -> None:
    """Keep the signature of the last decision on a version, or `failed`.

    Written before the registry is told: a kill between the two leaves a version that must be reviewed again, never
    one that was rejected and counts as approved.
    """
    file = _last(name, version)
    file.parent.mkdir(mode=0o700, exist_ok=True)
    write_whole(file, decision.encode())


def _last(name: str, version: str) -> Path:
    return home().root / "decisions" / home().fingerprint(f"decision {name}/{version}")


def check_approval(entry: ModelVersion, trust: TrustRoot | None = None) -> str:
    """Who approved a version and when, in words. `trust`: of this environment, unless given.

    Raises:
        VerificationError: nobody did with a key that is trusted (without a trust root: the key of this home): the
            alias or a tag was set by another way, or the review was of an older hush or on another machine.
    """
    trust = trust or trust_root()
    uri, tags = f"models:/{entry.name}/{entry.version}", entry.tags
    if tags.get(STATUS) != APPROVED:
        raise VerificationError([f"{uri}: is {tags.get(STATUS, 'without a status')}, and nobody approved it"])
    given = tags.get(SIGNATURE, "")
    signer = _signer(entry, trust, given)
    last = _last(entry.name, entry.version)
    if last.is_file() and not hmac.compare_digest(last.read_bytes(), given.encode()):
        raise VerificationError(
            [f"{uri}: carries an approval that a later decision of this home took back: review it again"]
        )
    return f"approved by {tags[BY]} at {tags[AT]}, signed {signer}"


def check_last(entry: ModelVersion, trust: TrustRoot | None = None) -> None:
    """For a version that was found by the alias `champion`, and whose approval holds: is it the one promoted last?

    In the home that decided, by its own note; and by the signed times of approvals of other versions that stand in
    the registry, which whoever has the trust root can check. A version is promoted again by another review of it.

    Raises:
        VerificationError: another version was promoted later, or the alias was taken away since: somebody moved it.
    """
    trust = trust or trust_root()
    uri, at = f"models:/{entry.name}/{entry.version}", entry.tags[AT]
    back = "the alias was moved back to it: review it again with hush review, if it is to be champion"
    last = last_promotion(entry.name)
    if last is not None and last.version != str(entry.version) and at <= last.at:
        now = f"version {last.version} was promoted" if last.version else "the alias was taken away"
        raise VerificationError([f"{uri}: was approved at {at}, and {now} at {last.at}; {back}"])
    for other in versions_of(entry.name):
        if other.tags.get(STATUS) != APPROVED or not other.tags.get(AT, "") > at:
            continue
        try:
            _signer(other, trust, other.tags.get(SIGNATURE, ""))
        except VerificationError:
            continue  # a time that nobody signed says nothing
        raise VerificationError(
            [f"{uri}: was approved at {at}, and version {other.version} at {other.tags[AT]}; {back}"]
        )


def _signer(entry: ModelVersion, trust: TrustRoot | None, given: str) -> str:
    return _check_statement(entry, trust, given) if trust else _check_own(entry, given)


def _check_own(entry: ModelVersion, given: str) -> str:
    right = _home_signature(entry.name, entry.version, entry.tags)
    if not hmac.compare_digest(given, right):
        raise VerificationError(
            [
                f"models:/{entry.name}/{entry.version}: says that it was approved, and no review with the key of "
                f"this home did that ({home().keys}): review it with hush review"
            ]
        )
    return "with the key of this home"


def _check_statement(entry: ModelVersion, trust: TrustRoot, given: str) -> str:
    """By a key that is trusted, and of this version, this certificate and what the other tags say."""
    uri = f"models:/{entry.name}/{entry.version}"
    statement, signer = open_statement(given, f"{uri}: tag {SIGNATURE}", trust, PREDICATE)
    subjects = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
    if subjects != _subject(entry.name, entry.version, entry.tags) or statement["predicate"] != _said(
        entry.tags
    ):
        raise VerificationError(
            [
                f"{uri}: says that it was approved, and what {signer} signed is another decision: review it again"
            ]
        )
    return f"by {signer}"


def decide(model_uri: str, status: str, *, by: str, why: str, certificate: str | None = None) -> bool:
    """Write a signed decision to the registry; the alias moves last: to an approved version, away from others.
    Whether that left the model without a champion. A promotion is noted for the webhook before the alias moves,
    where one is set up; `webhook.deliver` tells it.

    certificate: SHA-256 of the certificate.json that the decision is about; an approval must name it.

    Raises:
        VerificationError: the registry names another certificate by now.
        InputError: this account may not decide; or the webhook cannot be used as it is set up.
    """
    entry, client = find_version(model_uri), tracker()
    if (certificate or status == APPROVED) and entry.tags.get(DIGEST) != certificate:
        raise VerificationError(
            [f"{model_uri}: is not what was reviewed: the registry names another certificate"]
        )
    told = webhook.endpoint() if status == APPROVED else None
    with _refused_in_words(), one_at_a_time(home(), "decisions"):
        _finish(entry.name)
        facts = {STATUS: status, BY: by, WHY: why, AT: datetime.now(UTC).isoformat(timespec="seconds")}
        number = 1 + sum(key.startswith("decision_") for key in entry.tags)  # the others stay
        facts[f"decision_{number}"] = f"{status} by {by} at {facts[AT]}: {why}"
        facts[SIGNATURE] = signature(entry.name, entry.version, entry.tags | facts)
        note_last(entry.name, entry.version, facts[SIGNATURE])
        message = _message(entry, facts).keep() if told else None
        for key, value in facts.items():
            client.set_model_version_tag(entry.name, entry.version, key, value)
        if status != APPROVED:
            return _take_alias(model_uri)
        noted = Promotion(model=entry.name, version=str(entry.version), at=facts[AT], moved=False).keep()
        _move_alias(noted, message)
        return False


def finish_decisions(model: str) -> None:
    """What a decision that was killed had still to do: the alias is moved to what was approved, and its message may
    be told; or, where its tags were not all written, nothing of it is done.

    Raises:
        InputError: this account may not decide.
    """
    with _refused_in_words(), one_at_a_time(home(), "decisions"):
        _finish(model)


def _finish(model: str) -> None:
    last = last_promotion(model)
    for message in (one for one in webhook.messages() if one.model == model and not one.moved):
        if last is None or (message.version, message.at) != (last.version, last.at):
            message.forget()  # the person was never told that it was done
    if last is None or last.version is None or last.moved:
        return
    entry = find_version(f"models:/{model}/{last.version}")
    try:
        check_approval(entry)
        meant = entry.tags[AT] == last.at
    except VerificationError:
        meant = False
    if not meant:
        last.model_copy(update={"version": None, "moved": True}).keep()
        return
    same = (m for m in webhook.messages() if (m.model, m.version, m.at) == (model, last.version, last.at))
    _move_alias(last, next(same, None))


def _move_alias(noted: Promotion, message: webhook.Message | None) -> None:
    tracker().set_registered_model_alias(noted.model, CHAMPION, noted.version)
    if message is not None:
        message.model_copy(update={"moved": True}).keep()
    noted.model_copy(update={"moved": True}).keep()


def _message(entry: ModelVersion, facts: Mapping[str, str]) -> webhook.Message:
    said = [entry.name, str(entry.version), entry.tags[DIGEST], *(facts[key] for key in _SIGNED)]
    return webhook.Message(
        model=entry.name, version=str(entry.version), certificate_sha256=entry.tags[DIGEST], by=facts[BY],
        at=facts[AT], decision=hashlib.sha256(json.dumps(said).encode()).hexdigest(),
    )  # fmt: skip


@contextmanager
def _refused_in_words() -> Iterator[None]:
    try:
        yield
    except MlflowException as error:
        if "403" not in str(error) and error.error_code != "PERMISSION_DENIED":
            raise
        raise InputError(
            "MLFLOW_TRACKING_USERNAME",
            "may not decide on a model: MLflow refuses it",
            "answer the review in the Prefect UI, whose worker has hush's account, or log in with that",
        ) from None


def dethrone(model_uri: str) -> bool:
    """Take the champion's alias from this version, if it has it; whether it had."""
    with one_at_a_time(home(), "decisions"):
        return _take_alias(model_uri)


def _take_alias(model_uri: str) -> bool:
    entry, client = find_version(model_uri), tracker()
    aliases = client.get_registered_model(entry.name).aliases
    had = str(aliases.get(CHAMPION)) == str(entry.version)
    if had:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        Promotion(
            model=entry.name, version=None, at=now, moved=True
        ).keep()  # first: a kill leaves it refused
        client.delete_registered_model_alias(entry.name, CHAMPION)
    return had
