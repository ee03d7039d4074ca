"""Where else tagged code is: regions of a file that copy code of a tagged one, edited or not.

A secret such as a path covers whole files; a function pasted out of them into another file is the secret too.
MinHash over files cannot see it. Winnowed fingerprints can (`docs/architecture.md`): a region is a copy if enough
neighbouring fingerprints of the FILE are anywhere in the tagged code of one secret. So the unit that is scored is
the pasted region, for any size of the original file. Containment is the share of the region's fingerprints that the
tagged code holds.

Fingerprints that are in many untagged documents (licence headers, idioms) would tie every file to every secret.
They are dropped, and counted by secret: copies of exactly such text go unseen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hush_core.secrets.propagation.winnowing import WHITESPACE, WINDOW, Fingerprints, K, fingerprints

COMMON = 16
"""A fingerprint in more untagged documents than this is dropped."""
SHARED = 4
"""Different shared fingerprints that make a copy; a tagged document with fewer needs only all of its own."""
WITHIN = 16
"""The fingerprints among which they must be: a containment of at least a quarter."""
GAP = 8
"""Unshared fingerprints (about 70 bytes without blanks) taken for an edit, inside a region or at its border."""

_LOOKS = 12
"""In a bucket; beyond them the table is searched by halves, so that no choice of hashes makes it slow."""
_MOST_BITS = 25
_PENDING = 1 << 20  # fingerprints gathered before they are merged into the sorted table


@dataclass(frozen=True)
class Copy:
    """Bytes [start, end) of the content copy tagged code of secret number `index`.

    The range reaches as far as copied bytes possibly can, and GAP fingerprints further on both sides. So an edit at
    the border of a copied function is tied to the secret as an edit inside it is.
    """

    index: int
    start: int
    end: int


@dataclass(frozen=True)
class CopyIndex:
    """The fingerprints of the tagged documents of all secrets: arrays, about 13 bytes a fingerprint.

    Build it with `CopyIndex.build`.

    Unless a fingerprint in it is common or repeats, `find` is sure to find every verbatim run of 87 bytes of a
    tagged document. It also finds every whole tagged document of 39 bytes or more, in any surroundings. Whitespace
    does not count. For winnowing keeps at least 4 grams of the one and 1 of the other, the same ones in both
    places, and all grams kept between them are shared. Of edited copies nothing is sure.

    Attributes:
        kept: secret → distinct fingerprints by which it is found.
        dropped_common: secret → distinct fingerprints dropped for being common. Only those above 0.
        too_short: secret → tagged documents below 39 bytes (whitespace aside), whose copies may go unseen.
    """

    kept: dict[int, int]
    dropped_common: dict[int, int]
    too_short: dict[int, int]
    _hashes: HashTable = field(repr=False)  # the dropped ones too
    _dropped: np.ndarray = field(repr=False)  # by hash, whether it is common
    _first: np.ndarray = field(repr=False)  # by hash, where its rows begin; none where it is dropped
    _owners: np.ndarray = field(repr=False)  # by row
    _worth: np.ndarray = field(repr=False)

    @classmethod
    def build(
        cls, tagged: Iterable[tuple[int, bytes]], untagged: Iterable[bytes] = (), *, common: int = COMMON
    ) -> CopyIndex:
        """Fingerprint the tagged documents; find out which fingerprints are common among the untagged.

        Both are read once, document by document. Memory: the distinct fingerprints of the tagged documents
        (about 0.1 a byte), whatever the size of the rest.

        Args:
            tagged: (secret, content) of every document that holds a secret; 0 <= secret < 2**32.
            untagged: the contents of all other documents, each content once. Revisions of one file must be
                given as one (the newest): twenty revisions of one pasted file would make the paste common.
            common: a fingerprint in more untagged documents than this is dropped.
        """
        table, too_short = _tagged_table(tagged)
        known = HashTable.of(table.hashes)
        counts = np.zeros(len(known), np.uint32)
        for content in untagged:
            at, _ = known.find(fingerprints(content).hashes)
            counts[np.unique(at)] += 1
        dropped = counts > common
        lost = dropped[np.searchsorted(known.hashes, table.hashes)]
        rows = table.hashes[~lost]
        return cls(
            _count(table.owners[~lost]),
            _count(table.owners[lost]),
            too_short,
            known,
            dropped,
            np.append(np.searchsorted(rows, known.hashes, "left"), len(rows)),
            table.owners[~lost],
            table.worth[~lost],
        )

    def find(self, content: bytes) -> Iterator[Copy]:
        """The copies in one whole file, by secret and place; those of one secret may overlap.

        Time is linear in the content's size times the secrets that share text with it.
        """
        prints = fingerprints(content)
        at, known = self._hashes.find(prints.hashes)
        prints, known, at = _without(prints, known, at, self._dropped)
        if not len(known):
            return
        first = self._first[at]
        times = self._first[at + 1] - first
        place = np.repeat(known, times)
        row = np.repeat(first - np.cumsum(times) + times, times) + np.arange(len(place))
        order = np.lexsort((place, self._owners[row]))
        place, row = place[order], row[order]
        owner = self._owners[row]
        joined = (owner[1:] == owner[:-1]) & (np.diff(place) <= GAP + 1)
        cluster = np.append(0, np.cumsum(~joined))
        good = np.unique(cluster[_dense(place, cluster, prints.hashes[place], self._worth[row])])
        begins, ends = np.searchsorted(cluster, good, "left"), np.searchsorted(cluster, good, "right")
        for a, b in zip(begins.tolist(), ends.tolist(), strict=True):
            one, last = int(place[a]), int(place[b - 1])
            left, right = one - 1 - GAP, last + 1 + GAP
            start = int(prints.starts[left]) + 1 if left >= 0 else 0
            end = int(prints.ends[right]) - 1 if right < len(prints) else len(content)
            yield Copy(int(owner[a]), start, end)


class _Table(NamedTuple):
    """Fingerprints of tagged documents, sorted by (hash, owner), unique; worth: how much a match says."""

    hashes: np.ndarray
    owners: np.ndarray
    worth: np.ndarray


def _tagged_table(tagged: Iterable[tuple[int, bytes]]) -> tuple[_Table, dict[int, int]]:
    table = _Table(np.empty(0, np.uint64), np.empty(0, np.uint32), np.empty(0, np.uint8))
    pending: list[_Table] = []
    waiting = 0
    too_short: dict[int, int] = {}
    for secret, content in tagged:
        hashes = distinct(fingerprints(content).hashes)
        n = len(hashes)
        if len(content.translate(None, WHITESPACE)) < K + WINDOW - 1:
            too_short[secret] = too_short.get(secret, 0) + 1
        if n == 0:
            continue
        worth = max(1, -(-SHARED // n))  # a document of fewer than SHARED is found by all of its own
        pending.append(_Table(hashes, np.full(n, secret, np.uint32), np.full(n, worth, np.uint8)))
        waiting += n
        if waiting >= max(_PENDING, len(table.hashes)):  # so that merging costs O(n log n) in all
            table, pending, waiting = _merged([table, *pending]), [], 0
    return _merged([table, *pending]), dict(sorted(too_short.items()))


def _merged(parts: list[_Table]) -> _Table:
    hashes, owners, worth = map(np.concatenate, zip(*parts, strict=True))
    order = np.lexsort((~worth, owners, hashes))  # of equal pairs the one worth most comes first
    hashes, owners, worth = hashes[order], owners[order], worth[order]
    fresh = np.ones(len(hashes), bool)
    fresh[1:] = (hashes[1:] != hashes[:-1]) | (owners[1:] != owners[:-1])
    return _Table(hashes[fresh], owners[fresh], worth[fresh])


def _without(
    prints: Fingerprints, known: np.ndarray, at: np.ndarray, dropped: np.ndarray
) -> tuple[Fingerprints, np.ndarray, np.ndarray]:
    """The fingerprints without the dropped ones, which are among the `known`; and which the known ones are now."""
    goes = dropped[at]
    if not goes.any():
        return prints, known, at
    stays = np.ones(len(prints), bool)
    stays[known[goes]] = False
    number = np.cumsum(stays) - 1
    left = Fingerprints(prints.hashes[stays], prints.starts[stays], prints.ends[stays])
    return left, number[known[~goes]], at[~goes]


def _dense(place: np.ndarray, cluster: np.ndarray, hashes: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """Which matches begin a stretch of at most WITHIN fingerprints of one cluster that is worth SHARED.

    A hash that repeats its neighbour's (a rule of dashes) adds nothing. A stretch, not the whole cluster,
    has to be dense: chance matches beside a copy must not hide it.
    """
    repeats = (hashes[1:] == hashes[:-1]) & (cluster[1:] == cluster[:-1])
    value = np.append(worth[0], np.where(repeats, 0, worth[1:])).astype(np.int64)
    total = np.cumsum(value)
    last = np.searchsorted(total, total - value + SHARED, "left")
    inside = last < len(place)
    last = np.minimum(last, len(place) - 1)
    return inside & (cluster[last] == cluster) & (place[last] - place < WITHIN)


def _count(owners: np.ndarray) -> dict[int, int]:
    secrets, times = np.unique(owners, return_counts=True)
    return dict(zip(secrets.tolist(), times.tolist(), strict=True))


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
        none = np.empty(0, np.int64)
        found, place = np.concatenate([none, *which]), np.concatenate([none, *places])
        order = np.argsort(found)
        return place[order], found[order]


def distinct(hashes: np.ndarray) -> np.ndarray:
    """Ascending, each once; np.unique takes four times as long here."""
    hashes = np.sort(hashes)
    return hashes[np.append(True, hashes[1:] != hashes[:-1])] if len(hashes) else hashes
