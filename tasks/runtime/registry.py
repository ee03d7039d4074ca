"""One MLflow run a trained model, ending in a registered version that carries its own certificate.

The next attempt finishes what a kill or a lost connection left half done. It continues a run that was begun for
this certificate, and completes a version whose registration was cut short.

>>> registered = record_run(experiment="hush", model_name="m", ...)      # doctest: +SKIP
>>> certificate = download_certificate(registered.model_uri, folder)     # doctest: +SKIP

The registered artifact holds the certified model files byte for byte (`model/`), the certificate (`certificate/`),
and what MLflow loads a model by, made from those two (`packaging.py`). Registering comes last: a run that fails
leaves no version.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlflow
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.models import Model
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME
from pydantic import BaseModel, ConfigDict

from hush_core.certificate import read_certificate
from hush_core.files import file_sha256
from hush_core.signing import BOM, bill_of_materials, sign_package
from tasks.ownership import one_at_a_time
from tasks.runtime.environment import home
from tasks.runtime.live import deliver, open_run
from tasks.runtime.packaging import MLMODEL, environment_files, generation, tokenizer_files
from tasks.runtime.store import open_store
from tasks.runtime.tracking import experiment_of, link_of, log_files, owned, tracker
from tasks.runtime.trust import signing_key
from tasks.runtime.versions import DIGEST, STATUS, versions_of

SIGNER = "signed_by"
"""The tag of a version with the fingerprint of the key that it was signed with; it finds, and proves nothing."""


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
    folders: Mapping[str, Mapping[str, Path]],
    certificate_dir: Path,
    model_dir: Path,
    tags: Mapping[str, str],
    description: str,
    training: str | None = None,
) -> Registered:
    """Log one run and register its model as a new version, status `pending`.

    One process of this home at a time. Idempotent: a version of `model_name` with this very certificate is
    returned; if other experiments logged it, it is logged in this one, too. A failure midway leaves a FAILED run
    and no version. `VERSION` in `description`, as in models:/NAME/VERSION, becomes the number. `training`: the
    public name of the run's training, whose live metrics are delivered first and whose run is used if it has one.
    """
    with one_at_a_time(home(), "register"), open_store().all_temporary():
        if (logged := logged_version(experiment, model_name, certificate_dir)) is not None:
            return logged
        known = registered_version(model_name, certificate_dir)
        digest = file_sha256(certificate_dir / "certificate.json")
        client = tracker()
        experiment_id = experiment_of(client, experiment)
        shown = open_run(experiment, training) if training else None
        marks = {**owned(), DIGEST: digest, MLFLOW_RUN_NAME: f"{model_name} {digest[:8]}"}
        with _begun_or_new(client, experiment_id, marks, shown) as run:
            if training:
                deliver(run.info.run_id, training)
            mlflow.set_tags(dict(tags))
            mlflow.log_params(dict(params))
            logged = client.get_run(run.info.run_id).data.metrics
            mlflow.log_metrics({name: value for name, value in metrics.items() if name not in logged})
            for folder, files in folders.items():
                log_files(folder, files)
            mlflow.log_artifacts(str(certificate_dir), "certificate")
            if known is not None:
                mlflow.set_tag("registered_as", known.model_uri)
                return _in_run(known, experiment_id, run.info.run_id)
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
                tags={STATUS: "pending", **tags, DIGEST: digest, **_signer()},
                description=description,
            )
        return _finished(client, client.get_model_version(model_name, made.version))


def _begun_or_new(
    client: mlflow.MlflowClient, experiment_id: str, marks: Mapping[str, str], shown: str | None
) -> mlflow.ActiveRun:
    """The run that was begun for this certificate and did not finish, after a kill or a lost server; else the one
    that shows its training, or a new one. Partly logged files of a model are deleted, as the model is logged whole
    again."""
    query = f"attributes.status != 'FINISHED' and tags.{DIGEST} = '{marks[DIGEST]}'"
    left = client.search_runs([experiment_id], query, max_results=1)
    if left:
        shown = left[0].info.run_id
        of_run = f"source_run_id = '{shown}'"
        for model in client.search_logged_models([experiment_id], filter_string=of_run):
            client.delete_logged_model(model.model_id)
    run = mlflow.start_run(run_id=shown, experiment_id=experiment_id)
    mlflow.set_tags(dict(marks))
    return run


def _finished(client: mlflow.MlflowClient, entry: ModelVersion) -> Registered:
    """A version, with what comes after its registration: its number in its description, and the end of its run. A
    process that was killed in between left these undone."""
    unnumbered = f"models:/{entry.name}/VERSION"
    if unnumbered in (entry.description or ""):
        numbered = entry.description.replace(unnumbered, f"models:/{entry.name}/{entry.version}")
        client.update_model_version(entry.name, entry.version, numbered)
    if client.get_run(entry.run_id).info.status != "FINISHED":
        client.set_terminated(entry.run_id, "FINISHED")  # registering came last
    experiment_id = client.get_run(entry.run_id).info.experiment_id
    return Registered(
        run_id=entry.run_id,
        model_uri=f"models:/{entry.name}/{entry.version}",
        version=str(entry.version),
        link=link_of(experiment_id, entry.run_id),
    )


def logged_version(experiment: str, model_name: str, certificate_dir: Path) -> Registered | None:
    """The version that has this very certificate, with its run in this experiment; None without one."""
    known, client = registered_version(model_name, certificate_dir), tracker()
    if known is None:
        return None
    place = experiment_of(client, experiment)
    if client.get_run(known.run_id).info.experiment_id == place:
        return known
    digest = file_sha256(certificate_dir / "certificate.json")
    query = f"attributes.status = 'FINISHED' and tags.{DIGEST} = '{digest}'"
    runs = client.search_runs([place], query, max_results=1)
    return _in_run(known, place, runs[0].info.run_id) if runs else None


def _in_run(known: Registered, experiment_id: str, run_id: str) -> Registered:
    return known.model_copy(update={"run_id": run_id, "link": link_of(experiment_id, run_id)})


def registered_version(model_name: str, certificate_dir: Path) -> Registered | None:
    """The version of `model_name` with this certificate, if there is one; with a signing key, only one signed by
    it. A version whose run `mlflow gc` deleted for good does not count: its report is gone, so the model is
    registered again, with a run."""
    wanted = {DIGEST: file_sha256(certificate_dir / "certificate.json"), **_signer()}
    client = tracker()
    known = versions_of(model_name, **wanted)
    with_run = next((version for version in known if _has_run(client, version)), None)
    return with_run and _finished(client, with_run)


def _has_run(client: mlflow.MlflowClient, version: ModelVersion) -> bool:
    try:
        client.get_run(version.run_id)
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        return False
    return True


def _signer() -> dict[str, str]:
    key = signing_key()
    return {SIGNER: key.fingerprint} if key else {}


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
        # of a hub that was not asked, with the path of the store
        (root / "LICENSE.txt").unlink(missing_ok=True)
        certificate = read_certificate(certificate_dir)
        for name, content in environment_files(certificate.facts.code).items():
            (root / name).write_text(content)
        (root / BOM).write_text(bill_of_materials(certificate))
        mlflow_model.flavors["transformers"].pop("source_model_name", None)  # the same path
        mlflow_model.save(str(root / MLMODEL))
        if key := signing_key():
            sign_package(root, certificate, key)  # the last: all that is here is signed


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
            # `packaging` writes them; one of no Python, as MLflow compares all others with every installed package
            pip_requirements=['mlflow; python_version < "3"'],
            model_dir=model_dir,
            certificate_dir=certificate_dir,
        )
    finally:
        logger.setLevel(level)
