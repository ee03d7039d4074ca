"""The content-addressed store: steps hand each other small references, never frames.

>>> store = open_store()                              # doctest: +SKIP
>>> ref = store.put_frame(frame, kind="edges")        # doctest: +SKIP
>>> store.read_frame(ref)                             # doctest: +SKIP

An object is written to a temporary name, synced, and moved into place under the SHA-256 of its content. So
writing is idempotent, a killed run leaves no half object, and equal content is kept once. Objects are mode
0600 in folders of mode 0700: they may hold text of protected examples. With HUSH_STORE every object is published
there as well before its reference is given out, and one that is missing here is fetched (`shared_store`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from hush_core.errors import Unavailable
from hush_core.files import file_sha256, new_file, put_in_place, sync, write_whole
from tasks.ownership import one_at_a_time, temporary_folder
from tasks.runtime.environment import home
from tasks.runtime.full_disk import FULL
from tasks.runtime.sealed import remove
from tasks.runtime.shared_store import Missing, shared_store

DIRECTORY = ".d"


class StoreError(Unavailable):
    """An object of the store is missing or not what its name says; run the step that made it again."""


class Ref(BaseModel):
    """A reference to one object: what it is for, the SHA-256 of its content, and how its file name ends."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    suffix: str = Field(pattern=r"^(\.[a-z0-9]+)*$")


def refs_in(value: Any) -> Iterator[Ref]:
    """Every reference inside a JSON result: written as itself, or as a field of another model."""
    if isinstance(value, dict):
        if value.get("__class__") == f"{Ref.__module__}.{Ref.__qualname__}":
            yield Ref.model_validate(value["data"])
        elif set(value) == set(Ref.model_fields):
            yield Ref.model_validate(value)
        else:
            for part in value.values():
                yield from refs_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from refs_in(part)


class Store:
    """Objects by content hash under `root`/objects, resumable work under `root`/work."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root)
        self._objects = self.root / "objects"
        self._objects.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._shared = shared_store(home())

    # writing

    def put_bytes(self, data: bytes, *, kind: str = "bytes", suffix: str = ".bin") -> Ref:
        """Keep bytes; the reference is the same for the same content."""
        ref = Ref(kind=kind, sha256=hashlib.sha256(data).hexdigest(), suffix=suffix)
        return self._put(ref, lambda target: write_whole(target, data))

    def put_frame(self, frame: pl.DataFrame, *, kind: str = "frame") -> Ref:
        """Keep a frame as parquet; equal frames give equal bytes, however their columns are chunked."""
        temporary = self._temporary(self._objects / "frame")
        try:
            with new_file(temporary) as file:
                frame.rechunk().write_parquet(
                    file, compression="zstd", compression_level=3, row_group_size=1 << 16
                )
            ref = Ref(kind=kind, sha256=file_sha256(temporary), suffix=".parquet")
            return self._put(ref, lambda target: put_in_place(temporary, target))
        finally:
            temporary.unlink(missing_ok=True)

    def _put(self, ref: Ref, put: Callable[[Path], None]) -> Ref:
        target = self._target(ref)
        if not (target.is_file() and file_sha256(target) == ref.sha256):  # a damaged object is replaced
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            put(target)
        self.publish(ref)
        return ref

    def put_json(self, value: Any, *, kind: str = "json") -> Ref:
        """Keep a JSON value in canonical form (sorted keys, no NaN)."""
        return self.put_bytes(canonical_json(value), kind=kind, suffix=".json")

    def put_directory(self, folder: Path, *, kind: str = "directory") -> Ref:
        """Keep a copy of a folder of plain files under the hash of its names and contents. Raises StoreError: it
        holds a link or another thing that is neither file nor folder."""
        ref = Ref(kind=kind, sha256=directory_sha256(Path(folder)), suffix=DIRECTORY)
        target = self._target(ref)
        if target.is_dir() and directory_sha256(target) == ref.sha256:
            self.publish(ref)
            return ref
        temporary = self._temporary(target)
        try:
            shutil.copytree(folder, temporary)
            for path in [temporary, *temporary.rglob("*")]:
                path.chmod(0o700 if path.is_dir() else 0o600)
                sync(path)
        except OSError:  # half a model would keep a full disk full
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        if directory_sha256(temporary) != ref.sha256:
            shutil.rmtree(temporary)
            raise StoreError(f"{folder} changed while it was copied into the store; run this step again")
        self._put_directory_in_place(temporary, target, ref.sha256)
        self.publish(ref)
        return ref

    def publish(self, ref: Ref, *, asked: bool = False) -> None:
        """Have an object of this home in HUSH_STORE too; nothing where that is not set. `asked`: do not rely on the
        note that it was published, as the storage may have lost it since. Raises StoreError: it is not here whole.
        SharedStoreError: the storage does not answer, or does not keep it."""
        if self._shared is None:
            return
        label, target = _label(ref), self._target(ref)
        if self._shared.noted(label, asked=asked):
            return
        if not target.exists() or content_sha256(target) != ref.sha256:
            self._fetched(ref)
            return
        with self.scratch() as work:
            self._shared.publish(label, target, Path(work), _is(ref))

    # reading

    def path(self, ref: Ref, *, verify: bool = False) -> Path:
        """Where the object lies; with `verify`, its content is hashed first. What is not here, or changed, is
        fetched from HUSH_STORE and hashed. Raises StoreError: it is missing, or (with `verify`) its content has
        changed, and HUSH_STORE does not have it. SharedStoreError: the storage does not answer."""
        target = self._target(ref)
        if not target.exists():
            return self._fetched(ref, "is missing")
        if verify and content_sha256(target) != ref.sha256:
            return self._fetched(ref, "has been changed")
        return target

    def read_bytes(self, ref: Ref, *, verify: bool = False) -> bytes:
        return self.path(ref, verify=verify).read_bytes()

    def read_frame(self, ref: Ref, *, verify: bool = False) -> pl.DataFrame:
        return pl.read_parquet(self.path(ref, verify=verify))

    def read_json(self, ref: Ref, *, verify: bool = False) -> Any:
        return json.loads(self.read_bytes(ref, verify=verify))

    def holds(self, ref: Ref) -> bool:
        """Whether the object is here, or on HUSH_STORE, with exactly the content that its name promises. Raises
        SharedStoreError: the storage does not answer, so nobody can tell. OSError: the disk is full, so it cannot
        be fetched."""
        try:
            self.path(ref, verify=True)
        except OSError as error:
            if error.errno in FULL:
                raise
            return False
        except StoreError:
            return False
        return True

    # work

    def scratch(self) -> tempfile.TemporaryDirectory[str]:
        """A folder on the store's disk, gone at the end of a `with`, or at the start after a kill."""
        return tempfile.TemporaryDirectory(dir=temporary_folder(home(), self.root))

    @contextmanager
    def all_temporary(self) -> Iterator[None]:
        """In here libraries keep their temporary files, MLflow a whole model, where a kill leaves none for good."""
        before = tempfile.tempdir
        with self.scratch() as folder:
            tempfile.tempdir = folder
            try:
                yield
            finally:
                tempfile.tempdir = before

    def work_dir(self, key: str) -> Path:
        """A private folder that survives a killed run, for checkpoints; `key` is a content key."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}", key):
            raise ValueError("a work key holds letters, digits, - and _ only")
        folder = self.root / "work" / key
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def _fetched(self, ref: Ref, why: str = "is missing") -> Path:
        if self._shared is None:
            raise StoreError(self._hint(ref, why))
        target = self._target(ref)
        temporary, folder = self._temporary(target), ref.suffix == DIRECTORY
        try:
            self._shared.fetch(_label(ref), temporary, _is(ref), folder=folder)
            if folder:
                for path in [temporary, *temporary.rglob("*")]:
                    sync(path)
                self._put_directory_in_place(temporary, target, ref.sha256)
            else:
                sync(temporary)
                put_in_place(temporary, target)
        except Missing:
            raise StoreError(self._hint(ref, f"{why}, and HUSH_STORE does not have it whole")) from None
        finally:
            remove(temporary)
        return target

    def _put_directory_in_place(self, temporary: Path, target: Path, digest: str) -> None:
        """One thread of one process at a time: another could move away what this one has just put there."""
        with one_at_a_time(home(), "objects"):
            if target.is_dir() and directory_sha256(target) == digest:  # another was first
                shutil.rmtree(temporary)
                return
            if target.exists():  # damaged: move aside, as a folder cannot be replaced in one step
                aside = self._temporary(target)
                os.replace(target, aside)
                shutil.rmtree(aside)
            put_in_place(temporary, target)

    def _target(self, ref: Ref) -> Path:
        return self._objects / ref.sha256[:2] / (ref.sha256 + ref.suffix)

    def _temporary(self, target: Path) -> Path:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return temporary_folder(home(), self.root) / f"{target.name[:16]}.{secrets.token_hex(8)}"

    def _hint(self, ref: Ref, what: str) -> str:
        return (
            f"store object {ref.kind} {ref.sha256[:12]}… {what} (under {self._objects}); "
            "start the flow again: the step that makes it will be recomputed"
        )


def open_store() -> Store:
    """This home's."""
    return Store(home().store)


def canonical_json(value: Any) -> bytes:
    """One byte string per JSON value: sorted keys, no spaces, UTF-8; NaN and infinity are refused."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def directory_sha256(folder: Path) -> str:
    """SHA-256 over the sorted (relative name, content hash) pairs of a folder, not over its own name."""
    listing = []
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise StoreError(f"{path} is neither a plain file nor a folder; only those can be stored")
        if path.is_file():
            listing.append([path.relative_to(folder).as_posix(), file_sha256(path)])
    return hashlib.sha256(canonical_json(listing)).hexdigest()


def _label(ref: Ref) -> str:
    return ref.sha256 + ref.suffix


def _is(ref: Ref) -> Callable[[Path], bool]:
    return lambda path: content_sha256(path) == ref.sha256


def content_sha256(path: Path) -> str:
    return directory_sha256(path) if path.is_dir() else file_sha256(path)
