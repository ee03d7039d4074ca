"""What a verification that fails came of: the files, or this machine."""

import resource
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from flows import registered
from flows.registered import local_failure
from hush_core.certificate import read_certificate
from hush_core.errors import VerificationError


def refusal(folder):
    with pytest.raises(VerificationError) as caught:
        read_certificate(folder)
    return caught.value


def test_too_many_open_files_are_the_machines_own_trouble_and_a_bad_file_is_not(certified, tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    read_certificate(certified[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        error = refusal(certified[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert "Too many open files" in str(local_failure(error))
    assert local_failure(refusal(tmp_path)) is None, "it is missing"
    (tmp_path / "certificate.json").write_text("No space left on device")
    assert local_failure(refusal(tmp_path)) is None, "its author wrote that"


def test_a_disk_without_room_is_too(monkeypatch):
    monkeypatch.setattr(registered, "is_full", lambda error: True)
    assert "No space left" in str(local_failure(VerificationError(["half a file"])))


@dataclass(frozen=True)
class Told:
    """As much of a verification as the comparison with earlier versions takes."""

    certificate: SimpleNamespace
    tables: dict
    chain: str = ""


def test_behind_the_nearest_version_those_are_looked_at_whose_run_is_not_counted(monkeypatch, tmp_path):
    """Version 4 of a copy of the home does not count version 3, which the home made: version 5 must, too."""
    versions = [
        ("models:/m/4", "s d"),
        ("models:/m/3", "s c"),
        ("models:/m/2", "t b"),
        ("models:/m/1", "s a"),
    ]
    stores = {uri: made_by.partition(" ")[0] for uri, made_by in versions}
    looked_at = []

    def compared(before, tables, verification, uri):
        looked_at.append(uri)
        return replace(verification, chain=uri)

    monkeypatch.setattr(registered, "earlier_versions", lambda uri: iter(versions))
    monkeypatch.setattr(registered, "download_certificate", lambda uri, into: uri)
    monkeypatch.setattr(
        registered, "read_certificate", lambda uri: SimpleNamespace(facts=SimpleNamespace(store=stores[uri]))
    )
    for name in ("check_files", "read_tables"):
        monkeypatch.setattr(registered, name, lambda *_: None)
    monkeypatch.setattr(registered, "verified_against", compared)
    told = Told(
        SimpleNamespace(facts=SimpleNamespace(store="s", run="e")), {"runs.parquet": {"key": ["a", "d"]}}
    )
    found = registered.after_earlier_versions(told, "models:/m/5", tmp_path)
    assert looked_at == ["models:/m/4", "models:/m/3"] and found.chain == "models:/m/4; models:/m/3"
