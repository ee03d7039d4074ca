"""A file as chunks of at most a given number of bytes: one chunk is one training example.

A *piece* is a chunk of a distinct content, in any file; a *chunk* is a piece in one file. Both are numbered without
gaps, so no object per chunk is needed: its place is arithmetic, and in a content with secrets a table lookup
(`cuts.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np

from hush_core.corpus.blob_store import BlobStore
from hush_core.corpus.cuts import Cuts, limits


def chunk_ranges(size: int, chunk_bytes: int) -> Iterator[tuple[int, int]]:
    """The byte ranges [start, end) that tile a file of `size` bytes; only the last may be shorter."""
    for start in range(0, size, chunk_bytes):
        yield start, min(start + chunk_bytes, size)


def runs(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """starts[0], starts[0]+1, … (counts[0] of them), starts[1], …

    >>> runs(np.array([5, 9]), np.array([2, 3])).tolist()
    [5, 6, 9, 10, 11]
    """
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(int(counts.sum()), dtype=np.int64)


@dataclass(frozen=True)
class ChunkLayout:
    """Where every chunk is.

    blob: by file, the number of its content. sizes: by content, its bytes; contents that are in no file are
    allowed. cuts: of contents that hold secrets; the others are cut on the plain grid. File f's chunks are
    first_chunk[f] … first_chunk[f+1]−1, content b's pieces likewise.
    """

    blob: np.ndarray
    sizes: np.ndarray
    chunk_bytes: int
    cuts: Cuts | None = None

    def around(self, blob: np.ndarray, start: np.ndarray, end: np.ndarray) -> ChunkLayout:
        """The layout in which spans [start, end) of contents have no width."""
        return replace(self, cuts=Cuts.of(blob, start, end, self.sizes, self.chunk_bytes))

    @cached_property
    def first_piece(self) -> np.ndarray:
        counts = -(-self.sizes // self.chunk_bytes)
        if self.cuts is not None:
            counts[self.cuts.blobs] = np.diff(self.cuts.first)
        return _firsts(counts)

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
        """The piece of each chunk."""
        file = self.file_of(chunks)
        return self.first_piece[self.blob[file]] + chunks - self.first_chunk[file]

    def chunks_of_files(self, files: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All chunks of the files, and how many each file has."""
        counts = self.first_chunk[files + 1] - self.first_chunk[files]
        return runs(self.first_chunk[files], counts), counts

    def pieces_of_spans(
        self, blob: np.ndarray, start: np.ndarray, end: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """All pieces of the cells that spans [start, end) of contents overlap, and how many each span has."""
        first = start // self.chunk_bytes
        last = (end - 1) // self.chunk_bytes
        some = np.flatnonzero((end > start) & (self._rank[blob] >= 0))
        if len(some):
            first[some], last[some] = self.cuts.overlapped(self._rank[blob[some]], start[some], end[some])
        counts = np.where(end > start, last - first + 1, 0)
        return runs(self.first_piece[blob] + first, counts), counts

    def chunks_of_pieces(self, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All chunks in which the pieces are, and how many each has."""
        blob = self.blob_of(pieces)
        order, first = self._places
        counts = first[blob + 1] - first[blob]
        file = order[runs(first[blob], counts)]
        inside = np.repeat(pieces - self.first_piece[blob], counts)
        return self.first_chunk[file] + inside, counts

    def bytes_of(self, chunks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(file, start, end) of each chunk; start and end count from the file's beginning."""
        file = self.file_of(chunks)
        return file, *self._ranges(self.blob[file], chunks - self.first_chunk[file])

    def bytes_of_pieces(self, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(content, start, end) of each piece; start and end count from the content's beginning."""
        blob = self.blob_of(pieces)
        return blob, *self._ranges(blob, pieces - self.first_piece[blob])

    def _ranges(self, blob: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Start and end of pieces by their content and their number in it."""
        start = inside * self.chunk_bytes
        end = np.minimum(start + self.chunk_bytes, self.sizes[blob])
        if self.cuts is not None:
            some = np.flatnonzero(self._rank[blob] >= 0)
            at = self.cuts.first[self._rank[blob[some]]] + inside[some]
            start[some], end[some] = self.cuts.start[at], self.cuts.end[at]
        return start, end

    @cached_property
    def _rank(self) -> np.ndarray:
        """By content, its place among those that are cut; −1 for the others."""
        rank = np.full(len(self.sizes), -1, dtype=np.int64)
        if self.cuts is not None:
            rank[self.cuts.blobs] = np.arange(len(self.cuts.blobs))
        return rank

    def files_of_blob(self, blob: int) -> np.ndarray:
        """The files in which one content is."""
        order, first = self._places
        return order[first[blob] : first[blob + 1]]

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.blob, kind="stable").astype(np.int64)
        return order, _firsts(np.bincount(self.blob, minlength=len(self.sizes)))

    def equals(self, contents: BlobStore) -> np.ndarray:
        """A number by piece, equal for pieces that are the same bytes: chunks that are no remainder, or whole
        contents.

        By a 64-bit digest: a collision could only add an edge.
        """
        every = np.arange(self.pieces)
        blob, start, end = self.bytes_of_pieces(every)
        size = self.sizes[blob]
        least = np.where(self._rank[blob] >= 0, limits(self.chunk_bytes)[1], self.chunk_bytes)
        numbers = np.flatnonzero((end - start >= least) | (end - start == size))
        digests = bytearray()
        content, known = b"", -1
        for number, a, b in zip(*(c[numbers].tolist() for c in (blob, start, end)), strict=True):
            if number != known:
                content, known = contents[number], number
            digests += blake2b(content[a:b], digest_size=8).digest()
        keys = np.frombuffer(bytes(digests), dtype=np.uint64)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        every[numbers] = numbers[first[inverse]]
        return every


def _firsts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
