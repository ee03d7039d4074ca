"""Versions of the registry in tests: their files, who is champion, and an approval by the review flow."""

import mlflow

from tasks.runtime.environment import home
from tasks.runtime.versions import find_version


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
