"""One MLflow run a trained model, ending in a registered version that carries its own certificate.

>>> registered = record_run(experiment="hush", model_name="m", ...)      # doctest: +SKIP
>>> certificate = download_certificate(registered.model_uri, folder)     # doctest: +SKIP

The registered artifact holds the certified model files byte for byte (`model/`), the certificate (`certificate/`),
and what MLflow loads a model by, made from those two (`packaging.py`). Registering comes last: a run that fails
leaves no version.
"""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlflow
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.models import Model
from pydantic import BaseModel, ConfigDict

from hush_core.certificate import read_certificate
from hush_core.errors import InputError, VerificationError
from hush_core.files import file_sha256
from tasks.runtime.packaging import MLMODEL, check_package, environment_files, generation, tokenizer_files
from tasks.runtime.tracking import experiment_of, link_of, log_files, owned, tracker

DIGEST = "certificate_sha256"
STATUS = "validation_status"
CHAMPION = "champion"


class Registered(BaseModel):
    """A registered version, and where a tracking server shows its run (None without a server)."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    run_id: str
    model_uri: str
    version: str
    link: str | None = None


def record_run(
    *,
    experiment: str,
    model_name: str,
    params: Mapping[str, Any],
    metrics: Mapping[str, float],
    tables: Mapping[str, Path],
    pictures: Mapping[str, Path],
    certificate_dir: Path,
    model_dir: Path,
    tags: Mapping[str, str],
    description: str,
) -> Registered:
    """Log one run and register its model as a new version, status `pending`.

    Idempotent: where a version of `model_name` has this very certificate, that version is returned. `VERSION`
    in `description` is replaced by the number. What fails midway leaves a FAILED run and no version.
    """
    if (known := registered_version(model_name, certificate_dir)) is not None:
        return known
    digest = file_sha256(certificate_dir / "certificate.json")
    client = tracker()
    experiment_id = experiment_of(client, experiment)
    with mlflow.start_run(
        experiment_id=experiment_id, run_name=f"{model_name} {digest[:8]}", tags=owned()
    ) as run:
        mlflow.set_tags({**tags, DIGEST: digest})
        mlflow.log_params(dict(params))
        mlflow.log_metrics(dict(metrics))
        for folder, files in (("tables", tables), ("pictures", pictures)):
            log_files(folder, files)
        mlflow.log_artifacts(str(certificate_dir), "certificate")
        info = _log_model(model_dir, certificate_dir)
        try:
            client.create_registered_model(model_name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        made = client.create_model_version(
            model_name,
            source=info.model_uri,
            run_id=run.info.run_id,
            model_id=info.model_id,
            tags={**tags, DIGEST: digest, STATUS: "pending"},
            description=description,
        )
    client.update_model_version(model_name, made.version, description.replace("VERSION", str(made.version)))
    return _registered(client, made)


def registered_version(model_name: str, certificate_dir: Path) -> Registered | None:
    """The version of `model_name` that has this very certificate, if there is one."""
    digest = file_sha256(certificate_dir / "certificate.json")
    client = tracker()
    known = (v for v in _versions(client, model_name) if v.tags.get(DIGEST) == digest)
    return next((_registered(client, version) for version in known), None)


def find_version(model_uri: str) -> ModelVersion:
    """The registry's entry for `models:/NAME/VERSION` or `models:/NAME@ALIAS`.

    Raises:
        InputError: the form is another one, or there is no such version.
    """
    match = re.fullmatch(r"models:/([^/@]+)(?:/(\d+)|@([\w-]+))", model_uri)
    if not match:
        raise InputError(
            model_uri, "does not name a version", "write models:/NAME/VERSION or models:/NAME@ALIAS"
        )
    name, number, alias = match.groups()
    client = tracker()
    try:
        return client.get_model_version(name, number) if number else _by_alias(client, name, alias)
    except MlflowException as error:
        if error.error_code not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            raise
        raise InputError(model_uri, "is not in the registry", "list what is there in the MLflow UI") from None


def earlier_versions(model_uri: str) -> list[str]:
    """The versions of the same model that were registered before, the latest first."""
    entry = find_version(model_uri)
    numbers = (int(v.version) for v in _versions(tracker(), entry.name))
    before = sorted((n for n in numbers if n < int(entry.version)), reverse=True)
    return [f"models:/{entry.name}/{n}" for n in before]


def earlier_tags(model_name: str) -> list[dict[str, str]]:
    """The tags of all versions of `model_name`, the first one first."""
    versions = _versions(tracker(), model_name)
    return [dict(version.tags) for version in sorted(versions, key=lambda version: int(version.version))]


def download_certificate(model_uri: str, into: Path) -> Path:
    """Copy the certificate that travels with a version to `into`/certificate.

    Raises:
        VerificationError: the version carries none.
    """
    return _download(model_uri, "certificate", into)


def model_files(model_uri: str, into: Path) -> Path:
    """Copy a version's artifact to `into`; the folder of the certified files in it, for their verification.

    Raises:
        VerificationError: something around these files is not as they and the certificate make it.
    """
    root = _download(model_uri, "", into / "artifact")
    if not (root / "model").is_dir():
        raise VerificationError([f"{model_uri}: model is missing from the artifact store"])
    if failures := check_package(root, read_certificate(root / "certificate")):
        raise VerificationError(failures)
    return root / "model"


class _CertifiedFlavor:
    """MLflow's transformers flavour with certified bytes in place of re-saved ones, the certificate, and nothing
    beside them that is not made from these."""

    __name__ = "transformers"

    @staticmethod
    def save_model(
        path: str, mlflow_model: Model, model_dir: Path, certificate_dir: Path, **options: Any
    ) -> None:
        mlflow.transformers.save_model(path=path, mlflow_model=mlflow_model, **options)
        root = Path(path)
        shutil.rmtree(root / "model")
        shutil.copytree(model_dir, root / "model")
        tokenizer = root / "components" / "tokenizer"
        shutil.rmtree(tokenizer)
        tokenizer.mkdir()
        for file in tokenizer_files(model_dir):
            shutil.copyfile(file, tokenizer / file.name)
        shutil.copytree(certificate_dir, root / "certificate")
        (root / "LICENSE.txt").unlink(
            missing_ok=True
        )  # of a hub that was not asked, with the path of the store
        for name, content in environment_files(read_certificate(certificate_dir).facts.code).items():
            (root / name).write_text(content)
        mlflow_model.flavors["transformers"].pop("source_model_name", None)  # the same path
        mlflow_model.save(str(root / MLMODEL))


def _log_model(model_dir: Path, certificate_dir: Path) -> Any:
    from hush_core.training import load_model

    model = load_model(model_dir)
    if model.objective.kind == "causal":
        params = generation(model.context)
        task, signature = "text-generation", mlflow.models.infer_signature("def f(", "def f(x):", params)
    else:
        question = f"def {model.tokenizer.mask_token}(x):"
        task, signature = "fill-mask", mlflow.models.infer_signature(question, "def f(x):")
    logger = logging.getLogger("mlflow.transformers")
    level = logger.level
    logger.setLevel(logging.ERROR)  # it looks for a model card and a licence on a hub
    try:
        return Model.log(
            artifact_path=None,
            name="model",
            flavor=_CertifiedFlavor,
            flavor_name="transformers",
            transformers_model={"model": model.network, "tokenizer": model.tokenizer},
            task=task,
            signature=signature,
            pip_requirements=[],  # `packaging` writes them
            model_dir=model_dir,
            certificate_dir=certificate_dir,
        )
    finally:
        logger.setLevel(level)


def _versions(client: mlflow.MlflowClient, name: str) -> list[ModelVersion]:
    return [v for v in client.search_model_versions(f"name = '{name}'") if v.status == "READY"]


def _by_alias(client: mlflow.MlflowClient, name: str, alias: str) -> ModelVersion:
    return client.get_model_version_by_alias(name, alias)


def _registered(client: mlflow.MlflowClient, entry: ModelVersion) -> Registered:
    experiment_id = client.get_run(entry.run_id).info.experiment_id
    return Registered(
        run_id=entry.run_id,
        model_uri=f"models:/{entry.name}/{entry.version}",
        version=str(entry.version),
        link=link_of(experiment_id, entry.run_id),
    )


def _download(model_uri: str, part: str, into: Path) -> Path:
    entry = find_version(model_uri)
    into.mkdir(parents=True, exist_ok=True)
    source = f"models:/{entry.name}/{entry.version}" + (f"/{part}" if part else "")
    try:
        found = Path(mlflow.artifacts.download_artifacts(source, dst_path=str(into)))
    except (MlflowException, OSError):
        found = None
    if found is None or not found.is_dir() or not any(found.iterdir()):
        raise VerificationError([f"{model_uri}: {part or 'the model'} is missing from the artifact store"])
    return found
