"""A decision on a version, a reviewer's or an audit's, signed with the key of the organisation or of the home.

MLflow lets anyone who reaches it set a tag or move the alias; only who can read the key can make this signature.
Where there is a trust root (`trust`), the organisation's key makes it, and whoever has the trust root can check
it; where there is none, the home's own, which the home alone can check. Whoever kept the tags of an approval
could put them back after a rejection of the same version, so the home keeps the signature of its last decision
on each (HUSH_HOME/decisions), and no other one counts there.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from hush_core.errors import InputError, VerificationError
from hush_core.files import write_whole
from hush_core.signing import TrustRoot, open_statement, sign_statement
from tasks.runtime.environment import home
from tasks.runtime.registry import CHAMPION, DIGEST, STATUS, find_version
from tasks.runtime.tracking import tracker
from tasks.runtime.trust import signing_key, trust_root

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
    signer = _check_statement(entry, trust, given) if trust else _check_own(entry, given)
    last = _last(entry.name, entry.version)
    if last.is_file() and not hmac.compare_digest(last.read_bytes(), given.encode()):
        raise VerificationError(
            [f"{uri}: carries an approval that a later decision of this home took back: review it again"]
        )
    return f"approved by {tags[BY]} at {tags[AT]}, signed {signer}"


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
    Whether that left the model without a champion.

    certificate: SHA-256 of the certificate.json that the decision is about; an approval must name it.

    Raises:
        VerificationError: the registry names another certificate by now.
        InputError: this account may not decide.
    """
    entry, client = find_version(model_uri), tracker()
    if (certificate or status == APPROVED) and entry.tags.get(DIGEST) != certificate:
        raise VerificationError(
            [f"{model_uri}: is not what was reviewed: the registry names another certificate"]
        )
    facts = {STATUS: status, BY: by, WHY: why, AT: datetime.now(UTC).isoformat(timespec="seconds")}
    number = 1 + sum(key.startswith("decision_") for key in entry.tags)  # the others stay
    facts[f"decision_{number}"] = f"{status} by {by} at {facts[AT]}: {why}"
    facts[SIGNATURE] = signature(entry.name, entry.version, entry.tags | facts)
    note_last(entry.name, entry.version, facts[SIGNATURE])
    try:
        for key, value in facts.items():
            client.set_model_version_tag(entry.name, entry.version, key, value)
        if status == APPROVED:
            client.set_registered_model_alias(entry.name, CHAMPION, entry.version)
            return False
        return dethrone(model_uri)
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
    entry, client = find_version(model_uri), tracker()
    aliases = client.get_registered_model(entry.name).aliases
    had = str(aliases.get(CHAMPION)) == str(entry.version)
    if had:
        client.delete_registered_model_alias(entry.name, CHAMPION)
    return had
