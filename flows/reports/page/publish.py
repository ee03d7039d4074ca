"""When the page is written: at the end of a job, and after each audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flows.reports.job_report import Report
from flows.reports.page.document import PageDocument, page_document, stated_by, with_audit
from flows.reports.page.render import render
from hush_core.auditing.document import AuditDocument
from hush_core.certificate import read_certificate
from tasks.reviewer_page import document_of, local_page, pictures_of, put_page
from tasks.runtime.versions import find_version


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


def _put(page: PageDocument, run_id: str) -> Path:
    return put_page(run_id, page.report.model_uri, render(page, pictures_of(run_id)), page.model_dump_json())
