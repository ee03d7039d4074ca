"""Distinct contents in one temporary file: memory does not grow with the text of a repository.

The file is unlinked as soon as it is open (nothing is left behind by a kill), has mode 0600, and is read
through a map that the kernel may drop and load again at will.
"""

from __future__ import annotations

import mmap
import tempfile
from array import array
from binascii import unhexlify
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np


class Spool:
    """Contents by number, 0, 1, …, in the order in which they were added; each is kept once.

    Args:
        folder: where the temporary file lies; the system's temporary folder if None. It needs room for all
            of the text and must not be a file system in memory if the text is large.

    >>> with Spool() as spool:
    ...     first = spool.add(b"aa", b"text"), spool.add(b"bb", b"more"), spool.add(b"aa", b"text")
    ...     first, spool[1], spool.number(b"bb"), spool.sizes.tolist()
    ((0, 1, 0), b'more', 1, [4, 4])
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = tempfile.TemporaryFile(  # noqa: SIM115 (closed by `close`)
            prefix="hush-", dir=folder, buffering=1 << 18
        )
        self._ends = array("q", [0])
        self._numbers: dict[bytes, int] = {}
        self._map: mmap.mmap | None = None
        self._mapped = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the file and the map back; nothing can be read afterwards."""
        if self._map is not None:
            self._map.close()
            self._map, self._mapped = None, 0
        self._file.close()

    def add(self, blob: bytes, content: bytes) -> int:
        """The number of the content with the object id `blob` (hexadecimal), which is kept if it is new."""
        key = unhexlify(blob)
        number = self._numbers.setdefault(key, len(self._numbers))
        if number == len(self._ends) - 1:
            self._file.write(content)
            self._ends.append(self._ends[-1] + len(content))
        return number

    def number(self, blob: bytes) -> int | None:
        """The number of a content by its object id (hexadecimal), None where it is not kept."""
        return self._numbers.get(unhexlify(blob))

    def identities(self) -> Iterator[bytes]:
        """The object ids (raw bytes) in the order of the numbers."""
        return iter(self._numbers)

    @property
    def sizes(self) -> np.ndarray:
        """Bytes of each content, int64."""
        return np.diff(np.array(self._ends, dtype=np.int64))

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, number: int) -> bytes:
        start, end = self._ends[number], self._ends[number + 1]
        return self.read(start, end)

    @property
    def starts(self) -> np.ndarray:
        """Where each content begins in the file, int64; for `read`."""
        return np.array(self._ends[:-1], dtype=np.int64)

    def read(self, start: int, end: int) -> bytes:
        """Bytes [start, end) of the file."""
        if end <= start:
            return b""
        if end > self._mapped:
            self._file.flush()
            if self._map is not None:
                self._map.close()
            self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
            self._mapped = len(self._map)
        assert self._map is not None
        return self._map[start:end]

    def __repr__(self) -> str:
        return f"Spool({len(self)} contents, {self._ends[-1]} bytes)"
