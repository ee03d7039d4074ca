"""A certificate as release 25 wrote it (`tests/support/old_home.py`): read no more, and an edited one is found."""

import hashlib
import json
import tarfile
from pathlib import Path

import accounting_reference as reference
import frozen_certificates
import numpy as np
import polars as pl
import pytest
from old_home import unpack

from hush_core.certificate import verify_certificate
from hush_core.certificate.comparison import compare_all_runs
from hush_core.certificate.document import read_certificate, read_tables
from hush_core.certificate.older import check_unchanged, counted_runs
from hush_core.certificate.released import all_runs_again, bounds_again, curves_again, earlier_of
from hush_core.errors import OlderSchema, VerificationError
from hush_core.files import file_sha256


@pytest.fixture
def folder(tmp_path):
    unpack(tmp_path)
    return tmp_path / "version"


def test_what_an_older_hush_certified_is_not_read_and_found_as_it_was(folder):
    for read in (read_certificate, lambda path: verify_certificate(path, folder / "model")):
        with pytest.raises(OlderSchema, match="hush-certificate/7, which this hush no longer reads"):
            read(folder / "certificate")
    store = json.loads((folder / "certificate" / "certificate.json").read_bytes())["facts"]["store"]
    found = check_unchanged(folder / "certificate", folder / "model")
    assert found.store == store and found.code["mlflow"] and len(found.tables) == 8
    assert not found.continued and counted_runs(found, folder / "certificate") == ()


def edit(file: Path):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def added(file: Path):
    file.write_text("x = 1\n")


CHANGED = ("certificate/bounds.parquet", "certificate/weights.parquet", "model/config.json")


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        *((file, change, "is missing or was changed") for file in CHANGED for change in (edit, Path.unlink)),
        ("model/more.py", added, "is missing or was changed"),
        ("certificate/evil.py", added, "beside it is not one of its tables"),
    ],
)
def test_a_file_that_was_edited_removed_or_added_is_named(folder, file, change, said):
    change(folder / file)
    with pytest.raises(VerificationError, match=f"{file.removeprefix('certificate/')} {said}"):
        check_unchanged(folder / "certificate", folder / "model")


def sealed(document):
    """With its digest made again, as whoever makes one up does it."""

    def canonical(given):
        return (json.dumps(given, indent=2, sort_keys=True) + "\n").encode()

    digest = hashlib.sha256(canonical({**document, "digest": ""})).hexdigest()
    return canonical({**document, "digest": digest})


def refusal(folder, data):
    (folder / "certificate" / "certificate.json").write_bytes(data)
    with pytest.raises(VerificationError) as caught:
        check_unchanged(folder / "certificate", folder / "model")
    return str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["a" * 256, "a" * 300, "../model/config.json", "/etc/passwd", "..", "", ".hidden", "a\0b", "a\ud800"],
)
def test_a_table_that_is_no_plain_name_is_the_documents_fault(folder, name):
    document = json.loads((folder / "certificate" / "certificate.json").read_bytes())
    document["tables"][name] = "0" * 64
    assert "no plain name" in refusal(folder, sealed(document))


def test_a_document_of_any_other_shape_is_refused_and_nothing_else_is_raised(folder):
    text = (folder / "certificate" / "certificate.json").read_bytes()
    document = json.loads(text)
    for depth in (900, 100_000):
        deep = text.replace(b'"tables"', b'"x": ' + b"[" * depth + b"]" * depth + b', "tables"', 1)
        assert "was edited" in (said := refusal(folder, deep)) or "is no document" in said
    for changes in (
        {"tables": []}, {"tables": {"bounds.parquet": 3}}, {"model_files": None}, {"facts": {"store": 3}},
        {"facts": document["facts"] | {"training": 3}}, {"facts": document["facts"] | {"code": {"mlflow": 1}}},
    ):  # fmt: skip
        assert "is no document" in refusal(folder, sealed(document | changes))


def test_what_the_disk_refuses_is_told_as_of_the_files(folder, monkeypatch):
    def refuse(path):
        raise OSError(36, "File name too long", str(path))

    monkeypatch.setattr("hush_core.certificate.older.file_sha256", refuse)
    with pytest.raises(VerificationError, match="missing or unreadable") as caught:
        check_unchanged(folder / "certificate", folder / "model")
    assert caught.value.__context__.errno == 36, "by which a trouble of the machine is told from the files'"


def test_a_model_that_goes_on_says_which_runs_it_may_hold(folder):
    path = folder / "certificate"
    document = json.loads((path / "certificate.json").read_bytes())
    document["facts"]["training"]["started_from"] = "f" * 64
    runs = pl.DataFrame({"run": [0, 1], "key": ["e" * 64, "f" * 64]})
    runs.write_parquet(path / "runs.parquet")
    document["tables"]["runs.parquet"] = file_sha256(path / "runs.parquet")
    (path / "certificate.json").write_bytes(sealed(document))
    found = check_unchanged(path, folder / "model")
    assert found.continued and counted_runs(found, path) == ("e" * 64, "f" * 64)
    for damaged in (
        lambda: runs.drop("key").write_parquet(path / "runs.parquet"),
        (path / "runs.parquet").unlink,
    ):
        damaged()
        with pytest.raises(VerificationError, match="does not say from which earlier runs"):
            counted_runs(found, path)


def test_an_edited_document_does_not_pass_for_an_old_one(folder):
    document = json.loads((folder / "certificate" / "certificate.json").read_bytes())
    other = json.loads(json.dumps(document))
    other["facts"]["plan"]["noise_multiplier"] *= 2
    now = {**document, "schema_version": "hush-certificate/8"}
    for given, words in ((other, "was edited"), (now, "is of no older hush")):
        assert words in refusal(folder, (json.dumps(given, indent=2, sort_keys=True) + "\n").encode())
    assert "was edited" in refusal(folder, json.dumps(document).encode())
    for text in ("{}", "[]", "no document", json.dumps({**document, "tables": 3})):
        assert "is no document of a certificate" in refusal(folder, text.encode())
    (folder / "certificate" / "certificate.json").unlink()
    with pytest.raises(VerificationError, match="missing or unreadable"):
        check_unchanged(folder / "certificate", folder / "model")


with tarfile.open(frozen_certificates.FILE) as archive:
    NAMES = sorted({name.split("/")[0] for name in archive.getnames()} - {"model", "many"})

"""Every kind that was there before, with and without a history; a newer one has no certificate from before."""

SAME_MACHINE = pl.read_parquet(reference.FILE)["word"][0] == reference.machine()


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frozen")
    frozen_certificates.unpack(folder)
    return folder


@pytest.mark.parametrize("name", [*NAMES, pytest.param("many", marks=pytest.mark.slow)])
def test_a_certificate_from_before_verifies(frozen, name):
    found = verify_certificate(frozen / name, frozen / "model")
    unsure = found.rows.filter(pl.col("route") == "not accurate enough")
    assert (unsure["bound"] < 1.4 * unsure["prior"]).all(), "of these alone the second route is not sure"
    assert unsure.height < found.rows.height / 3 if name == "many" else not unsure.height


@pytest.mark.parametrize("name", [*NAMES, "many"])
def test_its_numbers_come_out_to_the_last_digit(frozen, name):
    facts, tables = read_certificate(frozen / name).facts, read_tables(frozen / name)
    stored, edges, secrets = (tables[f"{table}.parquet"] for table in ("bounds", "edges", "secrets"))
    plan, weights = facts.plan, tables["weights.parquet"]["weight"].to_numpy()
    together = all_runs_again(plan, weights, edges, stored, earlier_of(facts.unknown_runs, tables))
    assert not compare_all_runs(secrets["name"], stored, together)
    if SAME_MACHINE:
        again = bounds_again(plan, weights, edges, secrets).drop("noise_needed")
        assert again.equals(stored.select(again.columns))
        curves, was = curves_again(plan, weights, edges, secrets).table, tables["curves.parquet"]
        as_was = (curves["prior"] == was["prior"]).to_numpy()  # 10^-5 was an ulp off on this processor
        assert as_was.mean() > 0.9 and np.allclose(curves["prior"], was["prior"], rtol=1e-15)
        assert curves.filter(as_was).equals(was.filter(as_was))
        assert together.equals(stored.select(together.columns))
