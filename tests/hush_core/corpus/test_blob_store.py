"""Contents on disk: what is put in comes out, once, and nothing is left behind."""

import gc
import os
import stat
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.corpus.blob_store import BlobStore, _write_all
from hush_core.corpus.chunks import Layout, chunk_ranges
from hush_core.corpus.cuts import cells
from hush_core.errors import InputError


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(st.lists(st.tuples(st.integers(0, 5), st.binary(max_size=70)), max_size=12))
def test_contents_come_back_whatever_the_order_of_writes_and_reads(given):
    with BlobStore() as blob_store:
        first: dict[bytes, bytes] = {}
        for number, content in given:
            blob = b"%02x" % number
            assert blob_store[blob_store.add(blob, content)] == first.setdefault(blob, content)
        assert [blob_store[i] for i in range(len(blob_store))] == list(first.values())
        assert blob_store.sizes.tolist() == [len(c) for c in first.values()]
        assert [blob_store.number(b) for b in first] == list(range(len(first)))
        assert blob_store.number(b"ff") is None


def test_the_file_has_no_name_and_is_private(tmp_path):
    with BlobStore(tmp_path) as blob_store:
        blob_store.add(b"aa", b"secret text")
        assert list(tmp_path.iterdir()) == []
        assert stat.S_IMODE(os.fstat(blob_store._file.fileno()).st_mode) == 0o600
        assert "secret" not in repr(blob_store)


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.data())
def test_the_layout_is_what_loops_over_files_would_give(sizes, data):
    blobs = data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=8))
    place = st.tuples(st.integers(0, len(sizes) - 1), st.integers(0, 40), st.integers(0, 40))
    spans = [(n, min(a, sizes[n]), min(b, sizes[n])) for n, a, b in data.draw(st.lists(place, max_size=6))]
    spans = [(n, a, b) for n, a, b in spans if a < b]
    layout = Layout(np.array(blobs, dtype=np.int32), np.array(sizes), 16)
    columns = (np.array([span[i] for span in spans], dtype=np.int64) for i in range(3))
    layout = layout.around(*columns)
    cut, cell = {}, {}
    for blob, size in enumerate(sizes):
        begins = [*cells([(a, b) for n, a, b in spans if n == blob], size, 16), size]
        cut[blob] = [(a + x, a + y) for a, b in pairwise(begins) for x, y in chunk_ranges(b - a, 16)]
        cell |= {(blob, a + x): (a, b) for a, b in pairwise(begins) for x, _ in chunk_ranges(b - a, 16)}
        assert spans or cut[blob] == list(chunk_ranges(size, 16))
    chunks = [(f, a, b) for f, blob in enumerate(blobs) for a, b in cut[blob]]
    pieces = [(blob, a) for blob in range(len(sizes)) for a, _ in cut[blob]]
    every = np.arange(layout.chunks)
    assert list(zip(*(c.tolist() for c in layout.bytes_of(every)), strict=True)) == chunks
    assert [pieces[p] for p in layout.piece_of(every)] == [(blobs[f], a) for f, a, _ in chunks]
    got, counts = layout.chunks_of_pieces(np.arange(layout.pieces))
    want = [[c for c, (f, a, _) in enumerate(chunks) if (blobs[f], a) == p] for p in pieces]
    assert got.tolist() == [c for part in want for c in part] and counts.tolist() == [len(p) for p in want]
    for blob, size in enumerate(sizes):
        for start, end in ((0, size), (size // 3, size // 2 + 1), (5, 5)):
            end = min(end, size)
            got, _ = layout.pieces_of_spans(np.array([blob]), np.array([start]), np.array([end]))
            over = [
                i
                for i, key in enumerate(pieces)
                if key[0] == blob and cell[key][0] < end and cell[key][1] > start
            ]
            want = over if end > start else []
            assert got.tolist() == want


def test_only_whole_chunks_and_whole_contents_are_equal():
    with BlobStore() as blob_store:
        for i, text in enumerate([b"a" * 16 + b"tail", b"a" * 16 + b"tail!", b"tail", b"tail", b"a" * 16]):
            blob_store.add(b"%02x" % i, text)
        layout = Layout(np.arange(5, dtype=np.int32), blob_store.sizes, 16)
        same = layout.equals(blob_store).tolist()
    # pieces: 0 full, 1 a tail; 2 full, 3 a tail; 4 and 5 whole contents; 6 full
    assert same[0] == same[2] == same[6]
    assert same[4] == same[5]
    assert len(set(same)) == 4


def test_reserved_parts_and_added_contents_stand_beside_each_other(tmp_path):
    with BlobStore(tmp_path) as blob_store:
        blob_store.add(b"aa", b"before")
        start = blob_store.reserve(8)
        blob_store.add(b"bb", b"after")
        blob_store.write_at(start, b"--te")
        blob_store.write_at(start + 4, bytearray(b"xt--"))
        assert blob_store.place(b"cc", start + 2, 4) == 2 == blob_store.place(b"cc", 0, 1)
        assert [blob_store[i] for i in range(3)] == [b"before", b"after", b"text"]
        assert [blob_store.read(a, a + n) for a, n in zip(blob_store.starts, blob_store.sizes, strict=True)][
            2
        ] == b"text"
        mapped = blob_store.mapped()
    assert mapped[:] == b"before--text--after"


def test_a_full_disk_is_one_clear_refusal():
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(InputError, match="has no room") as error:
            _write_all(full, b"text", 0)
    finally:
        os.close(full)
    assert "HUSH_HOME" in error.value.hint  # where the text is laid out


def test_a_store_that_nobody_closed_gives_its_file_back():
    forgotten = BlobStore()
    file = forgotten._file
    forgotten.me = forgotten  # in a circle, as in the trace of an exception
    del forgotten
    gc.collect()
    assert file.closed
