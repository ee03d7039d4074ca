"""The signature of a decision on a version: made with the key of the organisation or of the home, and checked.

MLflow lets anyone who reaches it set a tag or move the alias; only a reader of the key can make this signature.
With a trust root (`trust`), the organisation's key makes it, and anyone who has the trust root can check it.
Without one, the home's own key makes it, and the home alone can check it. After a rejection, anyone who kept the
tags of an approval could restore them. So the home keeps the signature of its last decision on each version
(HUSH_HOME/decisions), and no other one counts there. It also keeps where it put the alias last (`Promotion`): it
refuses the alias on an older version that was approved in its time.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from mlflow.entities.model_registry import ModelVersion
from pydantic import BaseModel, ConfigDict, ValidationError

from hush_core.errors import InputError, VerificationError
from hush_core.files import private_folder, write_whole
from hush_core.signing import TrustRoot, open_statement, sign_statement
from tasks.runtime.environment import home
from tasks.runtime.trust import signing_key, trust_root
from tasks.runtime.versions import DIGEST, STATUS, versions_of
from tasks.runtime.webhook import Message

_PREFIX = "champion-"


class Promotion(BaseModel):
    """Where the last decision of this home put the alias of a model. Signed tags say that a version was approved,
    not that it is the one approved last.

    The note is written before the registry, and marked when the alias has moved. A decision that was killed in
    between is finished, or undone, by the next one or by `hush watch`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    version: str | None
    """None: the alias was taken away."""
    at: str
    """When that was decided, as the decision's tag says it (UTC, to the second)."""
    moved: bool
    """Whether the registry has it."""
    before: Promotion | None = None
    """While it has not: what is until then."""

    @classmethod
    def begun(cls, model: str, version: str, at: str) -> Promotion:
        """One that is about to be written to the registry."""
        return cls(model=model, version=version, at=at, moved=False, before=last_promotion(model))

    def done(self) -> Promotion:
        return self.model_copy(update={"moved": True, "before": None})

    def undo(self) -> None:
        """What was there before is the last one again."""
        if self.before is not None:
            self.before.keep()
        else:
            _file(self.model).unlink(missing_ok=True)

    def is_announced_by(self, message: Message) -> bool:
        return (message.model, message.version, message.at) == (self.model, self.version, self.at)

    def keep(self) -> Promotion:
        """Write it down, durably, in place of the one before."""
        private_folder(home().root / "decisions")
        write_whole(_file(self.model), self.model_dump_json().encode())
        return self


def last_promotion(model: str) -> Promotion | None:
    """Of a model; None where this home never decided on its champion."""
    file = _file(model)
    return _read(file) if file.is_file() else None


def promotions() -> Iterator[Promotion]:
    """The last one of every model that this home decided on."""
    for file in sorted((home().root / "decisions").glob(f"{_PREFIX}*")):
        yield _read(file)


def _file(model: str) -> Path:
    return home().root / "decisions" / (_PREFIX + home().fingerprint(f"champion {model}"))


def _read(file: Path) -> Promotion:
    try:
        return Promotion.model_validate_json(file.read_bytes())
    except ValidationError:
        hint = "restore it from a backup, or remove it and review the champion again"
        raise InputError(str(file), "is damaged", hint) from None


SIGNATURE = "review_signature"
BY, AT, WHY = "reviewed_by", "reviewed_at", "review_reason"
SIGNED = (STATUS, BY, AT, WHY)
PREDICATE = "urn:hush:decision:1"
APPROVED, REJECTED, REFUTED = "approved", "rejected", "refuted"


def signature(name: str, version: str, tags: Mapping[str, str]) -> str:
    """The decision in `tags`, on this version with this certificate."""
    if key := signing_key():
        return sign_statement(key, _subject(name, version, tags), PREDICATE, _predicate(tags))
    return _home_signature(name, version, tags)


def _home_signature(name: str, version: str, tags: Mapping[str, str]) -> str:
    signed = (*(tags.get(key) for key in SIGNED), tags.get(DIGEST))
    return home().sign("decision", json.dumps([name, str(version), *signed]))


def _subject(name: str, version: str, tags: Mapping[str, str]) -> dict[str, str]:
    return {f"models:/{name}/{version}": tags.get(DIGEST, "")}


def _predicate(tags: Mapping[str, str]) -> dict[str, str | None]:
    return {key: tags.get(key) for key in SIGNED}


def note_last(name: str, version: str, decision: str) -> None:
    """Keep the signature of the last decision on a version, or `failed`.

    Written before the registry: a kill between the two leaves a version that must be reviewed again, never one that
    was rejected and counts as approved.
    """
    file = _last(name, version)
    write_whole(private_folder(file.parent) / file.name, decision.encode())


def _last(name: str, version: str) -> Path:
    return home().root / "decisions" / home().fingerprint(f"decision {name}/{version}")


def check_approval(entry: ModelVersion, trust: TrustRoot | None = None) -> str:
    """Who approved a version and when, in words. `trust`: of this environment, unless given. Raises
    VerificationError: no trusted key approved it; without a trust root that is the key of this home. The alias or a
    tag was set by another way, or the review was of an older hush or on another machine."""
    trust = trust or trust_root()
    uri, tags = f"models:/{entry.name}/{entry.version}", entry.tags
    if tags.get(STATUS) != APPROVED:
        raise VerificationError([f"{uri}: is {tags.get(STATUS, 'without a status')}, and nobody approved it"])
    given = tags.get(SIGNATURE, "")
    signer = _signer(entry, trust, given)
    last = _last(entry.name, entry.version)
    if last.is_file() and not hmac.compare_digest(last.read_bytes(), given.encode()):
        why = f"{uri}: carries an approval that a later decision of this home took back: review it again"
        raise VerificationError([why])
    return f"approved by {tags[BY]} at {tags[AT]}, signed {signer}"


def check_last(entry: ModelVersion, trust: TrustRoot | None = None) -> None:
    """For a version that was found by the alias `champion`, and whose approval holds: is it the one promoted last?

    This home's own note answers for its decisions. For others it is the signed times of approvals in the registry,
    which anyone with the trust root can check. A version is promoted again by another review of it. Raises
    VerificationError: another version was promoted later, or the alias was taken away since: somebody moved it."""
    trust = trust or trust_root()
    uri, at = f"models:/{entry.name}/{entry.version}", entry.tags[AT]
    back = "the alias was moved back to it: review it again with hush review, if it is to be champion"
    last, pending = last_promotion(entry.name), None
    if last is not None and not last.moved and last.version != str(entry.version):
        last, pending = last.before, last.version  # until that is done, the earlier one counts
    if last is not None and last.version != str(entry.version) and at <= last.at:
        now = f"version {last.version} was promoted" if last.version else "the alias was taken away"
        raise VerificationError([f"{uri}: was approved at {at}, and {now} at {last.at}; {back}"])
    for other in approved_since(entry.name, at, trust):
        if str(other.version) != pending:
            why = f"{uri}: was approved at {at}, and version {other.version} at {other.tags[AT]}; {back}"
            raise VerificationError([why])


def approved_since(model: str, at: str, trust: TrustRoot | None) -> Iterator[ModelVersion]:
    """The versions that were approved later than `at` by a signature that counts here: a time that nobody signed
    says nothing."""
    for other in versions_of(model, **{STATUS: APPROVED}):
        if not other.tags.get(AT, "") > at:
            continue
        try:
            _signer(other, trust, other.tags.get(SIGNATURE, ""))
        except VerificationError:
            continue
        yield other


def champions_by_own_key() -> list[str]:
    """The versions that this home promoted last, and with its own key: no approval beside a trust root."""
    found = []
    for one in promotions():
        last = _last(one.model, one.version) if one.version else None
        if last is not None and last.is_file() and not last.read_bytes().startswith(b"{"):  # no envelope
            found.append(f"models:/{one.model}/{one.version}")
    return found


def _signer(entry: ModelVersion, trust: TrustRoot | None, given: str) -> str:
    return _check_statement(entry, trust, given) if trust else _check_own(entry, given)


def _check_own(entry: ModelVersion, given: str) -> str:
    right = _home_signature(entry.name, entry.version, entry.tags)
    if not hmac.compare_digest(given, right):
        why = (
            f"models:/{entry.name}/{entry.version}: says that it was approved, and no review with the key of "
            f"this home did that ({home().keys}): review it with hush review"
        )
        raise VerificationError([why])
    return "with the key of this home"


def _check_statement(entry: ModelVersion, trust: TrustRoot, given: str) -> str:
    """By a key that is trusted, and of this version, this certificate and what the other tags say."""
    uri = f"models:/{entry.name}/{entry.version}"
    statement, signer = open_statement(given, f"{uri}: tag {SIGNATURE}", trust, PREDICATE)
    subjects = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
    if subjects != _subject(entry.name, entry.version, entry.tags) or statement["predicate"] != _predicate(
        entry.tags
    ):
        raise VerificationError(
            [
                f"{uri}: says that it was approved, and what {signer} signed is another decision: review it again"
            ]
        )
    return f"by {signer}"
