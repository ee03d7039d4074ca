"""The reviewer's page where people look: in the tracker's run, and a copy under HUSH_HOME/reports."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import mlflow
from mlflow.exceptions import MlflowException

from hush_core.files import private_folder, write_whole
from tasks.runtime.environment import home
from tasks.runtime.tracking import tracker

PAGE, DOCUMENT = "report.html", "report.json"
FOLDERS = ("pictures", "audits")
"""Of a run's artifacts: where its pictures lie."""


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


def put_page(run_id: str, model_uri: str, page: str, document: str) -> Path:
    """Log the page and the document that it was made from; the copy that this home keeps."""
    client = tracker()
    client.log_text(run_id, document, DOCUMENT)
    client.log_text(run_id, page, PAGE)
    copy = local_page(model_uri)
    private_folder(copy.parent)
    write_whole(copy, page.encode())
    return copy


def document_of(run_id: str) -> str | None:
    """What the page of a run was made from; None where the run has no such file."""
    if not any(file.path == DOCUMENT for file in tracker().list_artifacts(run_id)):
        return None
    try:
        return mlflow.artifacts.load_text(f"runs:/{run_id}/{DOCUMENT}")
    except (MlflowException, OSError):
        return None
