"""What stands in a secret moves no border: its value becomes another, of any length, and untagged pieces stay."""

import argparse
import hashlib
import inspect
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sizes import examples, seeds

from hush_core.corpus import PLACEHOLDER, BlobStore, Replacements
from hush_core.corpus.chunks import ChunkLayout
from hush_core.corpus.cuts import cells, limits

TEXT = inspect.getsource(argparse).encode()

C = 32

SHORT, MIDDLING = limits(C)


def pieces(content: bytes, spans, chunk_bytes: int):
    """[(text, secrets)] in order, by the layout that is shipped."""
    layout = ChunkLayout(np.zeros(1, np.int32), np.array([len(content)]), chunk_bytes)
    secrets = np.array([s for s, _, _ in spans], dtype=np.int64)
    columns = [np.zeros(len(spans), np.int64), *(np.array([r[i] for r in spans], np.int64) for i in (1, 2))]
    layout = layout.around(*columns)
    _, start, end = layout.bytes_of_pieces(np.arange(layout.pieces))
    held = [set() for _ in range(layout.pieces)]
    found, counts = layout.pieces_of_spans(*columns)
    for piece, secret in zip(found.tolist(), np.repeat(secrets, counts).tolist(), strict=True):
        held[piece].add(secret)
    return [(content[a:b], frozenset(h)) for a, b, h in zip(start.tolist(), end.tolist(), held, strict=True)]


def untagged(cut, secret: int) -> list[bytes]:
    return [text for text, held in cut if secret not in held]


def sort_of(length: int) -> int:
    return (length > SHORT) + (length > MIDDLING)


@st.composite
def changed(draw):
    """Parts of real text, spans over them, and the same with one secret's parts replaced by others.

    Every span stays short, middling or long; that is all that is asked of the candidate.
    """
    count = draw(st.integers(1, 9))
    some = st.one_of(st.integers(1, SHORT), st.integers(1, 3 * C))
    lengths = draw(st.lists(some, min_size=count, max_size=count))
    at = draw(st.integers(0, len(TEXT) - sum(lengths)))
    borders = [at, *(at + n for n in np.cumsum(lengths).tolist())]
    parts = [TEXT[a:b] for a, b in pairwise(borders)]
    one = st.tuples(st.integers(0, 3), st.integers(0, count - 1), st.integers(1, 3))
    spans = [(s, i, min(i + n, count)) for s, i, n in draw(st.lists(one, min_size=1, max_size=6))]
    secret = spans[0][0]
    inside = {k for s, i, j in spans if s == secret for k in range(i, j)}
    value = st.one_of(st.binary(min_size=1, max_size=SHORT), st.binary(min_size=1, max_size=4 * C))
    others = [draw(value) if k in inside else p for k, p in enumerate(parts)]
    result = []
    for version in (parts, others):
        place = [0, *np.cumsum([len(p) for p in version]).tolist()]
        result.append((b"".join(version), [(s, place[i], place[j]) for s, i, j in spans]))
    assume([sort_of(b - a) for _, a, b in result[0][1]] == [sort_of(b - a) for _, a, b in result[1][1]])
    return secret, *result


@settings(derandomize=True, deadline=None, max_examples=examples(600))
@given(changed())
def test_no_untagged_piece_changes_whatever_a_secret_becomes(case):
    secret, before, after = case
    cuts = [pieces(*version, C) for version in (before, after)]
    assert untagged(cuts[0], secret) == untagged(cuts[1], secret)
    for (content, spans), cut in zip((before, after), cuts, strict=True):
        assert b"".join(text for text, _ in cut) == content
        assert all(0 < len(text) <= C for text, _ in cut)
        place = [0, *np.cumsum([len(text) for text, _ in cut]).tolist()]
        for s, a, b in spans:  # every byte of a span lies in a piece that holds its secret
            assert all(
                s in held for (x, y), (_, held) in zip(pairwise(place), cut, strict=True) if x < b and a < y
            )


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(
    st.lists(st.integers(0, 5 * C), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(1, SHORT), st.integers(1, SHORT)), min_size=5, max_size=5),
)
def test_the_graph_stays_where_the_values_of_a_cell_fit(gaps, lengths):
    """Short values, one a cell or so: not one number of a piece, and not one edge, changes with their lengths."""
    versions = []
    for which in (0, 1):
        content, spans = b"", []
        for secret, gap in enumerate(gaps):
            content += TEXT[len(content) : len(content) + gap]
            value = bytes([65 + which]) * lengths[secret][which]
            spans.append((secret, len(content), len(content) + len(value)))
            content += value
        versions.append((content + b"end", spans))
    cuts = [pieces(*version, C) for version in versions]
    values = [
        sum(b - a for s, a, b in spans if s in held)
        for (_, spans), cut in zip(versions, cuts, strict=True)
        for _, held in cut
    ]
    assume(max(values) <= SHORT)
    assert [held for _, held in cuts[0]] == [held for _, held in cuts[1]]


def test_every_piece_of_a_cell_holds_all_its_secrets():
    """Four values that do not fit in one chunk with their text: what is behind the last moves with the first."""
    versions = []
    for length in (8, 5):
        content, spans = TEXT[:4], []
        for secret in range(4):
            size = length if secret == 0 else 8
            spans.append((secret, len(content), len(content) + size))
            content += bytes([65 + secret]) * size + TEXT[4 * secret + 4 : 4 * secret + 8]
        versions.append((content + TEXT[20:200], spans))
    cuts = [pieces(*version, C) for version in versions]
    for cut in cuts:
        assert [held for _, held in cut[:3]] == [frozenset(range(4))] * 2 + [frozenset()]
    assert cuts[0][2:] == cuts[1][2:] and cuts[0][1] != cuts[1][1]


def test_a_value_is_cut_only_where_it_fits_in_no_chunk():
    for place in range(0, 200, 3):
        for length in (1, SHORT, SHORT + 1, MIDDLING, C):
            cut = pieces(TEXT[:300], [(7, place, place + length)], C)
            assert [held for _, held in cut].count({7}) == 1


def test_many_spans_take_linear_time_and_few_pieces():
    spans = [(i, i + 1) for i in range(0, 400_000, 2)]
    assert len(cells(spans, 400_000, 2048)) == -(-200_000 // 1536)
    nested = [(i, 400_000 - i) for i in range(0, 150_000, 50)]
    begins = cells(nested, 400_000, 2048)
    assert begins[0] == 0 and all(a < b for a, b in pairwise(begins))


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
