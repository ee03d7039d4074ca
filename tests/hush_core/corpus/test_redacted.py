"""Ranges replaced, and where everything else then lies: against the plain way of doing it, on random contents."""

import hashlib

import numpy as np
import pytest
from sizes import seeds

from hush_core.corpus import PLACEHOLDER, BlobStore, Replacements


def plainly(text: bytes, ranges: list[tuple[int, int]]) -> tuple[bytes, list[int]]:
    """The new text, and for every byte of the old one where it lies in it (a replaced one: its placeholder)."""
    gone = np.zeros(len(text) + 1, dtype=bool)
    for a, b in ranges:
        gone[a:b] = True
    out, place, inside = b"", [], False
    for i in range(len(text)):
        if gone[i]:
            if not inside:
                out += PLACEHOLDER
            place.append(len(out) - len(PLACEHOLDER))
        else:
            place.append(len(out))
            out += text[i : i + 1]
        inside = bool(gone[i])
    return out, place


@pytest.mark.parametrize("seed", seeds(40))
def test_texts_and_places_are_those_of_the_plain_way(seed):
    rng = np.random.default_rng(seed)
    texts = [bytes(rng.integers(97, 123, rng.integers(1, 60)).astype(np.uint8)) for _ in range(5)]
    ranges: list[list[tuple[int, int]]] = []
    for text in texts:
        drawn = [sorted(rng.integers(0, len(text) + 1, 2).tolist()) for _ in range(rng.integers(0, 6))]
        ranges.append([(a, b) for a, b in drawn])
    rows = [(n, a, b) for n, some in enumerate(ranges) for a, b in some]
    rng.shuffle(rows)
    blob, start, end = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    replaced = Replacements.of(blob, start, end)
    with BlobStore() as contents:
        for text in texts:
            contents.add(hashlib.sha1(text).hexdigest().encode(), text)
        numbers = [contents.number(hashlib.sha1(t).hexdigest().encode()) for t in texts]
        assert numbers == list(range(5))
        new = [text for _, text, _ in replaced.applied(contents)]
    for n, text in enumerate(texts):
        wanted, place = plainly(text, ranges[n])
        assert new[n] == wanted
        gone = [any(a <= i < b for a, b in ranges[n]) for i in range(len(text))]
        spans = [(a, b) for a in range(len(text)) for b in range(a + 1, len(text) + 1)]
        a, b = np.array(spans).T
        moved = replaced.moved(np.full(len(spans), n), a, b)
        ends = [place[y - 1] + (len(PLACEHOLDER) if gone[y - 1] else 1) for _, y in spans]
        assert moved.start.tolist() == [place[x] for x, _ in spans]
        assert moved.end.tolist() == ends
        assert moved.touched.tolist() == [any(gone[x:y]) for x, y in spans]
        assert moved.covered.tolist() == [all(gone[x:y]) for x, y in spans]


def test_nothing_replaced_moves_nothing():
    none = Replacements.of(*(np.zeros(0, dtype=np.int64),) * 3)
    moved = none.moved(np.array([0]), np.array([3]), np.array([5]))
    assert (moved.start[0], moved.end[0], moved.touched[0], moved.covered[0]) == (3, 5, False, False)


def test_an_old_object_id_names_the_redacted_content_and_no_number_is_lost():
    with BlobStore() as contents:
        contents.add(b"aa", b"first")
        contents.alias(b"\xcc", 0)
        assert (contents.number(b"cc"), contents.add(b"bb", b"second"), contents.aliased) == (0, 1, True)
        assert list(contents.identities()) == [b"\xaa", b"\xbb"]
