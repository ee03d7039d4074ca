"""When the page is written, at the end of a job and after each audit, and where it lies: in the tracker's run, and
a copy under HUSH_HOME/reports. A template that escapes all it is given makes it of the page's document.

Names of secrets, sources and warnings come from repositories and configs, and are hostile input. Whatever slips
through is not run: the page allows, by a policy of its own, its one script and its one style sheet by their hashes,
pictures that it carries, and nothing from anywhere else.
"""

from __future__ import annotations

import base64
import hashlib
import re
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import mlflow
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape
from mlflow.exceptions import MlflowException
from pydantic import ValidationError

from flows.reports.job_report import Report
from flows.reports.page.document import (
    STATES,
    WIDTH,
    Axis,
    PageDocument,
    page_document,
    share,
    state_of,
    stated_by,
    verdict,
    with_audit,
    worst,
)
from hush_core.auditing.document import AuditDocument
from hush_core.certificate import read_certificate
from hush_core.figures.names import METHOD_LABELS, short_name
from hush_core.files import private_folder, write_whole
from tasks.runtime.environment import home
from tasks.runtime.tracking import tracker
from tasks.runtime.versions import find_version

PICTURES = {
    "posterior_against_target": "Prior, certified bound and target of the secrets nearest to their target",
    "posterior_curves": "The bound by prior: what an easier part of a secret risks",
    "bound_by_run": "The bound by run, alone and of all runs together",
    "exposure": "How the attack ranks each value among strings of its form",
    "audit": "What the audit found of each secret, beside its certificate",
    "texts_at_risk": "Texts that the audit could tell from others",
    "user_inference": "Whose text the model was trained on: what the audit could show",
    "loss": "Loss on held-out text without a secret",
    "learning_curves": "Loss on public text as rounds are released",
    "noise_by_method": "The noise that each method of proof needs",
    "weights_retained": "How much of each secret's text is trained on",
    "secret_graph": "Which secrets are together in examples",
}
"""Pictures of a run that the page shows, in this order, and what each is of."""


def render(page: PageDocument, pictures: Mapping[str, bytes]) -> str:
    """The page; `pictures` are PNG by name, those that PICTURES does not name are left out."""
    axis = Axis.of(page.report.rows)
    level, title, sentence = verdict(page)
    shown = [
        (name, words, "data:image/png;base64," + base64.b64encode(pictures[name]).decode())
        for name, words in PICTURES.items()
        if name in pictures
    ]
    return _environment().get_template("report.html").render(
        page=page, report=page.report, level=level, title=title, sentence=sentence,
        rows=[(row, state_of(row), share(row), axis) for row in page.report.rows],
        axis=axis, width=WIDTH, states=STATES, kinds=sorted({row.kind for row in page.report.rows}),
        worst=worst(page.report.rows), methods=METHOD_LABELS, pictures=shown,
        audited=page.audit.rows if page.audit else {},
        style=Markup(_part("report.css")), script=Markup(_part("report.js")),
        style_hash=_hash("report.css"), script_hash=_hash("report.js"),
    )  # fmt: skip


@cache
def _environment() -> Environment:
    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        loader=FunctionLoader(_part),
    )  # fmt: skip
    made.filters |= {
        "short": short_name, "number": _number, "probability": _probability, "coded": _coded,
        "percent": lambda value: "–" if value is None else f"{value:.1%}",
        "signed": lambda value: f"{value:+.3g}",
    }  # fmt: skip
    return made


@cache
def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _hash(name: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(_part(name).encode()).digest()).decode()


def _number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.{digits}g}"


def _probability(value: float | None) -> str:
    """Two significant digits: as a power of ten where that is shorter to read."""
    if value is None:
        return "–"
    return f"{value:.2g}" if value >= 0.01 or value == 0 else f"{value:.1e}"


def _coded(text: str) -> Markup:
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))


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
