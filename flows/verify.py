"""Verify a certificate where it lies; needs neither orchestrator nor tracker nor torch for a folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hush_core.certificate import Verification, verify_certificate
from hush_core.errors import InputError
from hush_core.progress import Progress
from tasks.redaction import check_redaction


def verify_target(target: str, progress: Progress | None = None) -> Verification:
    """Verify a certificate's directory, an MLflow model directory, or `models:/NAME/VERSION`.

    Raises:
        VerificationError: it does not hold.
        InputError: there is no such directory or version.
    """
    if target.startswith("models:"):
        from flows.review import (
            verify_registered,  # with orchestrator and tracker, which a folder does not need
        )

        with tempfile.TemporaryDirectory() as folder:
            return verify_registered(target, Path(folder), progress)[0]
    path = Path(target)
    if not path.is_dir():
        raise InputError(target, "is neither a directory nor models:/NAME/VERSION", "name one of the two")
    if (path / "certificate").is_dir() and (path / "model").is_dir():
        return check_redaction(verify_certificate(path / "certificate", path / "model", progress))
    return check_redaction(verify_certificate(path, None, progress))
