"""Step 2d: the model that a later run of a promise starts from, and why it may."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pydantic import BaseModel

from hush_core.certificate import check_files, read_certificate
from hush_core.errors import InputError, OlderSchema, VerificationError
from hush_core.files import file_sha256
from tasks.models import AnyModel, Model, keep_folder, open_start
from tasks.refutation import refuted_model
from tasks.runtime.caching import cached_task
from tasks.runtime.steps import run_logger, step
from tasks.runtime.store import DIRECTORY, Ref, Store, open_store

WHERE = "train.start"


class Champion(BaseModel, frozen=True):
    """The model that a run starts from: its name, its files in the store, and the run that trained it."""

    uri: str
    """The promoted version; of one that is not promoted, the public name of its run."""
    promoted: bool
    files: Ref
    run: str
    """The public name of the run whose releases are in it, as certificates give it; empty where none are."""


@step(name="fetch champion")
def fetch_champion(name: str, ended: tuple[tuple[str, str], ...]) -> Champion | None:
    """The version of `name` that a review promoted; where none is, the last model of the promise; None where no run
    of it has ended in one.

    Not cached: another is promoted tomorrow. A night is never skipped for want of a promoted model: whether there
    is one follows from what somebody saw of an earlier model, and runs must not (mathematics.md, Proposition 13).
    `ended`: (public name, digest of the model's files) of the models that hold releases of runs that the plan
    counts in, or none, the last one last. Raises InputError: the promoted files are not those that one of these
    runs ended in. What they reveal of the secrets would be in the new model and in no bound. Or nothing is
    promoted, and an audit refuted the last model."""
    store = open_store()
    promoted = _promoted(name, store)
    if promoted is None:
        kept = (
            (run, ref)
            for run, sha256 in reversed(ended)
            if store.holds(ref := Ref(kind="model", sha256=sha256, suffix=DIRECTORY))
        )
        last = next(kept, None)  # no earlier one is fetched
        if last is None:
            run_logger().warning(
                "no run of the promise ended in a model: this one begins at the public start"
            )
            return None
        run, ref = last
        _refuse_refuted(f"no version is promoted, and the last model, of run {run[:12]},", ref, store)
        run_logger().warning(
            "no version of %s is promoted: continues from the last model, of run %s", name, run[:12]
        )
        return Champion(uri=f"run {run[:12] or ref.sha256[:12]}", promoted=False, files=ref, run=run)
    uri, files = promoted
    _refuse_refuted(uri, files, store)
    run = next((run for run, sha256 in reversed(ended) if sha256 == files.sha256), None)
    if run is None:
        raise InputError(
            WHERE,
            f"{uri} has not the files that any run counted by this promise ended in",
            "promote a version that this HUSH_HOME trained under the promise; what another one revealed of the "
            "secrets would be in the new model and in no bound",
        )
    run_logger().info("continues from %s", uri)
    return Champion(uri=uri, promoted=True, files=files, run=run)


def _refuse_refuted(what: str, ref: Ref, store: Store) -> None:
    """Of a model that was found to hold more than its certificate allows nothing is built. Raises InputError: an
    audit of this home refuted it."""
    if refuted_model(store.path(ref, verify=True)):
        hint = "find what broke it (`hush audit --code`), and begin a new promise at the public start"
        raise InputError(WHERE, f"{what} was refuted by an audit", hint)


def _promoted(name: str, store: Store) -> tuple[str, Ref] | None:
    from tasks.runtime.approvals import check_approval, check_last
    from tasks.runtime.decisions import finish_decisions
    from tasks.runtime.versions import CHAMPION, DIGEST, find_version, model_files, older_files

    finish_decisions(name)  # one that was cut off between its tags and the alias would stop the night
    try:
        entry = find_version(f"models:/{name}@{CHAMPION}")
    except InputError:
        return None
    uri = f"models:/{entry.name}/{entry.version}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            check_approval(entry)
            check_last(entry)
            try:
                files = model_files(uri, Path(folder))
                certificate = files.parent / "certificate"
                if file_sha256(certificate / "certificate.json") != entry.tags.get(DIGEST):
                    raise VerificationError(["its certificate is not the one that was approved"])
                check_files(read_certificate(certificate), certificate, files)
            except OlderSchema:  # the home's own history says what it holds, not its certificate
                files, _ = older_files(uri, Path(folder))
        except VerificationError as error:
            hint = "promote a version that does"
            raise InputError(WHERE, f"{uri} does not verify: {error}", hint) from None
        return uri, store.put_directory(files, kind="model")


@cached_task(name="continue_from", version=1)
def continue_from(
    champion: Champion, model: AnyModel, base: Ref | None, chunk_bytes: int, held_out: Ref
) -> Model:
    """The champion as a start, and its loss on today's held-out text. Raises InputError: it is not the model that
    the config describes."""
    from hush_core.training import load_model

    store = open_store()
    path = store.path(champion.files, verify=True)
    found, meant = (_shape(one) for one in (load_model(path), open_start(store, model, base, chunk_bytes)))
    if found != meant:
        hint = "go back to that `model:` and chunk_bytes; another model begins another promise"
        raise InputError(WHERE, f"{champion.uri} is not the model that the config describes", hint)
    return keep_folder(store, path, held_out)


def _shape(model) -> tuple:
    """What makes two models the same but for their weights: parameters, and the architecture's settings."""
    incidental = {"_name_or_path", "transformers_version", "torch_dtype", "dtype", "architectures"}
    settings = {k: v for k, v in model.network.config.to_dict().items() if k not in incidental}
    parameters = {name: tuple(p.shape) for name, p in model.network.named_parameters()}
    return parameters, settings, model.context
