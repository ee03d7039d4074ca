"""The versions of a registry: found, listed, and their files fetched. What makes one is in `registry`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import mlflow
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from hush_core.certificate import Certificate, check_files, read_certificate
from hush_core.certificate.older import OlderCertificate, check_unchanged
from hush_core.errors import InputError, Unavailable, VerificationError
from hush_core.files import file_sha256
from tasks.runtime.packaging import check_older_package, check_package
from tasks.runtime.tracking import has_tracker, tracker

DIGEST = "certificate_sha256"
STATUS = "validation_status"
MADE_BY = "made_by"
"""The tag of a version with the public names of the store and the run, as its certificate has them; it finds, and
proves nothing."""
CHAMPION = "champion"
LARGEST = 2**31 - 1
"""Beyond it the databases hold no number of a version."""
PAGE = 500
"""Versions an answer."""


def find_version(model_uri: str) -> ModelVersion:
    """The registry's entry for `models:/NAME/VERSION` or `models:/NAME@ALIAS`. Raises InputError: the form is
    another one, or there is no such version. VerificationError: the registry answers with another one than it was
    asked for."""
    match = re.fullmatch(r"models:/([^/@]+)(?:/(\d+)|@([\w-]+))", model_uri)
    if not match:
        hint = "write models:/NAME/VERSION or models:/NAME@ALIAS"
        raise InputError(model_uri or "the model", "does not name a version", hint)
    name, number, alias = match.groups()
    nowhere = InputError(model_uri, "is not in the registry", "list what is there in the MLflow UI")
    if not has_tracker() or (number and (len(number) > 10 or int(number) > LARGEST)):
        raise nowhere
    client = tracker()
    try:
        ask, which = (
            (client.get_model_version, number) if number else (client.get_model_version_by_alias, alias)
        )
        found = ask(name, which)
    except MlflowException as error:
        if error.error_code not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            raise
        raise nowhere from None
    if found.name != name or (number and int(found.version) != int(number)):
        why = f"{model_uri}: the registry answers with models:/{found.name}/{found.version}"
        raise VerificationError([why])
    return found


def earlier_versions(model_uri: str) -> Iterator[tuple[str, str]]:
    """(URI, the tag MADE_BY) of the versions of the same model that were registered before, the latest first; asked
    for as needed."""
    entry = find_version(model_uri)
    query = f"name = '{entry.name}' and version_number < {int(entry.version)}"
    for version in _search(query, order_by=["version_number DESC"], max_results=PAGE):
        yield f"models:/{entry.name}/{version.version}", version.tags.get(MADE_BY, "")


def versions_of(model_name: str, **tags: str) -> list[ModelVersion]:
    """Every version of a model, or those that carry these tags: MLflow takes 1 ms of CPU for each."""
    found = _search(" and ".join([f"name = '{model_name}'", *_tagged(tags)]))
    return [version for version in found if tags.items() <= version.tags.items()]  # some databases fold case


def versions_tagged(**tags: str) -> list[ModelVersion]:
    """Every version of any model that carries these tags."""
    return list(_search(" and ".join(_tagged(tags))))


def _tagged(tags: Mapping[str, str]) -> list[str]:
    return [f"tags.`{key}` = '{value}'" for key, value in tags.items()]


def _search(query: str, **options: Any) -> Iterator[ModelVersion]:
    """All that are ready: one answer holds no more than 10,000."""
    client, token = tracker(), None
    while True:
        page = client.search_model_versions(query, page_token=token, **options)
        yield from (version for version in page if version.status == "READY")
        if not (token := page.token):
            return


def certificate_of(entry: ModelVersion, into: Path) -> Certificate:
    """The document that travels with a version, read alone: its tables are not looked at. Raises VerificationError:
    there is no certificate, or it was edited."""
    return read_certificate(download_certificate(f"models:/{entry.name}/{entry.version}", into))


def download_certificate(model_uri: str, into: Path) -> Path:
    """Copy the certificate that travels with a version to `into`/certificate. Raises VerificationError: the version
    carries none."""
    return _download(model_uri, "certificate", into)


def model_files(model_uri: str, into: Path) -> Path:
    """Copy a version's artifact to `into`; the folder of the certified files in it, for their verification. Raises
    OlderSchema: its certificate is of an older hush (`older_files`). VerificationError: something around these
    files is not as they and the certificate make it."""
    root = _download(model_uri, "", into / "artifact")
    if not (root / "model").is_dir():
        raise VerificationError([f"{model_uri}: model is missing from the artifact store"])
    certificate = read_certificate(root / "certificate")
    if failures := check_package(root, certificate):
        raise VerificationError([*_edited(certificate, root), *failures])
    return root / "model"


def _edited(certificate: Certificate, root: Path) -> list[str]:
    """The certified files that are others now: what is made from them does not fit then, and is not to blame."""
    try:
        check_files(certificate, root / "certificate", root / "model")
    except VerificationError as error:
        return error.failures
    return []


def older_files(model_uri: str, into: Path) -> tuple[Path, OlderCertificate]:
    """The same of a version whose certificate is of an older hush, and what that says of itself. Raises
    VerificationError: the certificate is not the one that was registered, a file is not as it says, or something
    around these files is not as they and the certificate make it."""
    root, tag = _download(model_uri, "", into / "older"), find_version(model_uri).tags.get(DIGEST)
    older = check_unchanged(root / "certificate", root / "model")
    if file_sha256(root / "certificate" / "certificate.json") != tag:
        raise VerificationError([f"{model_uri}: certificate.json is not the one whose digest was registered"])
    if failures := check_older_package(root, older):
        raise VerificationError(failures)
    return root / "model", older


def _download(model_uri: str, part: str, into: Path) -> Path:
    entry = find_version(model_uri)
    into.mkdir(parents=True, exist_ok=True)
    source = f"models:/{entry.name}/{entry.version}" + (f"/{part}" if part else "")
    found = fetch_artifact(source, into)
    if found is None or not found.is_dir() or not any(found.iterdir()):
        raise VerificationError([f"{model_uri}: {part or 'the model'} is missing from the artifact store"])
    return found


def fetch_artifact(source: str, into: Path) -> Path | None:
    """Copy an artifact to `into`; None if the store answers that it does not exist.

    Raises Unavailable: an MLflow server keeps it, and none is named. Any other error is raised as it is. A server
    that is away, a revoked right or a full disk says nothing of the model, so no decision on it may depend on that.
    """
    try:
        if source.startswith("runs:/"):  # MLflow itself answers "not there" whatever happened to one of these
            run_id, part = source.removeprefix("runs:/").split("/", 1)
            source = f"{tracker().get_run(run_id).info.artifact_uri}/{part}"
        return Path(mlflow.artifacts.download_artifacts(source, dst_path=str(into)))
    except MlflowException as error:
        if "mlflow-artifacts URI was supplied" in str(error):
            raise Unavailable(
                "MLFLOW_TRACKING_URI: names no MLflow server, and one keeps this model's files. Hint: start the "
                "servers of this home, and export the variables of docs/running.md#servers"
            ) from None
        # over HTTP, MLflow keeps the status of a file in its words alone
        if error.error_code != "RESOURCE_DOES_NOT_EXIST" and "404 Client Error" not in str(error):
            raise
        return None


def may_not_read(error: MlflowException) -> bool:
    """Whether the registry or its store says that this account has no right to what it asked for."""
    return error.error_code == "PERMISSION_DENIED" or "403 Client Error" in str(error)
