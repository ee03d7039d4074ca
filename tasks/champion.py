"""Step 2d: the promoted model that a later run of a promise goes on from, and why it may."""

from __future__ import annotations

import tempfile
from pathlib import Path

from prefect import task
from prefect.logging import get_run_logger
from pydantic import BaseModel, ConfigDict

from hush_core.errors import InputError, VerificationError
from tasks.models import AnyModel, Model, keep_folder, open_start
from tasks.runtime.caching import cached_task
from tasks.runtime.environment import home
from tasks.runtime.store import Ref, Store

WHERE = "train.start"


class Champion(BaseModel):
    """A promoted version: its files in the store, and the public name of the run that trained it."""

    model_config = ConfigDict(frozen=True)

    uri: str
    files: Ref
    run: str


@task(name="fetch champion")
def fetch_champion(name: str, counted: tuple[str, ...]) -> Champion:
    """The version of `name` that a review promoted, copied into the store.

    Not cached: another is promoted tomorrow. `counted`: public names of the runs whose releases the plan counts in.

    Raises:
        InputError: none is promoted, its files are not those of its certificate, or its run is not among those
            counted: what it tells of the secrets would be in the new model and in no bound.
    """
    from hush_core.certificate import check_files, read_certificate
    from tasks.runtime.registry import CHAMPION, download_certificate, find_version, model_files

    store, alias = Store(home().store), f"models:/{name}@{CHAMPION}"
    try:
        entry = find_version(alias)
    except InputError:
        raise InputError(
            WHERE,
            f"no version of {name} is promoted, so there is nothing to go on from",
            f"approve one (hush review models:/{name}/VERSION); nothing was trained or released",
        ) from None
    uri = f"models:/{entry.name}/{entry.version}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            proof, files = download_certificate(uri, Path(folder)), model_files(uri, Path(folder))
            certificate = read_certificate(proof)
            check_files(certificate, proof, files)
        except VerificationError as error:
            raise InputError(
                WHERE, f"{uri} does not verify: {error}", "promote a version that does"
            ) from None
        run = certificate.facts.run
        if run not in counted:
            raise InputError(
                WHERE,
                f"the run of {uri} is none of the {len(counted)} whose releases this promise counts",
                "promote a version that this HUSH_HOME trained under the promise; what another one told of the "
                "secrets would be in the new model and in no bound",
            )
        get_run_logger().info("goes on from %s", uri)
        return Champion(uri=uri, files=store.put_directory(files, kind="model"), run=run)


@cached_task(name="go on from", version=1)
def go_on_from(
    champion: Champion, model: AnyModel, base: Ref | None, chunk_bytes: int, held_out: Ref
) -> Model:
    """The champion as a start, and its loss on today's held-out text.

    Raises:
        InputError: it is not the model that the config describes.
    """
    from hush_core.training import load_model

    store = Store(home().store)
    path = store.path(champion.files, verify=True)
    shapes = [
        {name: tuple(p.shape) for name, p in opened.network.named_parameters()}
        for opened in (load_model(path), open_start(store, model, base, chunk_bytes))
    ]
    if shapes[0] != shapes[1]:
        raise InputError(
            WHERE, f"{champion.uri} has not the parameters of the model that the config describes",
            "go back to that `model:` and chunk_bytes; another model begins another promise",
        )  # fmt: skip
    return keep_folder(store, path, held_out)
