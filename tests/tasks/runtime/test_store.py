"""The store: idempotent, private, deterministic, and loud about what is gone or changed."""

import os
import shutil
import stat
import threading
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
from pydantic import ValidationError
from waiting import PATIENCE

from tasks.runtime import store as module
from tasks.runtime.store import Ref, Store, StoreError


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_round_trips(store, tmp_path):
    frame = pl.DataFrame({"a": [1, 2], "b": [b"x", b"\xff"]})
    assert store.read_frame(store.put_frame(frame)).equals(frame)
    assert store.read_json(store.put_json({"b": 1, "a": [None, 0.1]})) == {"a": [None, 0.1], "b": 1}
    assert store.read_bytes(store.put_bytes(b"abc"), verify=True) == b"abc"
    folder = tmp_path / "m"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "x").write_bytes(b"1")
    ref = store.put_directory(folder)
    assert (store.path(ref, verify=True) / "deep" / "x").read_bytes() == b"1"
    assert store.put_directory(folder) == ref


def test_chunking_does_not_change_the_hash(store):
    whole = pl.DataFrame({"a": list(range(1000))})
    pieces = pl.concat([whole[:300], whole[300:]], rechunk=False)
    assert pieces.n_chunks() > 1
    assert store.put_frame(whole) == store.put_frame(pieces)
    assert store.put_frame(whole) != store.put_frame(whole.with_columns(pl.col("a") + 1))


def test_objects_are_private_and_nothing_temporary_stays(store, tmp_path):
    store.put_bytes(b"secret text")
    for path in (tmp_path / "store").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
        assert not path.name.startswith(".")


def test_missing_says_recompute(store):
    ref = store.put_bytes(b"x")
    store.path(ref).unlink()
    with pytest.raises(StoreError, match=r"is missing.*recomputed"):
        store.read_bytes(ref)


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_an_edited_byte_is_found_and_mended(store, tmp_path, kind):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "f").write_bytes(b"right")

    def put():
        return store.put_bytes(b"right") if kind == "file" else store.put_directory(tmp_path / "m")

    ref = put()
    inside = store.path(ref) if kind == "file" else store.path(ref) / "f"
    inside.write_bytes(b"wrong")
    assert not store.holds(ref)
    with pytest.raises(StoreError, match="has been changed"):
        store.path(ref, verify=True)
    assert put() == ref and store.holds(ref)


def test_a_whole_folder_is_not_moved_away_by_another_thread_that_found_a_damaged_one(
    store, tmp_path, monkeypatch
):
    """The slower thread has seen the damage and is held there until the faster one has replaced it, or waits."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_bytes(b"whole")
    ref = store.put_directory(tmp_path / "model")
    target, digest, replace, lock = store.path(ref), module.directory_sha256, os.replace, module.one_at_a_time
    (target / "weights").write_bytes(b"damaged")
    slower_looked, faster_came, moved_away = threading.Event(), threading.Event(), []

    def look(path):
        found = digest(path)
        if threading.current_thread().name == "slower":
            slower_looked.set()
            assert faster_came.wait(PATIENCE)
        return found

    @contextmanager
    def seen_at_the_lock(*which):
        if threading.current_thread().name == "faster":
            faster_came.set()
        with lock(*which):
            yield

    def move(source, to):
        if Path(source) == target and digest(target) == ref.sha256:
            moved_away.append(threading.current_thread().name)
        replace(source, to)

    def put(name):
        store._put_directory_in_place(tmp_path / name, target, ref.sha256)
        faster_came.set()

    monkeypatch.setattr(module, "directory_sha256", look)
    monkeypatch.setattr(module, "one_at_a_time", seen_at_the_lock)
    monkeypatch.setattr(os, "replace", move)
    threads = []
    for name in ("slower", "faster"):
        shutil.copytree(tmp_path / "model", tmp_path / name)
        threads.append(threading.Thread(target=put, args=(name,), name=name))
        threads[-1].start()
        assert slower_looked.wait(PATIENCE)
    for thread in threads:
        thread.join(PATIENCE)
    assert not moved_away and digest(target) == ref.sha256


def test_a_link_in_a_folder_is_refused(store, tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "link").symlink_to("/etc/passwd")
    with pytest.raises(StoreError, match="neither a plain file"):
        store.put_directory(tmp_path / "m")


def test_work_survives_and_stays_in_the_store(store):
    (store.work_dir("abc") / "checkpoint").touch()
    assert (store.work_dir("abc") / "checkpoint").exists()
    with pytest.raises(ValueError):
        store.work_dir("../out")


def test_a_ref_is_frozen_and_cannot_leave_the_store():
    ref = Ref(kind="frame", sha256="0" * 64, suffix=".parquet")
    with pytest.raises(ValidationError):
        ref.kind = "other"
    for bad in ({"sha256": "../x"}, {"suffix": "/../x"}, {"kind": "A b"}):
        with pytest.raises(ValidationError):
            Ref(**{**ref.model_dump(), **bad})
