"""Verify a certificate where it lies; needs neither orchestrator nor tracker nor torch for a folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hush_core.certificate import Verification, carried_on, verify_certificate
from hush_core.errors import InputError, VerificationError
from hush_core.progress import Progress
from tasks.redaction import check_redaction
from tasks.runtime.packaging import MLMODEL, check_package


def verify_target(target: str, progress: Progress | None = None, after: str | None = None) -> Verification:
    """Verify a certificate's directory, an MLflow model directory, or `models:/NAME/VERSION`.

    `after`: one that was written earlier in the same store; what it counts of runs must be counted. Of a registered
    version it is the nearest earlier one of its store, unless given.

    Raises:
        VerificationError: it does not hold.
        InputError: there is no such directory or version.
    """
    verification = _verified(target, progress, chained=after is None)
    if after is None:
        return verification
    before = _verified(after, progress, chained=False)
    return carried_on(before.certificate, before.tables, verification, after)


def _verified(target: str, progress: Progress | None, *, chained: bool) -> Verification:
    if target.startswith("models:"):
        from flows.review import (
            verify_registered,  # with orchestrator and tracker, which a folder does not need
        )

        with tempfile.TemporaryDirectory() as folder:
            return verify_registered(target, Path(folder), progress, chained=chained)[0]
    path = Path(target)
    if not path.is_dir():
        raise InputError(target, "is neither a directory nor models:/NAME/VERSION", "name one of the two")
    if (path / "certificate").is_dir() and (path / "model").is_dir():
        verification = check_redaction(verify_certificate(path / "certificate", path / "model", progress))
        if (path / MLMODEL).is_file() and (failures := check_package(path, verification.certificate)):
            raise VerificationError(failures)
        return verification
    return check_redaction(verify_certificate(path, None, progress))
