"""A storage that HUSH_STORE names, of both kinds."""

import pytest
from object_server import InBucket, InFolder, needs_s3, object_server, use


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
