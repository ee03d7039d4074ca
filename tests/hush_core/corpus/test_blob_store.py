"""Contents on disk: what is put in comes out, once; what is kept of a history is never taken on trust."""

import gc
import os
import stat
from itertools import pairwise

import numpy as np
import pytest
from extracting import KEY
from extracting import job as job_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.corpus.blob_cache import BlobCache
from hush_core.corpus.blob_store import BlobStore, _write_all
from hush_core.corpus.chunks import ChunkLayout, chunk_ranges
from hush_core.corpus.cuts import cells
from hush_core.corpus.git import blobs
from hush_core.errors import InputError
from hush_core.secrets import extract


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
    layout = ChunkLayout(np.array(blobs, dtype=np.int32), np.array(sizes), 16)
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
        layout = ChunkLayout(np.arange(5, dtype=np.int32), blob_store.sizes, 16)
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


LINES = b"".join(b"line %d of the file\n" % i for i in range(40))


@pytest.fixture
def job(make_repo, tmp_path):
    repo = make_repo("repo")
    repo.commit({f"f{i}.txt": b"%d\n" % i + LINES for i in range(6)} | {"picture.bin": b"\0\1"})
    repo.commit({"f1.txt": b"changed\n" + LINES})
    secret = {"id": "p", "kind": "path", "globs": ["f1*"], "spread": {"copies": False}}
    config = job_of([repo], [secret], "history", chunk_bytes=1024)

    def run():
        return extract(config, KEY, cache=tmp_path / "cache")

    return repo, run


@pytest.fixture
def asked(monkeypatch):
    """What git is asked for as text."""
    lists, read = [], blobs.read_blobs

    def spy(view, wanted, **options):
        lists.extend([list(wanted)] if wanted else [])
        return read(view, wanted, **options)

    monkeypatch.setattr(blobs, "read_blobs", spy)
    return lists


def same(a, b):
    return (
        a.examples.equals(b.examples)
        and a.edges.equals(b.edges)
        and a.coverage["secrets"] == b.coverage["secrets"]
    )


def test_only_new_contents_come_out_of_git(job, asked, tmp_path):
    repo, run = job
    first = run()
    assert [len(wanted) for wanted in asked] == [8]
    assert same(run(), first) and len(asked) == 1
    repo.commit({"f2.txt": b"newer\n" + LINES, "more.txt": LINES})
    grown = run()
    assert [len(wanted) for wanted in asked] == [8, 2]
    folder = tmp_path / "cache" / "text"
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.unlink()
    assert same(run(), grown)  # as read from the beginning
    assert grown.coverage["repositories"]["repo"]["skipped"]["binary"] == 1


def test_what_does_not_match_its_id_is_read_again(job, asked, tmp_path):
    _, run = job
    first = run()
    text = tmp_path / "cache" / "text" / "text"
    data = bytearray(text.read_bytes())
    place = data.index(b"line 7 of")
    data[place : place + 4] = b"LINE"
    text.write_bytes(data)
    assert same(run(), first) and [len(wanted) for wanted in asked] == [8, 1]
    text.write_bytes(text.read_bytes()[:100])
    assert same(run(), first) and len(asked[-1]) == 8
    (tmp_path / "cache" / "text" / "index.npz").write_bytes(b"no index")
    assert same(run(), first)


def test_a_run_that_was_killed_leaves_only_what_its_index_says(job, asked, tmp_path):
    _, run = job
    first = run()
    with open(tmp_path / "cache" / "text" / "text", "ab") as file:
        file.write(b"half a content")
    assert same(run(), first) and len(asked) == 1


def test_two_runs_at_once_both_end_well(job, asked, tmp_path):
    _, run = job
    first = run()
    held = BlobCache.open(tmp_path / "cache" / "text")
    assert held is not None and BlobCache.open(tmp_path / "cache" / "text") is None
    assert same(run(), first) and [len(wanted) for wanted in asked] == [8, 8]
    held.close(held.end)
    assert same(run(), first) and len(asked) == 2


def test_text_that_is_mostly_of_no_use_is_dropped(tmp_path):
    def kept(used):
        one = BlobCache.open(tmp_path / "text")
        if not one.places:
            one.file.write(b"x" * 100)
            one.note(b"aa", 0, 60, "")
            one.note(b"bb", 60, 40, "binary")
            one.used = 0
        for blob in used:
            assert one.take(blob) is not None
        one.complete = True
        one.close(100)
        again = BlobCache.open(tmp_path / "text")
        places, end = again.places, again.end
        again.close(end)
        return places, end

    assert kept([b"aa"]) == ({b"aa": (0, 60, ""), b"bb": (60, 40, "binary")}, 100)
    assert kept([b"bb"]) == ({}, 0)


def test_a_frame_outlives_the_text_that_it_was_read_from(job, tmp_path, monkeypatch):
    from hush_core.secrets import examples

    repo, run = job
    plain = run().examples
    monkeypatch.setattr(examples, "IN_MEMORY_BYTES", 0)
    mapped = run().examples
    repo.commit({f"g{i}.txt": b"%d more\n" % i + LINES for i in range(9)})
    run()
    for path in (tmp_path / "cache" / "text").iterdir():
        path.unlink()
    assert mapped.equals(plain) and np.array_equal(mapped["text"].to_list(), plain["text"].to_list())
