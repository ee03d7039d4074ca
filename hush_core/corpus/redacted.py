"""A corpus in which ranges of bytes are replaced by one fixed placeholder.

All later steps (copies, likeness, cutting, labels) read the new contents. So they depend on a replaced text only
through its place (`docs/mathematics.md`, Proposition R).
"""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from hush_core.corpus.blob_store import BlobStore
from hush_core.corpus.corpus import Corpus
from hush_core.corpus.git.blobs import git_id, hash_of

PLACEHOLDER = b"[REDACTED]"
"""What replaces every value. One for all: no entry, length, form or hash of a value can be read from it. Its
brackets end base64 runs and words, and join no strings."""


@dataclass(frozen=True)
class Moved:
    """Ranges of the old contents in the new ones; what begins or ends in replaced bytes takes in the placeholder.

    touched: a byte of it was replaced. covered: all were, by one placeholder.
    """

    start: np.ndarray
    end: np.ndarray
    touched: np.ndarray
    covered: np.ndarray


@dataclass(frozen=True)
class Replacements:
    """Ranges [start, end) of contents to be replaced: ascending, none empty, none overlaps or touches another."""

    blob: np.ndarray
    start: np.ndarray
    end: np.ndarray

    @classmethod
    def of(cls, blob: np.ndarray, start: np.ndarray, end: np.ndarray) -> Replacements:
        """Ranges that overlap or touch become one; empty ones do not count.

        >>> found = Replacements.of(np.array([3, 3, 3, 1]), np.array([9, 2, 4, 0]), np.array([9, 5, 8, 2]))
        >>> found.blob.tolist(), found.start.tolist(), found.end.tolist()
        ([1, 3], [0, 2], [2, 8])
        """
        rows = np.flatnonzero(end > start)
        rows = rows[np.lexsort((end[rows], start[rows], blob[rows]))]
        blob, start, end = blob[rows].astype(np.int64), start[rows], end[rows]
        reach = np.maximum.accumulate((blob << _BITS) + end)
        new = np.ones(len(rows), dtype=bool)
        new[1:] = (blob[1:] << _BITS) + start[1:] > reach[:-1]
        last = np.append(np.flatnonzero(new)[1:] - 1, len(rows) - 1)[: int(new.sum())]
        return cls(blob[new], start[new], reach[last] - (blob[new] << _BITS))

    def __len__(self) -> int:
        return len(self.blob)

    @cached_property
    def begin(self) -> np.ndarray:
        """Where each placeholder begins in its new content."""
        return self.start + self._before

    @cached_property
    def _before(self) -> np.ndarray:
        """By range, how far those before it in its content move what follows them."""
        longer = len(PLACEHOLDER) - (self.end - self.start)
        before = np.cumsum(longer) - longer
        return before - before[np.searchsorted(self.blob, self.blob, side="left")]

    def range_at(self, blob: np.ndarray, place: np.ndarray) -> np.ndarray:
        """By byte of a content, the number of the last range that begins there or before; −1 for none."""
        at = np.searchsorted((self.blob << _BITS) + self.start, (blob << _BITS) + place, side="right") - 1
        return np.where((at >= 0) & (self.blob[at] == blob), at, -1) if len(self) else at

    def moved(self, blob: np.ndarray, start: np.ndarray, end: np.ndarray) -> Moved:
        """Where ranges of the old contents, none empty, are in the new ones."""
        if not len(self):
            never = np.zeros(len(blob), dtype=bool)
            return Moved(start, end, never, never)
        first, last = self.range_at(blob, start), self.range_at(blob, end - 1)
        in_first = (first >= 0) & (self.end[first] > start)
        in_last = (last >= 0) & (self.end[last] >= end)
        after = self._before + len(PLACEHOLDER) - (self.end - self.start)
        return Moved(
            np.where(in_first, self.begin[first], start + np.where(first >= 0, after[first], 0)),
            np.where(in_last, self.begin[last] + len(PLACEHOLDER), end + np.where(last >= 0, after[last], 0)),
            in_first | in_last | (last > first),
            in_first & in_last & (first == last),
        )

    def applied(self, contents: BlobStore) -> Iterator[tuple[bytes, bytes, bool]]:
        """(object id as raw bytes, new text, whether it is another) of each content, in order."""
        numbers, first = np.unique(self.blob, return_index=True)
        ranges = dict(zip(numbers.tolist(), pairwise([*first.tolist(), len(self)]), strict=True))
        for number, identity in enumerate(contents.identities()):
            text = contents[number]
            if number not in ranges:
                yield identity, text, False
                continue
            a, b = ranges[number]
            kept_from = [0, *self.end[a:b].tolist()]
            kept_to = [*self.start[a:b].tolist(), len(text)]
            parts = (text[left:right] for left, right in zip(kept_from, kept_to, strict=True))
            yield identity, PLACEHOLDER.join(parts), True


@dataclass(frozen=True)
class RedactedCorpus:
    """corpus: the new one, which is to be closed. blob, file: old number → new one, where several may become one.
    changed: the new contents in which something was replaced, ascending."""

    corpus: Corpus
    blob: np.ndarray
    file: np.ndarray
    changed: np.ndarray


def redacted_corpus(corpus: Corpus, replacements: Replacements, work: Path | None) -> RedactedCorpus:
    """The corpus with the placeholder in place of every range.

    Contents that become equal are one, and so are versions of one file in a history: each distinct content at each
    path is a file. The old object ids still name the contents that were made of theirs.

    Args:
        work: a folder on disk for the temporary file with all of the text; None: the system's.
    """
    contents = BlobStore(work)
    try:
        number = np.zeros(len(corpus.contents), dtype=np.int64)
        changed = np.zeros(len(corpus.contents), dtype=bool)
        for old, (identity, text, other) in enumerate(replacements.applied(corpus.contents)):
            name = hexlify(identity)
            name = git_id(text, hash_of(name)) if other else name
            number[old], changed[old] = contents.add(name, text), other
            if other:
                contents.alias(identity, int(number[old]))
        blob = number[corpus.blob]
        kept, file = _files(corpus, blob)
        new = replace(
            corpus,
            contents=contents,
            tree=corpus.tree[kept],
            path=corpus.path[kept],
            blob=blob[kept].astype(np.int32),
            completions=_completions(corpus, replacements, file),
        )
    except BaseException:
        contents.close()
        raise
    return RedactedCorpus(new, number, file, np.unique(number[changed]))


def _completions(corpus: Corpus, replacements: Replacements, file: np.ndarray) -> np.ndarray:
    """Where the completions lie now; one that begins or ends in a value takes in the placeholder."""
    old, start, end = corpus.completions.T
    moved = replacements.moved(corpus.blob[old].astype(np.int64), start, end)
    return np.stack([file[old], moved.start, moved.end], axis=1)


def _files(corpus: Corpus, blob: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The files that stay, ascending; old file → new file."""
    every = np.arange(len(corpus))
    versions = np.array([tree.mode == "history" for tree in corpus.trees], dtype=bool)[corpus.tree]
    apart = np.where(versions, -1, every)  # only versions of one path are distinguished by their content
    rows = np.stack([corpus.tree, corpus.path, blob, apart], axis=1).astype(np.int64)
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    stays = np.sort(first)
    return stays, np.searchsorted(stays, first[inverse.reshape(-1)])


_BITS = 40  # a content has fewer bytes than 2 to this
