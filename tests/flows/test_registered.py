"""What a verification that fails came of: the files, or this machine."""

import resource

import pytest

from flows import registered
from flows.registered import own_trouble
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
    assert "Too many open files" in str(own_trouble(error))
    assert own_trouble(refusal(tmp_path)) is None, "it is missing"
    (tmp_path / "certificate.json").write_text("No space left on device")
    assert own_trouble(refusal(tmp_path)) is None, "its author wrote that"


def test_a_disk_without_room_is_too(monkeypatch):
    monkeypatch.setattr(registered, "is_full", lambda error: True)
    assert "No space left" in str(own_trouble(VerificationError(["half a file"])))
