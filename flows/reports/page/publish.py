"""When the page is written, at the end of a job and after each audit, and where it lies: in the tracker's run, and
a copy under HUSH_HOME/reports."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import mlflow
from mlflow.exceptions import MlflowException
from pydantic import ValidationError

from flows.reports.job_report import Report
from flows.reports.page.document import PageDocument, page_document, stated_by, with_audit
from flows.reports.page.render import render
from hush_core.auditing.document import AuditDocument
from hush_core.certificate import read_certificate
from hush_core.files import private_folder, write_whole
from tasks.runtime.environment import home
from tasks.runtime.tracking import tracker
from tasks.runtime.versions import find_version

PAGE, DOCUMENT = "report.html", "report.json"
FOLDERS = ("pictures", "audits")
"""Of a run's artifacts: where its pictures lie."""


def publish_page(report: Report, run_id: str) -> Path:
    """The page of a finished job; one that the run has already, which may tell of an audit, stays."""
    if report.reused and document_of(run_id) is not None and local_page(report.model_uri).is_file():
        return local_page(report.model_uri)
    certificate = read_certificate(Path(report.certificate_dir))
    now = datetime.now(UTC).isoformat(sep=" ", timespec="minutes").replace("+00:00", " UTC")
    stated = stated_by(certificate, several=bool(report.earlier_runs))
    return _put(page_document(report, stated, now), run_id)


def publish_audit(model_uri: str, document: AuditDocument, rows: Sequence[Mapping[str, Any]]) -> Path | None:
    """The page of a version with what an audit found; None of one that has no page, as an older hush made none."""
    run_id = find_version(model_uri).run_id
    kept = document_of(run_id)
    if kept is None:
        return None
    try:
        page = PageDocument.model_validate_json(kept)
    except ValidationError:  # of another version of hush
        return None
    if page.stated.digest != document.certificate_digest:  # not the page of what was audited
        return None
    return _put(with_audit(page, document, rows), run_id)


def local_page(model_uri: str) -> Path:
    """Where this home keeps the page of a version, `models:/NAME/VERSION`."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", model_uri.removeprefix("models:/").replace("/", "-"))
    return home().root / "reports" / f"{name}.html"


def pictures_of(run_id: str) -> dict[str, bytes]:
    """The pictures of a run by name, as the tracker has them; those of its audit too."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for part in FOLDERS:
            if not tracker().list_artifacts(run_id, part):
                continue
            path = Path(
                mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path=part, dst_path=folder)
            )
            found |= {file.stem: file.read_bytes() for file in sorted(path.glob("*.png"))}
    return found


def _put(page: PageDocument, run_id: str) -> Path:
    """Log the page and the document that it was made from; the copy that this home keeps."""
    whole, client, copy = render(page, pictures_of(run_id)), tracker(), local_page(page.report.model_uri)
    client.log_text(run_id, page.model_dump_json(), DOCUMENT)
    client.log_text(run_id, whole, PAGE)
    private_folder(copy.parent)
    write_whole(copy, whole.encode())
    return copy


def document_of(run_id: str) -> str | None:
    """What the page of a run was made from; None where the run has no such file."""
    if not any(file.path == DOCUMENT for file in tracker().list_artifacts(run_id)):
        return None
    try:
        return mlflow.artifacts.load_text(f"runs:/{run_id}/{DOCUMENT}")
    except (MlflowException, OSError):
        return None
