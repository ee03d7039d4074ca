"""HUSH_STORE: objects on a real object server and in a shared folder; what is changed there, lost, cut or away."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
from hung_mount import hung_mount
from local_servers import relay
from object_server import InBucket, InFolder, needs_s3, use
from waiting import PATIENCE

from hush_core.errors import InputError
from tasks.runtime import environment, places, shared_store
from tasks.runtime.environment import home, store_address
from tasks.runtime.sealed import seal
from tasks.runtime.shared_store import SharedStore, SharedStoreError, check_storage
from tasks.runtime.store import Store, StoreError

ROOT = Path(__file__).parents[3]
SECRET = b"ghp_9rT2xVq0LmZk4WbYhJ7sNc1D"


def of_home(root, monkeypatch, key=None):
    """The store of another home, whose identity is its own."""
    monkeypatch.setenv("HUSH_HOME", str(root))
    if key is not None:
        (root / "keys").mkdir(parents=True)
        (root / "keys" / "store.key").write_bytes(key)
    return Store(home().create().store)


def folder(tmp_path):
    made = tmp_path / "model"
    (made / "deep").mkdir(parents=True)
    (made / "deep" / "weights").write_bytes(SECRET * 1000)
    (made / "config.json").write_text("{}")
    return made


def put_all(store, tmp_path):
    frame = pl.DataFrame({"text": [SECRET, b"x"]})
    return (
        store.put_bytes(SECRET),
        store.put_frame(frame),
        store.put_directory(folder(tmp_path)),
        store.put_json([]),
    )


def test_another_home_with_the_key_reads_what_one_has_made(storage, tmp_path, monkeypatch):
    ours = of_home(tmp_path / "home", monkeypatch)
    refs = put_all(ours, tmp_path)
    key, identity = home().store_key(), home().identity_key()
    theirs = of_home(tmp_path / "theirs", monkeypatch, key)
    assert theirs.read_bytes(refs[0]) == SECRET and theirs.read_frame(refs[1])["text"][0] == SECRET
    assert (theirs.path(refs[2]) / "deep" / "weights").read_bytes() == SECRET * 1000
    assert all(theirs.holds(ref) for ref in refs) and home().identity_key() != identity
    for path in home().store.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    strangers = of_home(tmp_path / "strangers", monkeypatch)
    with pytest.raises(StoreError, match="HUSH_STORE does not have it whole"):
        strangers.read_bytes(refs[0])


def test_what_is_lost_or_changed_here_comes_back(storage, tmp_path, monkeypatch):
    store = of_home(tmp_path / "home", monkeypatch)
    refs = put_all(store, tmp_path)
    for ref in refs:
        path = store.path(ref)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert store.holds(ref)
    store.path(refs[0]).write_bytes(b"changed")
    (store.path(refs[2]) / "deep" / "weights").write_bytes(b"changed")
    assert store.read_bytes(refs[0], verify=True) == SECRET and store.holds(refs[2])


def test_nothing_can_be_read_or_recognised_there(storage, tmp_path, monkeypatch):
    refs = put_all(of_home(tmp_path / "home", monkeypatch), tmp_path)
    files = storage.files()
    assert len(files) == len(refs)
    for name, data in files.items():
        assert (
            SECRET not in data and SECRET[:12] not in data and b"weights" not in data and b"PAR1" not in data
        )
        assert not any(ref.sha256[:12] in name or ref.sha256.encode() in data for ref in refs)


@pytest.mark.parametrize("damage", ["a byte", "cut", "another object's", "sealed by a holder", "gone"])
def test_a_damaged_object_is_never_taken_and_is_mended_by_who_makes_it(
    storage, tmp_path, monkeypatch, damage
):
    store = of_home(tmp_path / "home", monkeypatch)
    ref = store.put_bytes(SECRET)
    ((name, right),) = storage.files().items()
    if damage == "gone":
        storage.delete(name)
    elif damage == "sealed by a holder":
        with open(tmp_path / "plain", "w+b") as plain, open(tmp_path / "sealed", "w+b") as sealed:
            plain.write(b"something else")
            plain.seek(0)
            seal(plain, sealed, home().store_key(), name)
        storage.put(name, (tmp_path / "sealed").read_bytes())
    else:
        store.put_bytes(b"other")
        (other,) = set(storage.files().values()) - {right}
        changed = right[:-1] + bytes([right[-1] ^ 1])
        storage.put(name, {"a byte": changed, "cut": right[:-5], "another object's": other}[damage])
    store.path(ref).unlink()
    with pytest.raises(StoreError, match="recomputed"):
        store.read_bytes(ref)
    assert not store.holds(ref) and not list((home().store / "objects").rglob(ref.sha256 + "*"))
    assert store.put_bytes(SECRET) == ref  # computed anew
    store.path(ref).unlink()
    assert store.read_bytes(ref) == SECRET


def test_two_homes_write_the_same_at_once(storage, tmp_path, monkeypatch):
    made = of_home(tmp_path / "home", monkeypatch), home().store_key()
    other = of_home(tmp_path / "other", monkeypatch, made[1])
    with ThreadPoolExecutor(8) as threads:
        work = [
            threads.submit(store.put_bytes, b"%d" % (i % 4) * 300_000)
            for i in range(24)
            for store in (made[0], other)
        ]
        refs = {one.result() for one in work}
    assert len(refs) == 4 == len(storage.files())
    third = of_home(tmp_path / "third", monkeypatch, made[1])
    with ThreadPoolExecutor(8) as threads:  # and many read it
        assert all(threads.map(lambda _: all(third.holds(ref) for ref in refs), range(8)))


def test_many_threads_fetch_one_folder(storage, tmp_path, monkeypatch):
    ref = of_home(tmp_path / "home", monkeypatch).put_directory(folder(tmp_path))
    theirs = of_home(tmp_path / "theirs", monkeypatch, home().store_key())
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: (theirs.path(ref) / "deep" / "weights").read_bytes(), range(8)))
    assert found == [SECRET * 1000] * 8 and not list((home().store / "tmp").rglob("*.d.*"))


def test_what_the_storage_lost_is_published_again_before_a_worker_is_given_it(storage, tmp_path, monkeypatch):
    store = of_home(tmp_path / "home", monkeypatch)
    ref = store.put_bytes(SECRET)
    ((name, _),) = storage.files().items()
    storage.delete(name)
    store.publish(ref)
    assert not storage.files(), "the note alone was asked"
    store.publish(ref, asked=True)
    assert list(storage.files()) == [name]


PUT = """
import os, signal, sys
def at(event, arguments):  # in a folder an object has its name at last: killed just before
    if event == "os.rename" and str(arguments[0]).startswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(at)
from tasks.runtime.environment import home
from tasks.runtime.store import Store
Store(home().create().store).put_bytes(bytes(range(256)) * (1 << int(sys.argv[1])))
"""


@pytest.mark.few(1)
def test_a_kill_amid_the_upload_leaves_nothing_that_counts(storage, tmp_path, monkeypatch):
    store, size = of_home(tmp_path / "home", monkeypatch), 17  # 32 MiB
    environ, full, left = {**os.environ, "PYTHONPATH": str(ROOT)}, threading.Event(), [4 << 20]

    def lets_through(data):
        left[0] -= len(data)
        return left[0] >= 0 or full.set()

    in_bucket = isinstance(storage, InBucket)
    with relay(storage.server.port, lets_through) if in_bucket else contextlib.nullcontext() as port:
        environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
        place = "-" if in_bucket else str(storage.root)
        child = subprocess.Popen([sys.executable, "-c", PUT, str(size), place], env=environ)
        try:
            assert full.wait(PATIENCE) if in_bucket else child.wait(PATIENCE) == -signal.SIGKILL
        finally:
            child.kill()
            child.wait()
    files = {name: data for name, data in storage.files().items() if "/." not in name}
    assert not files and not list((home().store / "published").rglob("*")), "half an object has a name"
    ref = store.put_bytes(bytes(range(256)) * (1 << size))
    store.path(ref).unlink()
    assert store.holds(ref)


@needs_s3
def test_a_server_that_is_gone_stops_what_needs_it_and_nothing_is_lost(s3_server, tmp_path, monkeypatch):
    monkeypatch.setattr(places, "TRIES", 1)
    use(monkeypatch, InBucket(s3_server, "p"), tmp_path / "home")
    store = of_home(tmp_path / "home", monkeypatch)
    before = store.put_bytes(b"before")
    check_storage()
    s3_server.stop()
    try:
        assert store.put_bytes(b"before") == before and store.read_bytes(before) == b"before"
        cannot = r"HUSH_STORE \(s3://shared/p\): cannot be used \([\w: ]+\)"
        with pytest.raises(SharedStoreError, match=cannot) as told:
            store.put_bytes(SECRET)
        assert SECRET.decode() not in str(told.value)
        with pytest.raises(InputError, match="does not answer as a storage does"):
            check_storage()
        store.path(before).unlink()
        with pytest.raises(SharedStoreError):  # not StoreError: else it would be made again
            store.holds(before)
    finally:
        s3_server.start()
    ref = store.put_bytes(SECRET)
    store.path(ref).unlink()
    assert store.read_bytes(ref) == SECRET
    with pytest.raises(StoreError, match="does not have it whole"):
        store.read_bytes(before)


@needs_s3
def test_a_bucket_that_is_not_there_is_refused(s3_server, tmp_path, monkeypatch):
    use(monkeypatch, InBucket(s3_server, "p"), tmp_path / "home")
    monkeypatch.setenv("HUSH_STORE", "s3://no-such-bucket/p")
    with pytest.raises(InputError, match=r"HUSH_STORE \(s3://no-such-bucket/p\): does not answer"):
        check_storage()
    with pytest.raises(SharedStoreError, match="has no such bucket"):
        of_home(tmp_path / "home", monkeypatch).put_bytes(b"x")


def test_a_mount_that_is_away_is_not_written_into(tmp_path, monkeypatch):
    storage = InFolder(tmp_path / "shared")
    use(monkeypatch, storage, tmp_path / "home")
    store = of_home(tmp_path / "home", monkeypatch)
    (tmp_path / "shared").rmdir()
    with pytest.raises(SharedStoreError, match="NotADirectoryError"):
        store.put_bytes(b"x")
    with pytest.raises(InputError, match="does not answer as a storage does"):
        check_storage()
    assert not (tmp_path / "shared").exists()


HANGS = """\
import os, sys
from hush_core.errors import HushError
from tasks.runtime import deadline, shared_store

deadline.MOUNT_ANSWERS = 1.0
for os.environ["HUSH_STORE"] in sys.argv[1:]:
    try:
        shared_store.check_storage()
    except HushError as error:
        print(error)
"""


def test_a_mount_whose_server_is_gone_is_given_up(tmp_path):
    """Of the storage or of a folder in it; in a process of its own: that it ends is what is asked."""
    (tmp_path / "home" / "keys").mkdir(parents=True)
    hung = [tmp_path / "one", tmp_path / "two" / "objects"]
    storages = [f"file://{tmp_path}/{name}" for name in ("one", "two")]
    with contextlib.ExitStack() as mounts:
        for place in hung:
            place.mkdir(parents=True)
            if not mounts.enter_context(hung_mount(place)):
                pytest.skip("needs root and /dev/fuse")
        done = subprocess.run(
            [sys.executable, "-c", HANGS, *storages],
            env=os.environ | {"HUSH_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip
    said = done.stdout.splitlines()
    assert len(said) == 2, done.stderr
    for line, storage in zip(said, storages, strict=True):
        assert f"HUSH_STORE ({storage}): has not answered for 1 s" in line and "Hint: see to" in line


def test_a_storage_that_does_not_keep_what_it_is_given_is_told(tmp_path):
    class Forgets(shared_store.Folder):
        def write(self, file, name):
            file.write_bytes(file.read_bytes()[:-1])
            super().write(file, name)

    for one in ("there", "work"):
        (tmp_path / one).mkdir()
    (tmp_path / "object").write_bytes(b"text")
    shared = SharedStore(
        Forgets(tmp_path / "there"), "file:///there", secrets.token_bytes(32), tmp_path / "notes"
    )
    with pytest.raises(SharedStoreError, match="gives back something else"):
        shared.publish(
            "label", tmp_path / "object", tmp_path / "work", lambda path: path.read_bytes() == b"text"
        )
    assert not shared.noted("label") and not list((tmp_path / "work").iterdir())


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("gs://bucket/x", "is no storage that hush can use"),
        ("s3://key:login@bucket/x", "is no storage that hush can use"),
        ("s3://bucket/x?endpoint=http://y", "is no storage that hush can use"),
        ("s3://", "is no storage that hush can use"),
        ("/mnt/shared", "is no storage that hush can use"),
        ("file://host/mnt", "is no storage that hush can use"),
        ("file:///mnt/../home", "is no storage that hush can use"),
        ("file://{home}/store", "is in HUSH_HOME, or has it inside"),
        ("file://{above}", "is in HUSH_HOME, or has it inside"),
    ],
)
def test_what_is_no_storage_is_refused_before_anything_starts(monkeypatch, tmp_path, address, said):
    monkeypatch.setenv("HUSH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HUSH_STORE", address.format(home=tmp_path / "home", above=tmp_path))
    with pytest.raises(InputError, match=said):
        environment.prepare_environment()


def test_s3_without_its_client_is_refused_with_its_mend(monkeypatch):
    monkeypatch.setattr(environment, "find_spec", lambda name: None)
    monkeypatch.setenv("HUSH_STORE", "s3://bucket/prefix")
    with pytest.raises(InputError, match=r"not installed.*pip install .*hush-secrets\[s3\]"):
        store_address()
