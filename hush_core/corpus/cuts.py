"""Where a content that holds secrets is cut, so that no border depends on the text of a secret.

On a plain grid a longer value would shift all that follows it, examples that hold no secret among them. Here the
grid counts untagged bytes only: the span of a secret has no width, at any place and of any length. A cell is what
is between two borders, and every example of a cell holds all secrets of the cell (`docs/secrets.md`;
`docs/mathematics.md`, Proposition 0). Most cells are one example.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter

import numpy as np

Range = tuple[int, int]
Island = tuple[int, int, bool]
"""Bytes without width, spans that overlap or touch as one; whether a medium span is among them."""


def limits(chunk_bytes: int) -> tuple[int, int]:
    """The most bytes of a short span, and of a medium one: a quarter and three quarters of a chunk."""
    return chunk_bytes // 4, chunk_bytes - chunk_bytes // 4


def cells(spans: Sequence[Range], size: int, chunk_bytes: int) -> list[int]:
    """Where the cells of a content of `size` bytes begin, ascending; they tile it, and none is empty.

    A span has no width. Only a long one (a file's lines, a copied passage, a PEM block) has its own borders at both
    ends; between them its bytes count, except those of shorter spans. A cell has `chunk_bytes` untagged bytes
    without a span nearby, three quarters of them around short spans, and a quarter around a medium one, at most
    half of that before it.

    Guarantee: the borders, counted in untagged bytes, depend only on these counts and on which spans are short,
    medium or long. Borders outside of a long span do not depend on its text.

    >>> cells([], 70, 32), cells([(40, 46)], 100, 32), cells([(40, 41)], 95, 32)
    ([0, 32, 64], [0, 32, 62, 94], [0, 32, 57, 89])
    >>> cells([(40, 60)], 100, 32), cells([(40, 50)], 90, 32), cells([(40, 70)], 100, 32)
    ([0, 32, 36, 64, 96], [0, 32, 36, 54, 86], [0, 32, 40, 70])
    """
    short, medium = limits(chunk_bytes)
    islands = _merged([(a, b, b - a > short) for a, b in spans if b - a <= medium])
    borders = {0, size}
    for start, end in spans:
        if end - start > medium:
            borders.add(_outwards(islands, start, 0))
            borders.add(_outwards(islands, end, 1))
    begins: list[int] = []
    at = 0
    for left, right in pairwise(sorted(borders)):
        first = at
        while at < len(islands) and islands[at][1] <= right:
            at += 1
        begins += _between(left, right, islands[first:at], chunk_bytes)
    return begins


def _between(left: int, right: int, islands: Sequence[Island], chunk_bytes: int) -> Iterator[int]:
    """The cells of [left, right), which no border of a long span divides."""
    _, around_short = limits(chunk_bytes)
    around_medium = chunk_bytes - around_short
    before = around_medium // 2
    place, at = left, 0
    while place < right:
        yield place
        if at == len(islands) or islands[at][0] - place > chunk_bytes:
            place += chunk_bytes
            continue
        first = at
        wanted = chunk_bytes if islands[at][2] else around_short
        while at < len(islands) and (gap := islands[at][0] - place) < wanted:
            if islands[at][2]:
                if at > first or gap > before:  # it gets a cell of its own, with some text before it
                    wanted = max(gap - before, 0)
                    break
                wanted = around_medium
            place, wanted, at = islands[at][1], wanted - gap, at + 1
        place += wanted


def _merged(spans: Sequence[Island]) -> list[Island]:
    """Ranges that overlap or touch as one; ascending."""
    merged: list[Island] = []
    for start, end, wide in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1]), wide or merged[-1][2]
        else:
            merged.append((start, end, wide))
    return merged


def _outwards(islands: Sequence[Island], place: int, side: int) -> int:
    """A border that would divide an island, moved to that end of it."""
    low = bisect_right(islands, place, key=itemgetter(1))
    inside = low < len(islands) and islands[low][0] < place
    return int(islands[low][side]) if inside else place


@dataclass(frozen=True)
class Cuts:
    """The pieces of the contents that hold spans, in columns. Make it with `of`.

    blobs: the contents, ascending. first: where each one's pieces begin in the other columns; one more at the end.
    start, end: by piece, in its content. from_, to: by piece, the first and the last piece of its cell.
    """

    blobs: np.ndarray
    first: np.ndarray
    start: np.ndarray
    end: np.ndarray
    from_: np.ndarray
    to: np.ndarray
    _keys: np.ndarray = field(repr=False)

    @classmethod
    def of(
        cls, blob: np.ndarray, start: np.ndarray, end: np.ndarray, sizes: np.ndarray, chunk_bytes: int
    ) -> Cuts:
        """Cut around spans [start, end) of contents; empty ones do not count.

        Args:
            sizes: by content, its bytes.
        """
        rows = np.flatnonzero(end > start)
        rows = rows[np.argsort(blob[rows], kind="stable")]
        blobs, first_row = np.unique(blob[rows], return_index=True)
        ranges = list(zip(start[rows].tolist(), end[rows].tolist(), strict=True))
        borders = [*first_row.tolist(), len(ranges)]
        begins = [
            cells(ranges[a:b], size, chunk_bytes)
            for (a, b), size in zip(pairwise(borders), sizes[blobs].tolist(), strict=True)
        ]
        counts = np.array([len(begin) for begin in begins], dtype=np.int64)
        left = np.fromiter((place for begin in begins for place in begin), np.int64, int(counts.sum()))
        right = np.roll(left, -1)
        right[np.cumsum(counts) - 1] = sizes[blobs]
        # cells [left, right), `counts` of them a content, as pieces of at most `chunk_bytes`
        pieces = -(-(right - left) // chunk_bytes)
        first = np.cumsum(pieces) - pieces
        inside = np.arange(int(pieces.sum())) - np.repeat(first, pieces)
        start = np.repeat(left, pieces) + inside * chunk_bytes
        end = np.minimum(start + chunk_bytes, np.repeat(right, pieces))
        of_blob = np.concatenate([[0], np.cumsum(pieces)])[np.concatenate([[0], np.cumsum(counts)])]
        rank = np.repeat(np.arange(len(blobs)), np.diff(of_blob))
        from_, to = np.repeat(first, pieces), np.repeat(first + pieces - 1, pieces)
        return cls(blobs, of_blob, start, end, from_, to, (rank << _BITS) + start)

    def overlapped(
        self, rank: np.ndarray, start: np.ndarray, end: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """First and last piece, counted within its content, of the cells that spans [start, end) overlap.

        rank: the content of each span, by its place in `blobs`. No span is empty.
        """
        low = np.searchsorted(self._keys, (rank << _BITS) + start, side="right") - 1
        high = np.searchsorted(self._keys, (rank << _BITS) + end - 1, side="right") - 1
        return self.from_[low] - self.first[rank], self.to[high] - self.first[rank]


_BITS = 40  # a content has fewer bytes than 2 to this
