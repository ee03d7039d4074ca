"""Looking at contents with several threads: the same rows in the same order, each content once."""

import threading

import polars as pl
import pytest

from hush_core.corpus import BlobStore
from hush_core.secrets.detectors import scans
from hush_core.secrets.detectors.scans import looked_at
from hush_core.secrets.propagation.value_search import SearchTerm, ValueSearch


@pytest.fixture
def contents():
    with BlobStore() as blob_store:
        for i in range(300):
            words = ["alpha-codename" if i % 7 == 0 else "plain", "x" * (i % 50), "ALPHA-\\nCODE" * (i % 3)]
            blob_store.add(b"%040x" % i, "\n".join(words).encode())
        yield blob_store


def test_threads_change_nothing(contents, monkeypatch):
    monkeypatch.setattr(scans, "BATCH_BYTES", 200)
    look = ValueSearch(
        [SearchTerm(b"alpha-codename", any_case=True), SearchTerm(b"alpha-code" * 2, any_case=True)]
    )
    numbers = list(range(0, 300, 2))
    one = list(looked_at(contents, numbers, look, 1))
    assert [number for number, _ in one] == numbers
    assert sum(len(hits) for _, hits in one) > 20
    for workers in (2, 5):
        assert list(looked_at(contents, numbers, look, workers)) == one
    assert list(looked_at(contents, [], look, 2)) == []


def test_a_look_that_does_not_say_so_is_called_by_one_thread(contents):
    callers = set()

    def look(content: bytes) -> list[int]:
        callers.add(threading.get_ident())
        return [len(content)]

    assert len(list(looked_at(contents, range(300), look, 4))) == 300
    assert callers == {threading.get_ident()}


def test_what_goes_wrong_in_a_thread_is_raised(contents):
    class Look:
        threads = True

        def __call__(self, content: bytes) -> list[int]:
            if contents[250] == content:
                raise ZeroDivisionError
            return []

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        list(looked_at(contents, range(300), Look(), 2))
    assert threading.active_count() == before  # none is left behind


def test_many_patterns_find_what_few_do(monkeypatch):
    search_terms = [
        SearchTerm(b"first-value-of-all", any_case=True),
        SearchTerm(b"two"),
        SearchTerm(b'has "quotes" inside it'),
    ]
    content = (
        b'FIRST-value-\\nof-all two "dHdv" first-value-of-all has \\"quotes\\" inside it hasquotesinsideit'
    )
    few = {(h.index, h.start, h.end, h.form) for h in ValueSearch(search_terms).find(content)}
    monkeypatch.setattr("hush_core.secrets.propagation.seeker.PATTERNS_A_DATABASE", 3)
    assert {(h.index, h.start, h.end, h.form) for h in ValueSearch(search_terms).find(content)} == few
    assert {index for index, *_ in few} == {0, 1, 2} and len(few) >= 4


def test_two_that_scan_at_once_keep_what_both_found(tmp_path):
    """As two workers do that scan a repository each: neither saw the other's rows when it began."""
    names = [bytes([n]) * 16 for n in range(3)]

    def new(number, start):
        columns = {"number": [number], "start": [start], "end": [start + 4], "tag": ["rule"]}
        return pl.DataFrame(columns, schema_overrides={"start": pl.UInt32, "end": pl.UInt32})

    file = tmp_path / "scans" / "x.parquet"
    scans._save(file, new(0, 5), names)
    scans._save(file, new(1, 7), names)
    scans._save(file, new(1, 7), names)
    kept = scans._load(file)
    assert sorted(zip(kept["blob"], kept["start"], strict=True)) == [(names[0], 5), (names[1], 7)]
