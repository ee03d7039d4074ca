"""A file as chunks of a fixed number of bytes: one chunk is one training example.

A *piece* is a chunk of a distinct content, wherever that stands; a *chunk* is a piece in one file. Both are
numbered without gaps, so that no object a chunk is needed: where it lies is arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np

from hush_core.corpus.blob_store import BlobStore


def chunk_ranges(size: int, chunk_bytes: int) -> Iterator[tuple[int, int]]:
    """The byte ranges [start, end) that tile a file of `size` bytes; only the last may be shorter."""
    for start in range(0, size, chunk_bytes):
        yield start, min(start + chunk_bytes, size)


def overlapped(start: int, end: int, chunk_bytes: int) -> range:
    """The indices of the chunks that share at least one byte with [start, end).

    Secrets are found on whole files and labelled by overlap: a scan chunk by chunk misses those that
    stand across a border (`docs/design/extraction.md`, finding 7).

    >>> list(overlapped(15, 17, 16)), list(overlapped(16, 32, 16))
    ([0, 1], [1])
    """
    if end <= start:
        return range(0)
    return range(start // chunk_bytes, (end - 1) // chunk_bytes + 1)


def runs(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """starts[0], starts[0]+1, … (counts[0] of them), starts[1], …

    >>> runs(np.array([5, 9]), np.array([2, 3])).tolist()
    [5, 6, 9, 10, 11]
    """
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(int(counts.sum()), dtype=np.int64)


@dataclass(frozen=True)
class Layout:
    """Where every chunk lies.

    blob: by file, the number of its content. sizes: by content, its bytes; contents that stand in no file
    are allowed. File f's chunks are first_chunk[f] … first_chunk[f+1]−1, content b's pieces likewise.
    """

    blob: np.ndarray
    sizes: np.ndarray
    chunk_bytes: int

    @cached_property
    def first_piece(self) -> np.ndarray:
        return _firsts(-(-self.sizes // self.chunk_bytes))

    @cached_property
    def first_chunk(self) -> np.ndarray:
        return _firsts(np.diff(self.first_piece)[self.blob])

    @property
    def chunks(self) -> int:
        return int(self.first_chunk[-1])

    @property
    def pieces(self) -> int:
        return int(self.first_piece[-1])

    def file_of(self, chunks: np.ndarray) -> np.ndarray:
        """The file of each chunk."""
        return np.searchsorted(self.first_chunk, chunks, side="right") - 1

    def blob_of(self, pieces: np.ndarray) -> np.ndarray:
        """The content of each piece."""
        return np.searchsorted(self.first_piece, pieces, side="right") - 1

    def piece_of(self, chunks: np.ndarray) -> np.ndarray:
        """The piece that stands in each chunk."""
        file = self.file_of(chunks)
        return self.first_piece[self.blob[file]] + chunks - self.first_chunk[file]

    def chunks_of_files(self, files: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All chunks of the files, and how many each file has."""
        counts = self.first_chunk[files + 1] - self.first_chunk[files]
        return runs(self.first_chunk[files], counts), counts

    def pieces_of_spans(
        self, blob: np.ndarray, start: np.ndarray, end: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """All pieces that spans [start, end) of contents overlap, and how many each span does."""
        first = start // self.chunk_bytes
        counts = np.where(end > start, (end - 1) // self.chunk_bytes - first + 1, 0)
        return runs(self.first_piece[blob] + first, counts), counts

    def chunks_of_pieces(self, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All chunks in which the pieces stand, and how many each has."""
        blob = self.blob_of(pieces)
        order, first = self._places
        counts = first[blob + 1] - first[blob]
        file = order[runs(first[blob], counts)]
        inside = np.repeat(pieces - self.first_piece[blob], counts)
        return self.first_chunk[file] + inside, counts

    def bytes_of(self, chunks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(file, start, end) of each chunk; start and end count from the file's beginning."""
        file = self.file_of(chunks)
        start = (chunks - self.first_chunk[file]) * self.chunk_bytes
        return file, start, np.minimum(start + self.chunk_bytes, self.sizes[self.blob[file]])

    def files_of_blob(self, blob: int) -> np.ndarray:
        """The files in which one content stands."""
        order, first = self._places
        return order[first[blob] : first[blob + 1]]

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.blob, kind="stable").astype(np.int64)
        return order, _firsts(np.bincount(self.blob, minlength=len(self.sizes)))

    def equals(self, contents: BlobStore) -> np.ndarray:
        """A number by piece, equal for pieces that are the same bytes: whole chunks, or whole contents.

        By a 64-bit digest: a collision could only add an edge.
        """
        digests = bytearray()
        for number in range(len(self.sizes)):
            content = contents[number]
            for start, end in chunk_ranges(len(content), self.chunk_bytes):
                digests += blake2b(content[start:end], digest_size=8).digest()
        keys = np.frombuffer(bytes(digests), dtype=np.uint64)
        sizes = self.sizes[self.sizes > 0]
        whole = np.ones(self.pieces, dtype=bool)
        whole[self.first_piece[1:][self.sizes > 0] - 1] = (sizes % self.chunk_bytes == 0) | (
            sizes < self.chunk_bytes
        )
        numbers = np.flatnonzero(whole)
        _, first, inverse = np.unique(keys[whole], return_index=True, return_inverse=True)
        same = np.arange(self.pieces)
        same[numbers] = numbers[first[inverse]]
        return same


def _firsts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
