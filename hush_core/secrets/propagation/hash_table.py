"""The place of a hash in a sorted table of them: by its upper bits, in two or three looks instead of twenty."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

_LOOKS = 12
"""In a bucket; beyond them the table is searched by halves, so that no choice of hashes makes it slow."""
_MOST_BITS = 25


@dataclass(frozen=True)
class HashTable:
    """Distinct uint64 hashes, ascending, with a directory of buckets by their upper bits. Make it with `of`.

    A search by halves in millions of hashes misses the processor's cache at every step; the directory leads
    beside the place.
    """

    hashes: np.ndarray = field(repr=False)
    _bits: int
    _first: np.ndarray = field(repr=False)  # by bucket, where it begins; one more at the end

    @classmethod
    def of(cls, hashes: np.ndarray) -> HashTable:
        """`hashes` in any order; repeats count once."""
        hashes = distinct(hashes)
        bits = min(max(len(hashes), 1).bit_length() + 1, _MOST_BITS)
        edges = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
        first = np.append(np.searchsorted(hashes, edges), len(hashes))
        return cls(hashes, bits, first.astype(np.int32 if len(hashes) < 1 << 31 else np.int64))

    def __len__(self) -> int:
        return len(self.hashes)

    def find(self, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(where in the table, which of the hashes) of those that are there; `which` ascending."""
        bucket = hashes >> np.uint64(64 - self._bits)
        at, end = self._first[bucket], self._first[bucket + np.uint64(1)]
        left = np.flatnonzero(at < end)
        at, end = at[left].astype(np.int64), end[left]
        places, which = [], []
        for _ in range(_LOOKS):
            if not len(left):
                break
            same = self.hashes[at] == hashes[left]
            places.append(at[same])
            which.append(left[same])
            on = ~same & (at + 1 < end)
            at, end, left = at[on] + 1, end[on], left[on]
        if len(left):
            at = np.minimum(np.searchsorted(self.hashes, hashes[left]), len(self.hashes) - 1)
            same = self.hashes[at] == hashes[left]
            places.append(at[same])
            which.append(left[same])
        if not which:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        found, place = np.concatenate(which), np.concatenate(places)
        order = np.argsort(found)
        return place[order], found[order]


def distinct(hashes: np.ndarray) -> np.ndarray:
    """Ascending, each once; np.unique takes four times as long here."""
    hashes = np.sort(hashes)
    return hashes[np.append(True, hashes[1:] != hashes[:-1])] if len(hashes) else hashes
