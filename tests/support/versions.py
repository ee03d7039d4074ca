"""Versions of the registry in tests: their files, who is champion, an approval by the review flow, and a kill."""

from contextlib import contextmanager

import mlflow
import pytest
from template import copy_tracker

from tasks.runtime.approvals import APPROVED
from tasks.runtime.decisions import decide
from tasks.runtime.environment import home
from tasks.runtime.versions import DIGEST, STATUS, find_version


def listed(name, sources=("file:///nowhere",)):
    """The URIs of new versions of a new model, which has nothing but what a registry keeps of them."""
    copy_tracker(home().mlflow_database)
    client = mlflow.MlflowClient()
    client.create_registered_model(name)
    uris = []
    for number, source in enumerate(sources, 1):
        client.create_model_version(name, source, tags={DIGEST: f"{number}" * 64, STATUS: "pending"})
        uris.append(f"models:/{name}/{number}")
    return uris


def champion(name):
    return mlflow.MlflowClient().get_registered_model(name).aliases.get("champion")


def artifact(uri):
    """Where the embedded tracker keeps a version's files."""
    return home().artifacts / "models" / find_version(uri).source.removeprefix("models:/") / "artifacts"


def edit(path):
    """Change a bit near the end of a file."""
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)


def approve(uri):
    from flows.review import review

    return review(uri, reviewer="ada", decision="approve", reason="fine")


def decided(uri, why="fine"):
    """Approve it as the flow does, which verified it."""
    return decide(uri, APPROVED, by="ada", why=why, certificate=find_version(uri).tags[DIGEST])


@contextmanager
def killed_at(call, when="before", *, key=None):
    """What is done within dies at a request to the registry, before it is heard or after; key: one of its words."""
    real = getattr(mlflow.MlflowClient, call)

    def die(self, *arguments, **options):
        mine = key is None or key in arguments
        if not mine or when == "after":
            real(self, *arguments, **options)
        if mine:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(mlflow.MlflowClient, call, die)
        yield
