"""Verify a certificate where it lies; needs neither orchestrator nor tracker nor torch for a folder."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from hush_core.certificate import Verification, verified_against, verify_certificate
from hush_core.errors import InputError, VerificationError
from hush_core.progress import Progress
from hush_core.signing import TrustRoot, check_signature
from tasks.redaction import check_redaction
from tasks.runtime.packaging import MLMODEL, check_package
from tasks.runtime.trust import trust_root


def verify_target(
    target: str,
    progress: Progress | None = None,
    after: str | None = None,
    trust: TrustRoot | None = None,
    *,
    chained: bool = True,
    audited: bool = True,
) -> Verification:
    """Verify a certificate's directory, an MLflow model directory, or `models:/NAME/VERSION`.

    `after`: one that was written earlier in the same store; what it counts of runs must be counted. Of a registered
    version it is the nearest earlier one of its store, and each other one whose run the version does not count,
    unless given or not `chained`. `audited`: whether one that an audit refuted is refused. `trust`: the public keys
    whose signatures count, instead of those that the environment names; where there are any, what none of them
    signed does not verify. Raises VerificationError: it does not hold. InputError: there is no such directory or
    version."""
    trust = trust or trust_root()
    verification = _verified(target, progress, trust, chained=chained and after is None, audited=audited)
    if after is None:
        return verification
    before = _verified(after, progress, trust, chained=False)
    return verified_against(before.certificate, before.tables, verification, after)


def _verified(
    target: str, progress: Progress | None, trust: TrustRoot | None, *, chained: bool, audited: bool = True
) -> Verification:
    if target.startswith("models:"):
        # with orchestrator and tracker, which a folder does not need
        from flows.registered import verify_registered

        with tempfile.TemporaryDirectory() as folder:
            found = verify_registered(
                target, Path(folder), progress, chained=chained, audited=audited, trust=trust
            )[0]
        if found.refuted:
            raise VerificationError([f"{target}: {found.audit}"])
        return found
    found = _verified_folder(target, progress, trust)
    if not audited:
        return found
    from tasks.refutation import standing

    stands = standing(found.certificate, found.tables["runs.parquet"]["key"].to_list())  # this home's audits
    if stands.refuted:
        raise VerificationError([f"{target}: {stands.words}"])
    return replace(found, audit=stands.words) if stands.words else found


def _verified_folder(target: str, progress: Progress | None, trust: TrustRoot | None) -> Verification:
    path = Path(target)
    if not target or not path.is_dir():
        hint = "name one of the two"
        raise InputError(target or "the target", "is neither a directory nor models:/NAME/VERSION", hint)
    whole = path if (path / "certificate").is_dir() and (path / "model").is_dir() else None
    folder, model = (path / "certificate", path / "model") if whole else (path, None)
    if not whole and not any(path.glob("*certificate*.json")) and not any(path.glob("*.parquet")):
        raise InputError(target, "holds no certificate", "name the folder that has a certificate.json")
    verification = check_redaction(verify_certificate(folder, model, progress))
    if whole and (path / MLMODEL).is_file() and (failures := check_package(path, verification.certificate)):
        raise VerificationError(failures)
    signed = check_signature(verification.certificate, folder, trust, whole=whole)
    return replace(verification, signature=signed)
