"""The verification of a registered version: certificate, files, signature, approval, and earlier runs."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mlflow.entities.model_registry import ModelVersion

from hush_core.certificate import (
    Verification,
    check_files,
    read_certificate,
    read_tables,
    verified_against,
    verify_certificate,
)
from hush_core.errors import OlderSchema, VerificationError
from hush_core.files import file_sha256
from hush_core.progress import Progress
from hush_core.signing import TrustRoot, check_older_signature, check_signature
from tasks.audit_record import refuted_older, with_audit
from tasks.redaction import check_redaction
from tasks.runtime.approvals import check_approval, check_last
from tasks.runtime.environment import home
from tasks.runtime.full_disk import FULL, is_full
from tasks.runtime.store import directory_sha256
from tasks.runtime.trust import trust_root
from tasks.runtime.versions import (
    CHAMPION,
    DIGEST,
    download_certificate,
    earlier_versions,
    find_version,
    model_files,
    older_files,
)

OWN = (*FULL, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO)
"""Errors of the system that say nothing of the file they met."""


def verify_registered(
    model_uri: str,
    into: Path,
    progress: Progress | None = None,
    *,
    chained: bool = True,
    audited: bool = True,
    trust: TrustRoot | None = None,
) -> tuple[Verification, str]:
    """Download a version to `into` and verify it, who signed it, and that it counts what earlier versions knew of
    runs; asked for by the champion's alias, that a review put it there.

    Returns the verification and a hash of all bytes. `chained`: whether the earlier versions are looked at;
    `audited`: whether what audits found is. `trust`: whose signatures count, instead of the environment's. Raises
    OlderSchema: an older hush certified it, and its files are as they were; it says if an audit refuted it.
    VerificationError: it does not hold. What says nothing of the version (a store that is away or refuses, a full
    disk) is raised as another error: no model is taken out of service for it."""
    trust = trust or trust_root()
    with _failures_by_cause(model_uri, into, trust):
        entry = find_version(model_uri)
        certificate_dir, model_dir = download_certificate(model_uri, into), model_files(model_uri, into)
        document = certificate_dir / "certificate.json"
        if not document.is_file() or file_sha256(document) != entry.tags.get(DIGEST):
            why = f"{model_uri}: certificate.json is not the one whose digest was registered"
            raise VerificationError([why])
        verification = check_redaction(verify_certificate(certificate_dir, model_dir, progress))
        if chained:
            verification = after_earlier_versions(verification, model_uri, into / "earlier")
        if audited:
            verification = with_audit(verification, entry)
        root = model_dir.parent
        signed = check_signature(verification.certificate, root / certificate_dir.name, trust, whole=root)
        verification = replace(verification, signature=signed)
        if model_uri.endswith(f"@{CHAMPION}"):
            verification = replace(verification, approval=_approval(entry, verification, trust))
        return verification, f"{directory_sha256(certificate_dir)} {directory_sha256(root)}"


@contextmanager
def _failures_by_cause(model_uri: str, into: Path, trust: TrustRoot | None) -> Iterator[None]:
    """Of what fails in here, what came of an older hush or of this machine is raised as that."""
    try:
        try:
            yield
        except OlderSchema:
            raise _of_an_older_hush(model_uri, into, trust) from None
    except VerificationError as error:
        if (failure := local_failure(error)) is not None:
            raise failure from error
        raise


def _of_an_older_hush(model_uri: str, into: Path, trust: TrustRoot | None) -> OlderSchema:
    """Of a version that is as it was written, and signed by who is trusted, if anybody is."""
    files, older = older_files(model_uri, into)
    check_older_signature(older, files.parent, trust)
    refuted = refuted_older(older, files.parent / "certificate", find_version(model_uri))
    sentence = (
        "this one does not read that: its files are unchanged, and only that hush can check its promise. Run its "
        "job again and review the new version; `hush review --decision reject` takes this one back"
    )
    return OlderSchema(
        [f"{model_uri}: an older hush certified it, and {refuted or sentence}"], older.store, refuted
    )


def local_failure(error: BaseException | None) -> OSError | None:
    """What a failed verification came of, where that is this machine: by number, as words may be the file's."""
    if is_full(None):
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    while error is not None:
        if isinstance(error, OSError) and error.errno in OWN:
            return error
        error = error.__cause__ or error.__context__
    return None


def certificate_digest(folder: Path) -> str:
    """Of the certificate that `verify_registered` downloaded to a folder and verified."""
    return file_sha256(folder / "certificate" / "certificate.json")


def _approval(entry: ModelVersion, verification: Verification, trust: TrustRoot | None) -> str:
    if trust is None and verification.certificate.facts.store != home().fingerprint("identity"):
        return "NOT CHECKED whether a review put the alias there: only the home that made it can check that"
    approval = check_approval(entry, trust)
    check_last(entry, trust)
    return approval


def after_earlier_versions(verification: Verification, model_uri: str, into: Path) -> Verification:
    """Against the nearest earlier version of its store that can be read, and against all others of that store whose
    run it does not count, as a copy of the home may have made them. It names nearer ones of other stores."""
    store, found, chains, near = verification.certificate.facts.store, verification, [], False
    counted = set(verification.tables["runs.parquet"]["key"])
    for earlier, made_by in earlier_versions(model_uri):
        of, _, run = made_by.partition(" ")
        if near and (of != store or run in counted):
            continue
        try:
            folder = download_certificate(earlier, into / earlier.rpartition("/")[2])
            before = read_certificate(folder)
            check_files(before, folder, None)
        except VerificationError:
            continue  # of an older hush, deleted, or damaged: it says nothing
        found = verified_against(before, read_tables(folder), verification, earlier)
        chains.append(found.chain)
        near |= before.facts.store == store
    return replace(found, chain="; ".join(chains))
