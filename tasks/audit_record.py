"""An audit beside its certificate: artifacts and tags of the version's run, and a signed copy in the home."""

from __future__ import annotations

import hmac
import logging
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from hush_core.auditing.document import AUDIT, REFUTED, AuditDocument, read_audit
from hush_core.certificate.older import OlderCertificate, counted_runs
from hush_core.errors import VerificationError
from hush_core.files import files_digest
from tasks.refutation import FOLDER, keep, kept, refuted_runs, runs_in_model, standing_from
from tasks.runtime import approvals
from tasks.runtime.decisions import decide
from tasks.runtime.environment import home
from tasks.runtime.steps import step
from tasks.runtime.tracking import tracker
from tasks.runtime.versions import certificate_of, fetch_artifact, find_version, may_not_read, versions_tagged

if TYPE_CHECKING:
    from hush_core.certificate import Certificate, Verification

OUTCOME = "audit"
"""The tag of a version with the outcome of its last audit, or of the one that refuted it."""
LATER = "audit-later.json"
"""What an audit found after one that refuted: it changes nothing."""
AUDITOR = "hush audit"
_PURPOSE = "audit"
_log = logging.getLogger("prefect.hush.audit")


def signed(document: AuditDocument) -> AuditDocument:
    return document.model_copy(update={"signature": home().sign(_PURPOSE, document.unsigned())})


@step(name="record audit")
def record_audit(model_uri: str, document: AuditDocument, files: list[Path], *runs: str) -> None:
    """Keep the signed document in the home and, with tables and pictures, beside the version's run; tag it.

    One that refutes is kept in the home for good, for every certificate of the model and all that rests on its
    `runs`, whatever a later audit finds. It takes the champion's alias before anything else can fail. Beside the
    version none that does not refute takes its place, whichever home it is of: others may not have seen it yet.
    """
    entry, client = find_version(model_uri), tracker()
    keep(document, *runs)
    if document.outcome == REFUTED:
        decide(model_uri, approvals.REFUTED, by=AUDITOR, why=document.in_words()[:2000])
    for path in files:
        client.log_artifact(entry.run_id, str(path), FOLDER)
    stays = document.outcome != REFUTED and entry.tags.get(OUTCOME) == REFUTED
    client.log_text(entry.run_id, document.to_bytes().decode(), f"{FOLDER}/{LATER if stays else AUDIT}")
    if not stays:
        client.set_model_version_tag(entry.name, entry.version, OUTCOME, document.outcome)


def with_audit(verification: Verification, entry: ModelVersion) -> Verification:
    """The verification with what audits say: of the version itself, and those that refuted a run that its bounds
    count. Of the version, this home's audit comes first, if it has one, unless the one beside the version refutes.
    Raises VerificationError: the document beside the version is gone, of another certificate, or not signed by the
    home that it names, if that is this one."""
    certificate, found = verification.certificate, _own_audit(verification.certificate, entry)
    counted = verification.tables["runs.parquet"]["key"].to_list()
    refuted = {**_refuted_elsewhere(set(counted)), **refuted_runs()} if counted else {}
    stands = standing_from(certificate, counted, refuted, found)
    if not stands.words:
        return verification
    known = [one for one in (found, *(refuted[run] for run in counted if run in refuted)) if one is not None]
    checked = "its signature NOT CHECKED: of another home"
    if all(_ours(one) for one in known):
        checked = "signed with the key of this home"
    return replace(verification, audit=f"{stands.words}; {checked}", refuted=stands.refuted)


def refuted_older(older: OlderCertificate, directory: Path, entry: ModelVersion) -> str:
    """Why audits refute a version that an older hush certified, in words; empty where none does.

    As `with_audit`: of the version itself, of its files, and of every run whose releases it may hold. Raises
    VerificationError: as `with_audit`; or the tables in `directory` do not say which runs these are."""
    found = _own_audit(older, entry)
    if found is not None and found.outcome == REFUTED:
        return found.in_words()
    held = {older.run, *counted_runs(older, directory)}
    for run, why in sorted({**_refuted_elsewhere(held), **refuted_runs()}.items()):
        if run in held:
            return f"REFUTED with run {run[:12]}, whose releases it holds ({why.model}: {why.in_words()})"
    return ""


def _own_audit(certificate: Certificate | OlderCertificate, entry: ModelVersion) -> AuditDocument | None:
    """Of the version itself: that of this home, if it has one, unless the one beside the version refutes."""
    mine, registered = kept(certificate.digest, files_digest(certificate.model_files)), _registered(entry)
    if registered is not None:
        if registered.certificate_digest != certificate.digest:
            raise VerificationError([f"{FOLDER}/{AUDIT}: is an audit of another certificate"])
        if registered.store == home().fingerprint("identity") and not _ours(registered):
            raise VerificationError([f"{FOLDER}/{AUDIT}: was edited: the key of this home did not sign it"])
    return registered if registered is not None and registered.outcome == REFUTED else mine or registered


def note_elsewhere(runs: Iterable[str]) -> None:
    """Keep in this home, for good, what the registry says that another one refuted of these runs (public names).

    Afterwards `refuted_runs` names them: a promise that counts such a run has ended, as it would have with an audit
    of this home. Another home's signature cannot be checked here. So this trusts anyone who may write to the
    registry; all that they can do with it is to end a promise.
    """
    for run, document in _refuted_elsewhere(set(runs)).items():
        keep(document, run)
        _log.warning(
            "run %s was refuted by an audit of another home (%s), unchecked here", run, document.model
        )


def _refuted_elsewhere(runs: set[str]) -> dict[str, AuditDocument]:
    """By run, of these, what the registry says that another home refuted, or a copy of this one; not what is kept
    here. Raises VerificationError: it says so of one of these runs, and its document is gone, damaged or of another
    model."""
    found: dict[str, AuditDocument] = {}
    wanted = runs - refuted_runs().keys()
    for entry in versions_tagged(**{OUTCOME: REFUTED}) if wanted else ():
        try:
            with tempfile.TemporaryDirectory() as folder:
                certificate = certificate_of(entry, Path(folder))
        except VerificationError:
            continue  # damaged or deleted: that is for the verification of that version to say
        except MlflowException as error:
            if not may_not_read(error):
                raise
            _log.warning(
                "models:/%s/%s was refuted by an audit, and this account may not read of which run: where it is "
                "one that this home counts, the promise has ended",
                entry.name, entry.version,
            )  # fmt: skip
            continue  # a model of others stops no job
        if names := wanted & {*runs_in_model(certificate)}:
            document = _registered(entry)
            of = (certificate.digest, files_digest(certificate.model_files))
            if document is None or (document.certificate_digest, document.model_files) != of:
                where = f"models:/{entry.name}/{entry.version}"
                raise VerificationError([f"{where}: is said to be refuted, by an audit of something else"])
            if document.store != home().fingerprint("identity") or _ours(document):
                found |= dict.fromkeys(names, document)
    return found


def _registered(entry: ModelVersion) -> AuditDocument | None:
    if OUTCOME not in entry.tags:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = fetch_artifact(f"runs:/{entry.run_id}/{FOLDER}/{AUDIT}", Path(folder))
        if file is None or not file.is_file():
            missing = f"{FOLDER}/{AUDIT}: is missing, and a tag says that there was an audit"
            raise VerificationError([missing])
        document = read_audit(file.read_bytes(), f"{FOLDER}/{AUDIT}")
    if document.outcome != entry.tags[OUTCOME]:
        why = f"{FOLDER}/{AUDIT}: was edited, or is not the audit that the version's tag names"
        raise VerificationError([why])
    return document


def _ours(document: AuditDocument) -> bool:
    right = home().sign(_PURPOSE, document.unsigned())
    return hmac.compare_digest(document.signature, right)
