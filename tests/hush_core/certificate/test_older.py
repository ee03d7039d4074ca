"""A certificate as release 25 wrote it (`tests/support/old_home.py`): read no more, and an edited one is found."""

import json
from pathlib import Path

import pytest
from old_home import unpack

from hush_core.certificate import read_certificate, verify_certificate
from hush_core.certificate.older import check_unchanged
from hush_core.errors import OlderSchema, VerificationError


@pytest.fixture
def folder(tmp_path):
    unpack(tmp_path)
    return tmp_path / "version"


def test_what_an_older_hush_certified_is_not_read_and_found_as_it_was(folder):
    for read in (read_certificate, lambda path: verify_certificate(path, folder / "model")):
        with pytest.raises(OlderSchema, match="hush-certificate/7, which this hush no longer reads"):
            read(folder / "certificate")
    store = json.loads((folder / "certificate" / "certificate.json").read_bytes())["facts"]["store"]
    assert check_unchanged(folder / "certificate", folder / "model") == store


def edit(file: Path):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize(
    "file", ["certificate/bounds.parquet", "certificate/weights.parquet", "model/config.json"]
)
@pytest.mark.parametrize("change", [edit, Path.unlink])
def test_an_edited_or_missing_file_of_it_is_named(folder, file, change):
    change(folder / file)
    with pytest.raises(
        VerificationError, match=f"{file.removeprefix('certificate/')} is missing or was changed"
    ):
        check_unchanged(folder / "certificate", folder / "model")


def test_a_file_more_is_named(folder):
    (folder / "model" / "more.py").write_text("x = 1\n")
    with pytest.raises(VerificationError, match=r"model/more\.py is missing or was changed"):
        check_unchanged(folder / "certificate", folder / "model")


def test_an_edited_document_does_not_pass_for_an_old_one(folder):
    path = folder / "certificate" / "certificate.json"
    document = json.loads(path.read_bytes())

    def refused(text, words):
        path.write_text(text)
        with pytest.raises(VerificationError, match=words):
            check_unchanged(folder / "certificate", folder / "model")

    other = json.loads(json.dumps(document))
    other["facts"]["plan"]["noise_multiplier"] *= 2
    refused(json.dumps(other, indent=2, sort_keys=True) + "\n", "was edited")
    refused(json.dumps(document), "was edited")
    now = {**document, "schema_version": "hush-certificate/8"}
    refused(json.dumps(now, indent=2, sort_keys=True) + "\n", "is of no older hush")
    for text in ("{}", "[]", "no document", json.dumps({**document, "tables": 3})):
        refused(text, "is no document of a certificate")
    path.unlink()
    with pytest.raises(VerificationError, match="missing or unreadable"):
        check_unchanged(folder / "certificate", folder / "model")
