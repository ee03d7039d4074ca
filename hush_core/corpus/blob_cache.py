"""The text of a history, kept for the next run, which then reads only new contents from git.

One file of text and one index of it, under a lock; a second run at the same time works without. The text is as
private as the repository: mode 0600 in a folder of mode 0700. It is trusted no more than git is: text taken out of
it must have the object id under which it is asked for (`blobs.store_blobs`). So after a kill or a loss on disk it
is read again, and nothing else is lost.
"""

from __future__ import annotations

import fcntl
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from hush_core.files import private_folder, whole_file

_VERSION = "text-1"
_OPEN = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass
class BlobCache:
    """The places of contents in the file; open, and locked until `close`.

    Attributes:
        places: object id (hexadecimal) → (start, bytes, why it is unreadable or ""). Add to it what is written.
        end: where the text ends; the file is longer where a run was killed.
        used: bytes of the contents that this run asked for.
        complete: whether it has asked for all that it reads; set by who reads.
    """

    folder: Path
    file: IO[bytes]
    lock: int
    end: int = 0
    places: dict[bytes, tuple[int, int, str]] = field(default_factory=dict, repr=False)
    used: int = 0
    complete: bool = False

    @classmethod
    def open(cls, folder: Path) -> BlobCache | None:
        """The text kept in a folder, empty without one; None while another run has it."""
        private_folder(folder.parent)
        private_folder(folder)
        lock = os.open(folder / "lock", _OPEN, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            return None
        file = os.fdopen(os.open(folder / "text", _OPEN, 0o600), "r+b", buffering=0)
        kept = cls(folder, file, lock)
        kept._load()
        return kept

    def take(self, blob: bytes) -> tuple[int, int, str] | None:
        """Where a content is, and that it is needed; None where it is not kept."""
        place = self.places.get(blob)
        if place is not None:
            self.used += place[1]
        return place

    def note(self, blob: bytes, start: int, size: int, reason: str) -> None:
        """That a content has been written."""
        self.places[blob] = (start, size, reason)
        self.used += size

    def close(self, end: int) -> None:
        """Keep all of it for the next run, or nothing where most of it is no longer asked for."""
        try:
            if self.complete and 2 * self.used < end:
                (self.folder / "index.npz").unlink(missing_ok=True)
                (self.folder / "text").unlink(missing_ok=True)  # who has it mapped still sees it
            else:
                self._save(end)
        finally:
            self.file.close()
            os.close(self.lock)

    def _load(self) -> None:
        try:
            with np.load(self.folder / "index.npz", allow_pickle=False) as index:
                if bytes(index["version"]).decode() != _VERSION:
                    return
                blobs = bytes(index["blobs"]).split(b"\n")
                reasons = bytes(index["reasons"]).decode().split("\n")
                starts, sizes, end = index["starts"].tolist(), index["sizes"].tolist(), int(index["end"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return
        if end <= os.fstat(self.file.fileno()).st_size:
            self.end = end
            self.places = dict(zip(blobs, zip(starts, sizes, reasons, strict=True), strict=True))

    def _save(self, end: int) -> None:
        starts, sizes, reasons = zip(*self.places.values(), strict=True) if self.places else ((), (), ())
        texts = {"version": _VERSION, "reasons": "\n".join(reasons)}
        with whole_file(self.folder / "index.npz") as out:
            np.savez(
                out,
                blobs=np.frombuffer(b"\n".join(self.places), dtype=np.uint8),
                starts=np.array(starts, dtype=np.int64),
                sizes=np.array(sizes, dtype=np.int64),
                end=np.int64(end),
                **{name: np.frombuffer(text.encode(), dtype=np.uint8) for name, text in texts.items()},
            )
