"""A file is whole or not there, durable and private; a failed write leaves what stood."""

import hashlib
import os
import stat

import pytest

from hush_core.files import file_sha256, private_folder, put_in_place, users_cache, whole_file, write_whole


def test_a_file_is_replaced_whole_and_private(tmp_path):
    target = tmp_path / "x"
    target.write_bytes(b"before")
    target.chmod(0o644)
    write_whole(target, b"after")
    assert target.read_bytes() == b"after" and stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["x"]
    assert file_sha256(target) == hashlib.sha256(b"after").hexdigest()


def test_until_the_block_ends_the_old_file_stands(tmp_path):
    target = tmp_path / "x"
    target.write_bytes(b"before")
    with whole_file(target) as file:
        file.write(b"half")
        file.flush()
        assert target.read_bytes() == b"before"
    assert target.read_bytes() == b"half"


def test_what_fails_leaves_nothing(tmp_path):
    target = tmp_path / "x"
    target.write_bytes(b"before")
    with pytest.raises(RuntimeError), whole_file(target) as file:
        file.write(b"half")
        raise RuntimeError
    assert target.read_bytes() == b"before" and os.listdir(tmp_path) == ["x"]


def test_content_comes_to_the_disk_before_the_name_and_the_name_before_the_end(tmp_path, monkeypatch):
    """A rename before the content's fsync, or without the folder's, is what a power cut would show."""
    seen, fsync, replace = [], os.fsync, os.replace

    def synced(descriptor):
        seen.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def renamed(part, target):
        assert part.read_bytes() == b"all of it"
        seen.append("rename")
        replace(part, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    write_whole(tmp_path / "x", b"all of it")
    assert seen == ["file", "rename", "folder"]


def test_folders_are_put_in_place_and_kept_private(tmp_path):
    part = private_folder(tmp_path / "part")
    (part / "y").write_bytes(b"1")
    put_in_place(part, tmp_path / "whole")
    assert (tmp_path / "whole" / "y").read_bytes() == b"1" and not part.exists()
    (tmp_path / "open").mkdir(mode=0o755)
    assert stat.S_IMODE(private_folder(tmp_path / "open").stat().st_mode) == 0o700


def test_the_users_cache_is_taken_only_where_nobody_else_can_write(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = users_cache("rules")
    assert found == tmp_path / "cache" / "hush" / "rules" and stat.S_IMODE(found.stat().st_mode) == 0o700
    assert users_cache("rules") == found
    found.chmod(0o770)  # somebody of the group may have put a file there
    assert users_cache("rules") is None
    found.chmod(0o700)
    (tmp_path / "cache").chmod(0o777)  # anyone may rename `hush`, and put another one in its place
    assert users_cache("rules") is None
    (tmp_path / "cache").chmod(0o1777)  # as /tmp: only an owner renames
    assert users_cache("rules") == found
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert users_cache("rules") is None


@pytest.mark.skipif(os.getuid() != 0, reason="gives a folder away")
def test_a_cache_of_another_user_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = users_cache("rules")
    os.chown(found, 12345, 12345)
    assert users_cache("rules") is None
