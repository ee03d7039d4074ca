"""A storage that HUSH_STORE names, of both kinds; a model to decide on, and who is told of it."""

import re

import pytest
from object_server import InBucket, InFolder, needs_s3, object_server, use
from receiving import named_receiver


@pytest.fixture(scope="module")
def s3_server():
    with object_server() as running:
        yield running


@pytest.fixture(params=["file", pytest.param("s3", marks=needs_s3)])
def storage(request, tmp_path, monkeypatch):
    if request.param == "file":
        made = InFolder(tmp_path / "shared")
    else:
        made = InBucket(request.getfixturevalue("s3_server"), tmp_path.name)
    use(monkeypatch, made, tmp_path / "home")
    return made


@pytest.fixture
def untold():
    """What an earlier test left untold is forgotten."""
    from tasks.runtime import webhook

    for message in webhook.messages():
        message.forget()


@pytest.fixture
def model(request, untold):
    """A model with three versions; no decision reads more of them than their tags."""
    from versions import listed

    name = re.sub(r"\W+", "-", request.node.name)
    listed(name, [f"file:///nowhere/{number}" for number in "123"])
    return name


@pytest.fixture
def receiver(tmp_path, monkeypatch, untold):
    with named_receiver(tmp_path, monkeypatch) as found:
        yield found
