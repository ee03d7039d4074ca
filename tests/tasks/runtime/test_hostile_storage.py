"""HUSH_STORE whose keeper, or another holder of its key, means ill; and one that is another than this home's."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import shutil
import tarfile
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from local_servers import listening
from object_server import InBucket, InFolder, ObjectServer, needs_s3, use

from hush_core.errors import InputError
from tasks import champion
from tasks.runtime import places, sealed, shared_store
from tasks.runtime import store as store_module
from tasks.runtime.environment import home, store_address
from tasks.runtime.full_disk import is_full
from tasks.runtime.places import Bucket, Folder
from tasks.runtime.sealed import seal
from tasks.runtime.shared_store import SharedStoreError, check_storage
from tasks.runtime.store import Ref, Store, StoreError

TEXT = b"some text of a protected example"


@pytest.fixture
def shared(tmp_path, monkeypatch):
    made = InFolder(tmp_path / "shared")
    use(monkeypatch, made, tmp_path / "home")
    return made


def a_store():
    return Store(home().store)


def model(tmp_path):
    made = tmp_path / "model"
    (made / "deep").mkdir(parents=True)
    (made / "deep" / "weights").write_bytes(TEXT * 1000)
    return made


def forget_here(store, ref):
    """As of another home: neither the object nor a note of it."""
    target = store._target(ref)
    shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
    shutil.rmtree(home().store / "published", ignore_errors=True)


# a holder of the key


def tar(mode="w", **member):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:
        info = tarfile.TarInfo("weights")
        for name, value in member.items():
            setattr(info, name, value)
        archive.addfile(info, io.BytesIO(bytes(info.size)))
    return packed.getvalue()


LAID = {
    "a link": lambda: tar(type=tarfile.SYMTYPE, linkname="x"),
    "a name that is too long": lambda: tar(name="a" * 300),
    "a device": lambda: tar(type=tarfile.CHRTYPE),
    "a path out of it": lambda: tar(name="../weights"),
    "compressed": lambda: tar("w:gz", size=1 << 20),
    "no tar": lambda: gzip.compress(b"x"),
    "a name with a null": lambda: tar(name="x", pax_headers={"path": "a\0b"}),
}


@pytest.mark.parametrize("laid", LAID)
def test_what_another_holder_of_the_key_laid_is_replaced_by_who_has_the_object(shared, tmp_path, laid):
    store, folder = a_store(), model(tmp_path)
    ref = store.put_directory(folder)
    ((name, _),) = shared.files().items()
    with open(tmp_path / "sealed", "w+b") as sealed:
        seal(io.BytesIO(LAID[laid]()), sealed, home().store_key(), name)
    shared.put(name, (tmp_path / "sealed").read_bytes())
    forget_here(store, ref)
    assert not store.holds(ref)
    assert store.put_directory(folder) == ref
    forget_here(store, ref)
    assert (store.path(ref) / "deep" / "weights").read_bytes() == TEXT * 1000


def test_what_is_packed_is_unpacked_no_more_than_it_is_long(tmp_path):
    (tmp_path / "bomb").write_bytes(tar("w:gz", size=64 << 20))
    with pytest.raises(sealed.NotWhole):
        sealed.unpack(tmp_path / "bomb", tmp_path / "into")
    assert not list((tmp_path / "into").iterdir())


# this disk


@pytest.mark.parametrize("folder", [False, True], ids=["file", "folder"])
def test_a_disk_that_is_full_is_told_as_that(shared, tmp_path, monkeypatch, folder):
    store = a_store()
    ref = store.put_directory(model(tmp_path)) if folder else store.put_bytes(TEXT)
    forget_here(store, ref)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for where, what in ((Folder, "read"), *([(sealed.tarfile.TarFile, "extract")] if folder else [])):
        with monkeypatch.context() as now:
            now.setattr(where, what, full)
            with pytest.raises(OSError, match="No space left") as told:
                store.path(ref)
            assert is_full(told.value)
            with pytest.raises(OSError, match="No space left"):
                store.holds(ref)
    with monkeypatch.context() as now:
        now.setattr(Folder, "write", full)  # the storage's own disk
        with pytest.raises(SharedStoreError, match="cannot be used .*No space left"):
            store.put_bytes(b"more")
    assert store.holds(ref)


def test_what_is_published_lies_here_twice_more_at_most(shared, tmp_path, monkeypatch):
    store, most = a_store(), []
    size = 1 << 20
    folder = model(tmp_path)
    (folder / "deep" / "weights").write_bytes(os.urandom(size))

    def seen(function):
        def called(*arguments, **options):
            answer = function(*arguments, **options)
            files = (home().store / "tmp").rglob("*")
            most.append(sum(file.stat().st_size for file in files if file.is_file()))
            return answer

        return called

    for where, name in (
        (shared_store, "unseal"),
        (shared_store, "unpack"),
        (Folder, "write"),
        (sealed, "seal"),
    ):
        monkeypatch.setattr(where, name, seen(getattr(where, name)))
    ref = store.put_directory(folder)
    forget_here(store, ref)
    assert store.holds(ref)
    assert 2 * size <= max(most) < 2.2 * size, most


# another storage, another key


def test_a_lost_key_is_not_replaced_in_silence(storage, tmp_path):
    check_storage()
    check_storage()
    key = home().keys / "store.key"
    right = key.read_bytes()
    key.unlink()
    with pytest.raises(InputError, match=r"HUSH_STORE .*: holds objects of another keys/store\.key .*backup"):
        check_storage()
    assert not key.exists(), "a new one was made in silence"
    key.write_bytes(bytes(32))
    with pytest.raises(InputError, match=r"another keys/store\.key"):
        check_storage()
    key.write_bytes(right)
    check_storage()
    assert list(storage.files()) == [shared_store.MARK]


def test_an_empty_mount_point_is_not_taken_for_the_storage(shared, tmp_path):
    check_storage()
    (tmp_path / "shared").rename(tmp_path / "unmounted")
    (tmp_path / "shared").mkdir()
    with pytest.raises(InputError, match="is not the storage that this home publishes to. Hint: mount it"):
        check_storage()
    assert not list((tmp_path / "shared").iterdir())
    shutil.rmtree(home().store / "published")  # as the line says, where it was emptied
    check_storage()


def test_a_storage_that_this_account_may_not_write_to_is_refused(storage, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Access Denied")

    monkeypatch.setattr(Folder if isinstance(storage, InFolder) else Bucket, "write", refuse)
    with pytest.raises(InputError, match=r"does not answer as a storage does \(PermissionError\)"):
        check_storage()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_of_another_account_is_refused(shared, tmp_path):
    (tmp_path / "shared" / "objects").mkdir(mode=0o500)
    with pytest.raises(InputError, match=r"does not answer as a storage does \(PermissionError\)"):
        check_storage()


def test_asking_makes_no_home(tmp_path, monkeypatch):
    use(monkeypatch, InFolder(tmp_path / "shared"), tmp_path / "home")
    shutil.rmtree(tmp_path / "home")
    check_storage()
    assert not (tmp_path / "home").exists()


# its keeper


@pytest.mark.parametrize("laid", ["an endless device", "a link", "a pipe", "a file that is too long"])
def test_nothing_but_a_file_of_its_length_is_taken_in(shared, tmp_path, laid):
    store = a_store()
    ref = store.put_bytes(TEXT)
    ((name, right),) = shared.files().items()
    file = shared.root / name
    file.unlink()
    if laid == "a pipe":
        os.mkfifo(file)
    elif laid == "a file that is too long":
        with open(file, "wb") as out:
            out.truncate(1 << 42)
    elif laid == "a link":
        (tmp_path / "elsewhere").write_bytes(right)
        file.symlink_to(tmp_path / "elsewhere")
    else:
        file.symlink_to("/dev/zero")
    forget_here(store, ref)
    with pytest.raises(OSError if laid == "a file that is too long" else StoreError) as told:
        store.read_bytes(ref)
    assert is_full(told.value) == (laid == "a file that is too long")
    assert store.put_bytes(TEXT) == ref
    forget_here(store, ref)
    assert store.read_bytes(ref) == TEXT and not file.is_symlink()


def test_nothing_is_written_through_a_link_nor_its_mode_changed(shared, tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o755)
    victim.chmod(0o755)
    (shared.root / "objects").symlink_to(victim)
    with pytest.raises(SharedStoreError, match="cannot be used .NotADirectoryError"):
        a_store().put_bytes(TEXT)
    assert victim.stat().st_mode & 0o777 == 0o755 and not list(victim.iterdir())


@contextlib.contextmanager
def answers_with(body, *, length, pause=0.0):
    """A server that gives every request this body, in pieces, and claims a length."""
    ended = threading.Event()

    def serve(near):
        with near, contextlib.suppress(OSError):
            near.recv(1 << 16)
            claim = b"Content-Length: %d" % length if length else b"Connection: close"
            near.sendall(b"HTTP/1.1 200 OK\r\n" + claim + b"\r\n\r\n")
            while not ended.is_set():
                near.sendall(body)
                ended.wait(pause)

    with listening(serve) as port:
        yield InBucket(ObjectServer(port), "p")
        ended.set()


@needs_s3
@pytest.mark.parametrize("length", [1 << 40, None], ids=["claimed", "unsaid"])
def test_an_object_server_that_sends_without_end_is_cut_off(tmp_path, monkeypatch, length):
    with answers_with(bytes(1 << 20), length=length) as storage:
        use(monkeypatch, storage, tmp_path / "home")
        place = shared_store._place(storage.address, os.getpid())
        with pytest.raises(places.TooLong):
            place.read("objects/x", tmp_path / "into", 5 << 20)
        assert sum(file.stat().st_size for file in tmp_path.glob("into")) <= 5 << 20


@needs_s3
def test_an_object_server_that_trickles_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "TRIES", 2)
    monkeypatch.setattr(places, "ANSWER", 1)
    with answers_with(b"x", length=1000, pause=0.2) as storage:
        use(monkeypatch, storage, tmp_path / "home")
        with pytest.raises(SharedStoreError, match=r"cannot be used \((FS)?TimeoutError"):
            a_store()._shared._asked(
                shared_store._place(storage.address, os.getpid()).read, "objects/x", tmp_path / "into", 1000
            )


# what is fetched


def test_the_last_model_alone_is_fetched(shared, tmp_path, monkeypatch):
    store, ended = a_store(), []
    for number in range(3):
        folder = model(tmp_path / str(number))
        (folder / "number").write_bytes(b"%d" % number)
        ended.append((f"{number}" * 64, store.put_directory(folder, kind="model").sha256))
    refs = [Ref(kind="model", sha256=sha256, suffix=".d") for _, sha256 in ended]
    for ref in refs:
        forget_here(store, ref)
    monkeypatch.setattr(champion, "run_logger", lambda: SimpleNamespace(warning=print))
    for name in ("_promoted", "_refuse_refuted"):
        monkeypatch.setattr(champion, name, lambda *_: None)
    assert champion.fetch_champion.fn("model", tuple(ended)).files.sha256 == refs[2].sha256
    assert [store._target(ref).exists() for ref in refs] == [False, False, True]
    missing = (*ended, ("3" * 64, "0" * 64))
    assert champion.fetch_champion.fn("model", missing).files.sha256 == refs[2].sha256


def test_a_fetched_folder_is_on_the_disk_before_it_has_its_name(shared, tmp_path, monkeypatch):
    store, synced = a_store(), []
    ref = store.put_directory(model(tmp_path))
    forget_here(store, ref)
    monkeypatch.setattr(store_module, "sync", lambda path: synced.append(path.name))
    assert store.holds(ref) and {"deep", "weights"} <= set(synced)


# its address


def test_an_address_is_read_as_others_read_it(tmp_path, monkeypatch):
    (tmp_path / "with blank").mkdir()
    use(monkeypatch, InFolder(tmp_path / "shared of blanks"), tmp_path / "home")
    a_store().put_bytes(TEXT)
    assert len(InFolder.files(Found(tmp_path / "shared of blanks"))) == 1
    (tmp_path / "link").symlink_to(home().store)
    for address, said in (
        (f"file://{tmp_path}/link", "is in HUSH_HOME"),
        (f"file:///{home().store}", "is no storage"),
        (f"file://{tmp_path}/%2e%2e", "is no storage"),
        (f"file://{tmp_path}/%00", "is no storage"),
    ):
        monkeypatch.setenv("HUSH_STORE", address)
        with pytest.raises(InputError, match=said):
            store_address()


class Found:
    def __init__(self, root: Path):
        self.root = root
