"""Objects on storage that several machines reach (`HUSH_STORE`): each home has its own, and fetches what it lacks.

>>> shared = shared_store(home())                      # doctest: +SKIP
>>> shared.publish(label, file, work, right)           # doctest: +SKIP

Objects are immutable and named by their content, so there is nothing to agree on. Every writer of an object writes
the same, and every reader checks it by its digest before use. They are encrypted here (`sealed`), under names that
only the holders of `keys/store.key` can compute. Nothing else of a home ever goes there. docs/running.md says why.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from hush_core.errors import SetupError, Unavailable
from hush_core.files import private_folder
from tasks.runtime.deadline import of_mount
from tasks.runtime.environment import STORE, Home, home, store_address
from tasks.runtime.full_disk import FULL
from tasks.runtime.places import Bucket, Folder, Place, TooLong
from tasks.runtime.sealed import PIECE, NotWhole, most_of, pack_and_seal, remove, unpack, unseal

OBJECTS = "objects"
MARK = f"{OBJECTS}/hush"
"""A file of the storage that opens with the key of its objects, and is in no empty mount point."""


OTHER_KEY = (
    "holds objects of another keys/store.key than this HUSH_HOME has",
    "restore keys/store.key from a backup (hush backup), or name a prefix or a folder of your own",
)


class SharedStoreError(Unavailable):
    """The shared storage does not answer, refuses, or does not keep what it is given; what is done here is kept."""


class Missing(Exception):
    """No such object on the shared storage, or none that is what its name says."""


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
        whether a file or folder is this object, by its digest. Raises SharedStoreError: the storage does not
        answer, or what it gives back is something else."""
        name = self._name(label)
        part = work / f"publish.{secrets.token_hex(8)}"
        there = partial(self._there, name, part, right, most=most_of(path), folder=path.is_dir())
        if not there():
            self._write(path, part, name)
            if not there():
                raise SharedStoreError(self._words("gives back something else than it was given"))
        self._take_note(label)

    def fetch(self, label: str, into: Path, right: Callable[[Path], bool], *, folder: bool) -> None:
        """Decrypt an object into a new file, or a new folder, and see that it is `right`. Raises Missing: no such
        object is there, or something else is; a home that makes it again publishes it again. SharedStoreError: the
        storage does not answer. OSError: the disk is full, or would be."""
        most = shutil.disk_usage(into.parent).free // 2  # sealed and opened
        try:
            self._open(self._name(label), into, most, folder=folder)
            if not right(into):
                raise NotWhole("another content")
        except TooLong:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
        except (FileNotFoundError, NotWhole):
            remove(into)
            self._note(label).unlink(missing_ok=True)
            raise Missing(label) from None
        self._take_note(label)

    def check(self, work: Path) -> None:
        """See that this account may write to the storage and read it, and that it is the one of this key's objects.
        Raises SetupError: it is of another key, or not the one that this home has published to. Exception: it does
        not answer, or refuses: what its client says."""
        mark, back = work / "mark", work / "mark.back"
        try:
            self._open(MARK, back, PIECE, folder=False)
        except FileNotFoundError:
            if self._note(MARK).exists():
                hint = "mount it; if it was emptied, delete store/published of this HUSH_HOME"
                raise SetupError(
                    self._where(), "is not the storage that this home publishes to", hint
                ) from None
        except NotWhole:
            raise SetupError(self._where(), *OTHER_KEY) from None
        back.unlink(missing_ok=True)
        mark.write_bytes(b"hush")
        self._write(mark, back, MARK)
        self._open(MARK, back, PIECE, folder=False)
        self._take_note(MARK)

    def _there(
        self, name: str, part: Path, right: Callable[[Path], bool], *, most: int, folder: bool
    ) -> bool:
        found = part.with_name(part.name + ".back")
        try:
            self._open(name, found, most, folder=folder)
            return right(found)
        except (FileNotFoundError, NotWhole):
            return False
        finally:
            remove(found)

    def _write(self, path: Path, part: Path, name: str) -> None:
        try:
            pack_and_seal(path, part, self._key, name)
            self._asked(self._place.write, part, name)
        except FileNotFoundError:
            raise SharedStoreError(self._words("has no such bucket")) from None
        finally:
            part.unlink(missing_ok=True)

    def _open(self, name: str, into: Path, most: int, *, folder: bool) -> None:
        """Decrypt what lies there; on this disk are never more than two of its forms."""
        part, plain = (into.with_name(f"{into.name}.{end}") for end in ("sealed", "plain"))
        try:
            self._asked(self._place.read, name, part, most)
            with open(part, "rb") as sealed, open(plain, "xb") as out:
                unseal(sealed, out, self._key, name)
            part.unlink()
            if folder:
                unpack(plain, into)
            else:
                plain.chmod(0o600)
                plain.rename(into)
        finally:
            part.unlink(missing_ok=True)
            plain.unlink(missing_ok=True)

    def _asked(self, call: Any, *arguments: Any) -> Any:
        """Ask the storage. A failure is reported by its type alone: messages may quote names and addresses."""
        try:
            return call(*arguments)
        except (FileNotFoundError, NotWhole):
            raise
        except Exception as error:
            number = error.errno if isinstance(error, OSError) else None
            if number in FULL and call == self._place.read:  # this disk, not the storage's
                raise
            why = type(error).__name__ + (f": {os.strerror(number)}" if number else "")
            raise SharedStoreError(self._words(f"cannot be used ({why})")) from None

    def _words(self, what: str) -> str:
        return f"{self._where()}: {what}; fix it and start again: what is done is kept in this home"

    def _where(self) -> str:
        return f"{STORE} ({self._address})"

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
    return Folder(Path(unquote(rest))) if scheme == "file" else Bucket(rest.rstrip("/"))


def shared_store(home: Home) -> SharedStore | None:
    """What HUSH_STORE names; None where it is not set. Raises SetupError: it is no address of a storage, or its
    extra is not installed."""
    address = store_address()
    if not address:
        return None
    return SharedStore(_place(address, os.getpid()), address, home.store_key(), home.store / "published")


def check_storage() -> None:
    """Refuse a HUSH_STORE that does not answer, before any work. Raises SetupError: it is no address of a storage,
    does not answer this account (a folder: in time), or has no such bucket or folder. Or its content is of another
    key, or it is not the storage that this home publishes to."""
    address = store_address()
    if address.startswith("file:"):
        of_mount(f"{STORE} ({address})", lambda: _check(address))
    elif address:  # its client gives up by itself
        _check(address)


def _check(address: str) -> None:
    place, storage = home(), _place(address, os.getpid())
    try:
        storage.check()
        if not (place.keys / "store.key").exists():
            if storage.has(MARK):
                raise SetupError(f"{STORE} ({address})", *OTHER_KEY)
            if not place.keys.is_dir():  # nobody has made this home yet
                return
        with tempfile.TemporaryDirectory() as work:
            SharedStore(storage, address, place.store_key(), place.store / "published").check(Path(work))
    except SetupError:
        raise
    except Exception as error:  # of foreign clients: their messages may quote what they were given
        first = error.__context__ if isinstance(error, SharedStoreError) else error
        what = f"does not answer as a storage does ({type(first).__name__})"
        hint = "correct it, mount the folder or make the bucket, and see to the account (docs/running.md)"
        raise SetupError(f"{STORE} ({address})", what, hint) from None
