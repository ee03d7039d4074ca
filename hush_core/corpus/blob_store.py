"""Distinct contents in one file: memory does not grow with the text of a repository.

The file is a temporary one, unlinked as soon as it is open (nothing is left behind by a kill), or the one that an
earlier run kept. It has mode 0600, and is read with `pread`: no pages of it are mapped, and threads may read at
once.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
import weakref
from array import array
from binascii import unhexlify
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from hush_core.corpus.blob_cache import BlobCache
from hush_core.corpus.changes import Change, changed
from hush_core.errors import InputError

SPARE_BYTES = 128 << 20
"""Room that is left to others in the temporary folder."""


def no_room() -> InputError:
    """The refusal where the text outgrows its disk, as that of a small pack that unfolds into terabytes does."""
    return InputError(
        "the disk",
        "has no room for the text of the repositories and tables",
        "make room under HUSH_HOME, or read less (max_file_bytes, a smaller revision, mode: tree)",
    )


class BlobStore:
    """Contents by number, 0, 1, …, in the order in which they were added; each is kept once.

    Args:
        folder: where the temporary file lies; the system's temporary folder if None. It needs room for all
            of the text and must not be a file system in memory if the text is large.
        kept: the file of an earlier run instead, which `close` keeps for the next one.

    >>> with BlobStore() as blob_store:
    ...     first = blob_store.add(b"aa", b"text"), blob_store.add(b"bb", b"more"), blob_store.add(b"aa", b"text")
    ...     first, blob_store[1], blob_store.number(b"bb"), blob_store.sizes.tolist()
    ((0, 1, 0), b'more', 1, [4, 4])
    """

    def __init__(self, folder: Path | None = None, kept: BlobCache | None = None) -> None:
        self.kept = kept
        self._file = (
            kept.file if kept is not None else tempfile.TemporaryFile(prefix="hush-", dir=folder, buffering=0)  # noqa: SIM115 (`close`)
        )
        weakref.finalize(self, self._file.close)  # of a store that nobody closed
        self._waiting: list[bytes] = []
        self._written = self._end = kept.end if kept is not None else 0
        self._starts, self._sizes = array("q"), array("q")
        place = kept.folder if kept is not None else folder or tempfile.gettempdir()
        self._room = self._end + shutil.disk_usage(place).free - SPARE_BYTES
        self._numbers: dict[bytes, int] = {}
        self._aliases: dict[bytes, int] = {}
        self._changes: dict[tuple[int, int], bytes] = {}

    def __enter__(self) -> BlobStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back; nothing can be read afterwards, but what is `mapped` stays."""
        if self.kept is not None and not self._file.closed:
            self._write()
            self.kept.close(self._end)
        self._file.close()

    def add(self, blob: bytes, content: bytes) -> int:
        """The number of the content with the object id `blob` (hexadecimal), which is kept if it is new."""
        before = len(self._numbers)
        number = self._numbers.setdefault(unhexlify(blob), before)
        if number == before:
            self._need(len(content))
            self._starts.append(self._end)
            self._sizes.append(len(content))
            self._waiting.append(content)
            self._end += len(content)
            if self._end - self._written >= _WAITING:
                self._write()
        return number

    def reserve(self, size: int) -> int:
        """Where `size` bytes begin that the caller will `write_at`; then it must `place` them."""
        self._need(size)
        self._write()
        start, self._end = self._end, self._end + size
        self._written = self._end
        os.truncate(self._file.fileno(), self._end)
        return start

    def write_at(self, offset: int, data: bytes | bytearray) -> None:
        """Write to a reserved part; several threads may at once, each to its own."""
        _write_all(self._file.fileno(), data, offset)

    def place(self, blob: bytes, start: int, size: int) -> int:
        """The number of a content in a reserved part of the file."""
        before = len(self._numbers)
        number = self._numbers.setdefault(unhexlify(blob), before)
        if number == before:
            self._starts.append(start)
            self._sizes.append(size)
        return number

    def alias(self, identity: bytes, number: int) -> None:
        """Let the object id (raw bytes) of another content name this one, too."""
        self._aliases[identity] = number

    @property
    def aliased(self) -> bool:
        """Whether contents are kept that differ from those that their object ids name in a repository."""
        return bool(self._aliases)

    def number(self, blob: bytes) -> int | None:
        """The number of a content by its object id (hexadecimal), None where it is not kept."""
        identity = unhexlify(blob)
        return self._numbers.get(identity, self._aliases.get(identity))

    def identities(self) -> Iterator[bytes]:
        """The object ids (raw bytes) in the order of the numbers."""
        return iter(self._numbers)

    @property
    def sizes(self) -> np.ndarray:
        """Bytes of each content, int64."""
        return np.array(self._sizes, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> bytes:
        start = self._starts[number]
        return self.read(start, start + self._sizes[number])

    def changes(self, before: int, number: int, texts: tuple[bytes, bytes]) -> list[Change]:
        """Where a content differs from another (`changed`), `texts` being the two; it is found once."""
        pair = before, number
        if pair not in self._changes:
            found = changed(*texts)
            self._changes[pair] = array("q", chain.from_iterable(found)).tobytes()
            return found
        numbers = iter(array("q", self._changes[pair]))
        return list(map(Change, numbers, numbers, numbers))

    @property
    def starts(self) -> np.ndarray:
        """Where each content begins in the file, int64; for `read`."""
        return np.array(self._starts, dtype=np.int64)

    def read(self, start: int, end: int) -> bytes:
        """Bytes [start, end) of the file."""
        if end > self._written:
            self._write()
        pieces = []
        while start < end:  # a single call gives at most 2 GiB, and may give less
            piece = os.pread(self._file.fileno(), end - start, start)
            if len(piece) == end - start and not pieces:
                return piece
            if not piece:
                raise EOFError("the blob store's file was cut short")
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)

    def mapped(self) -> mmap.mmap:
        """The whole file as a read-only map, which outlives the blob store; the kernel may drop its pages."""
        self._write()
        return mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)

    def _need(self, size: int) -> None:
        if self._end + size > self._room:
            raise no_room()

    def _write(self) -> None:
        """Bring what waits to the file."""
        _write_all(self._file.fileno(), b"".join(self._waiting), self._written)
        self._written, self._waiting = self._end, []


_WAITING = 1 << 20
"""Bytes that are gathered before they are written."""


def _write_all(file: int, data: bytes | bytearray, offset: int) -> None:
    done = 0
    try:
        with memoryview(data) as whole:
            while done < len(whole):  # a single call may write less
                done += os.pwrite(file, whole[done:], offset + done)
    except OSError as error:
        raise no_room() if error.errno in (errno.ENOSPC, errno.EDQUOT) else error from None
