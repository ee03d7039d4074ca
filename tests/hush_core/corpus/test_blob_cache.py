"""The text of a history is kept: what is known does not come out of git again, and is never taken on trust."""

import stat

import numpy as np
import pytest
from extracting import KEY
from extracting import job as job_of

from hush_core.corpus.blob_cache import BlobCache
from hush_core.corpus.git import blobs
from hush_core.secrets import extract

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
    assert same(run(), grown)  # as read anew
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
