"""Objects on storage that several machines reach (`HUSH_STORE`): each home has its own, and fetches what it lacks.

>>> shared = shared_store(home())                      # doctest: +SKIP
>>> shared.publish(label, file, work, right)           # doctest: +SKIP

Objects are immutable and named by their content, so there is nothing to agree on: who writes an object writes what
anyone else would, and who reads one checks it by its digest before it is used. They are encrypted here
(`sealed`), under names that only the holders of `keys/store.key` can tell. Nothing else of a home ever goes there.
docs/many_machines.md says why.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import shutil
import tarfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from hush_core.errors import SetupError, Unavailable
from hush_core.files import private_folder, whole_file
from tasks.runtime.environment import STORE, Home, store_address
from tasks.runtime.sealed import NotWhole, seal, unseal

OBJECTS = "objects"
CONNECT, ANSWER, TRIES = 10, 60, 4
"""Seconds, seconds, and how often a request is made."""


class SharedStoreError(Unavailable):
    """The shared storage does not answer, refuses, or does not keep what it is given; what is done here is kept."""


class Missing(Exception):
    """No such object on the shared storage, or none that is what its name says."""


class Place(ABC):
    """Files by name; a name has one file, whole, or none."""

    @abstractmethod
    def check(self) -> None:
        """See that it answers this account."""

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""

    @abstractmethod
    def write(self, file: Path, name: str) -> None:
        """Keep a file whole or not at all."""

    @abstractmethod
    def read(self, name: str, into: Path) -> None:
        """Copy a file here.

        Raises:
            FileNotFoundError: there is none.
        """


class Folder(Place):
    """A folder that is mounted on every machine."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def check(self) -> None:
        if not self._root.is_dir():  # never made here: an empty mount point would take all in
            raise NotADirectoryError(20, "is no folder")
        if not os.access(self._root, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(13, "may not be written to")

    def has(self, name: str) -> bool:
        self.check()
        return (self._root / name).is_file()

    def write(self, file: Path, name: str) -> None:
        self.check()
        target = self._root / name
        private_folder(self._root / OBJECTS)
        private_folder(target.parent)
        with open(file, "rb") as found, whole_file(target) as out:
            shutil.copyfileobj(found, out, 1 << 20)

    def read(self, name: str, into: Path) -> None:
        self.check()
        shutil.copyfile(self._root / name, into)


class Bucket(Place):
    """An object store that speaks S3: a write is seen whole or not at all, by its own promise."""

    def __init__(self, root: str) -> None:
        import fsspec

        limits = {"connect_timeout": CONNECT, "read_timeout": ANSWER, "retries": {"max_attempts": TRIES}}
        self._root = root
        self._files = fsspec.filesystem(
            "s3", config_kwargs=limits, use_listings_cache=False, skip_instance_cache=True
        )
        self._files.retries = 1  # botocore tries again by itself

    def check(self) -> None:
        self._files.call_s3("head_bucket", Bucket=self._root.partition("/")[0])

    def has(self, name: str) -> bool:
        return bool(self._files.exists(f"{self._root}/{name}"))

    def write(self, file: Path, name: str) -> None:
        self._files.put_file(str(file), f"{self._root}/{name}")

    def read(self, name: str, into: Path) -> None:
        self._files.get_file(f"{self._root}/{name}", str(into))


class SharedStore:
    """The objects of one HUSH_STORE, for one home. Asks nothing when it is made."""

    def __init__(self, place: Place, address: str, key: bytes, notes: Path) -> None:
        self._place, self._address, self._key = place, address, key
        self._notes = notes / hashlib.sha256(address.encode() + key).hexdigest()[:16]

    def noted(self, label: str, *, asked: bool = False) -> bool:
        """Whether this home has seen the object there; `asked`: and the storage still has one of its name."""
        return self._note(label).exists() and (not asked or self._asked(self._place.has, self._name(label)))

    def publish(self, label: str, path: Path, work: Path, right: Callable[[Path], bool]) -> None:
        """Have an object there, read back and found right, and note it.

        label: digest and suffix. path: its file or folder. work: a private folder on the home's disk. right:
        whether a file or folder is this object, by its digest.

        Raises:
            SharedStoreError: the storage does not answer, or what it gives back is something else.
        """
        name = self._name(label)
        part = work / f"publish.{secrets.token_hex(8)}"
        try:
            if not self._there(name, part, right, folder=path.is_dir()):
                _pack_and_seal(path, part, self._key, name)
                try:
                    self._asked(self._place.write, part, name)
                except FileNotFoundError:
                    raise SharedStoreError(self._words("has no such bucket")) from None
                if not self._there(name, part, right, folder=path.is_dir()):
                    raise SharedStoreError(self._words("gives back something else than it was given"))
        finally:
            part.unlink(missing_ok=True)
        self._take_note(label)

    def fetch(self, label: str, into: Path, right: Callable[[Path], bool], *, folder: bool) -> None:
        """Decrypt an object into a new file, or a new folder, and see that it is `right`.

        Raises:
            Missing: there is none, or what lies there is something else: whoever makes it again publishes it again.
            SharedStoreError: the storage does not answer.
        """
        try:
            self._open(self._name(label), into, folder=folder)
            if not right(into):
                raise NotWhole("another content")
        except (FileNotFoundError, NotWhole):
            remove(into)
            self._note(label).unlink(missing_ok=True)
            raise Missing(label) from None
        self._take_note(label)

    def _there(self, name: str, part: Path, right: Callable[[Path], bool], *, folder: bool) -> bool:
        """Whether what lies there opens, and is this object."""
        found = part.with_name(part.name + ".back")
        try:
            self._open(name, found, folder=folder)
            return right(found)
        except (FileNotFoundError, NotWhole):
            return False
        finally:
            remove(found)

    def _open(self, name: str, into: Path, *, folder: bool) -> None:
        part, plain = (into.with_name(f"{into.name}.{end}") for end in ("sealed", "plain"))
        try:
            self._asked(self._place.read, name, part)
            with open(part, "rb") as sealed, open(plain, "xb") as out:
                unseal(sealed, out, self._key, name)
            if folder:
                _unpack(plain, into)
            else:
                plain.chmod(0o600)
                plain.rename(into)
        finally:
            part.unlink(missing_ok=True)
            plain.unlink(missing_ok=True)

    def _asked(self, call: Any, *arguments: Any) -> Any:
        """Ask the storage. Of a failure the type alone is told: messages may quote names and addresses."""
        try:
            return call(*arguments)
        except FileNotFoundError:
            raise
        except Exception as error:
            why = type(error).__name__
            if isinstance(error, OSError) and error.errno:
                why += f": {os.strerror(error.errno)}"
            raise SharedStoreError(self._words(f"cannot be used ({why})")) from None

    def _words(self, what: str) -> str:
        return (
            f"{STORE} ({self._address}): {what}; mend it and start again: what is done is kept in this home"
        )

    def _name(self, label: str) -> str:
        """Where an object lies: a keyed digest, as the content's own would let guesses at it be tried."""
        name = hmac.new(self._key, f"name {label}".encode(), hashlib.sha256).hexdigest()
        return f"{OBJECTS}/{name[:2]}/{name}"

    def _take_note(self, label: str) -> None:
        note = self._note(label)
        private_folder(note.parent.parent)
        private_folder(note.parent)
        note.touch(mode=0o600)

    def _note(self, label: str) -> Path:
        return self._notes / self._name(label).rpartition("/")[2]


@lru_cache(maxsize=4)
def _place(address: str, process: int) -> Place:  # a fork takes no connection with it
    scheme, _, rest = address.partition("://")
    return Folder(Path(rest)) if scheme == "file" else Bucket(rest.rstrip("/"))


def shared_store(home: Home) -> SharedStore | None:
    """What HUSH_STORE names; None where it is not set.

    Raises:
        SetupError: it is no address of a storage, or its extra is not installed.
    """
    address = store_address()
    if not address:
        return None
    return SharedStore(_place(address, os.getpid()), address, home.store_key(), home.store / "published")


def check_storage() -> None:
    """Refuse a HUSH_STORE that does not answer, before any work.

    Raises:
        SetupError: it is no address of a storage, does not answer this account, or has no such bucket or folder.
    """
    address = store_address()
    if not address:
        return
    try:
        _place(address, os.getpid()).check()
    except Exception as error:  # of foreign clients: their messages may quote what they were given
        what = f"does not answer as a storage does ({type(error).__name__})"
        hint = (
            "correct it, mount the folder or make the bucket, and see to the account (docs/many_machines.md)"
        )
        raise SetupError(f"{STORE} ({address})", what, hint) from None


def _pack_and_seal(path: Path, into: Path, key: bytes, name: str) -> None:
    packed = into.with_name(into.name + ".tar")
    try:
        if path.is_dir():
            with tarfile.open(packed, "w", format=tarfile.PAX_FORMAT) as archive:
                for file in sorted(path.rglob("*")):
                    if file.is_file():
                        archive.add(file, arcname=file.relative_to(path).as_posix(), recursive=False)
        with open(packed if path.is_dir() else path, "rb") as plain, open(into, "xb") as out:
            seal(plain, out, key, name)
    finally:
        packed.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """A file or a folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _unpack(packed: Path, into: Path) -> None:
    into.mkdir(mode=0o700)
    try:
        with tarfile.open(packed) as archive:
            archive.extractall(into, filter="data")
    except tarfile.TarError:
        raise NotWhole("no folder") from None
    for path in into.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
