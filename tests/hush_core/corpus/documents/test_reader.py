"""Formats, gzip, refusals of arguments, and memory that does not grow with the table."""

import gzip
import itertools
import json
import os
import tracemalloc
import zlib

import polars as pl
import pytest

from hush_core.corpus.documents import read_documents
from hush_core.corpus.documents.mbox import MESSAGE_BYTES
from hush_core.corpus.documents.streams import BOMB_FLOOR
from hush_core.errors import InputError

JSONL = '{"text": "words"}\n'
CSV = "text\nwords\n"
MBOX = "From a Thu Jan  1 00:00:00 1970\nFrom: a@x\n\nwords\n"
CHANGELOG = "a (1) sid; urgency=low\n\n  words\n -- A <a@x>  Mon\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.jsonl", JSONL),
        ("t.NDJSON.gz", JSONL),
        ("t.csv.gz", CSV),
        ("t.mbox.gz", MBOX),
        ("changelog.Debian.gz", CHANGELOG),
        ("ChangeLog-2013", CHANGELOG),
        ("no-suffix-jsonl", JSONL),
        ("mail.txt.gz", MBOX),
        ("history.gz", CHANGELOG),
    ],
)
def test_the_format_is_told_by_name_or_content(table, read, name, content):
    documents, _ = read(table(name, content))
    assert [text.strip() for text, _ in documents.values()] == ["words"]
    # gzip is told by content: a plain file named .gz is read as well
    plain = table("plain-" + name.removesuffix(".gz"), content)
    plain = plain.rename(plain.with_name(plain.name + ".gz"))
    assert read(plain)[0] == documents or name.lower().startswith("changelog")


def test_parquet_is_told_by_content_and_an_unknown_file_refused(tmp_path, table, read):
    pl.DataFrame({"text": ["words"]}).write_parquet(tmp_path / "data")
    assert read(tmp_path / "data")[0] == {"row-1": ("words", None)}
    with pytest.raises(InputError, match="set format: parquet, jsonl, csv, mbox, changelog"):
        read(table("notes", "plain words\n"))


def test_a_name_is_no_pattern(tmp_path, read):
    for name, text in (("t[1].parquet", "right"), ("t1.parquet", "wrong")):
        pl.DataFrame({"text": [text]}).write_parquet(tmp_path / name)
    assert read(tmp_path / "t[1].parquet")[0] == {"row-1": ("right", None)}


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"text": []}, "text"),
        ({"text": ["a", "a"]}, "text"),
        ({"text": ["a", "b"], "id": "b"}, "id"),
        ({"max_bytes": 0}, "max_bytes"),
        ({"format": "pickle"}, "format"),
        ({"format": "mbox", "unit": "sender"}, "unit"),
        ({"format": "mbox", "text": "body"}, "text"),
        ({"format": "changelog", "id": "version"}, "id"),
    ],
)
def test_arguments_are_refused_at_once_and_by_key(table, options, key):
    with pytest.raises(InputError, match=f"t: {key}:"):
        read_documents(table("t.jsonl", JSONL), **{"max_bytes": 9, "where": "t", **options})


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    for path in (tmp_path, tmp_path / "absent.csv", tmp_path / "pipe.jsonl"):
        with pytest.raises(InputError, match="is not a file"):
            read_documents(path, max_bytes=9, where="t")


def test_utf16_and_damaged_gzip_are_refused(table, read):
    with pytest.raises(InputError, match="UTF-16"):
        read(table("t.csv", CSV.encode("utf-16")))
    zipped = gzip.compress(b"text\n" + b"".join(os.urandom(50).hex().encode() + b"\n" for _ in range(2000)))
    for raw in (zipped[:-9], zipped[:90_000] + b"\0" * 50 + zipped[90_050:], zipped + b"tail"):
        with pytest.raises(InputError, match="damaged or cut short"):
            read(table("t.csv", raw))


@pytest.mark.few(1)
@pytest.mark.parametrize("line", [b"0" * (1 << 20), b'{"text": "%s"}\n' % (b"a" * 1000)])
def test_a_bomb_is_refused_early(tmp_path, line):
    """Refused once BOMB_FLOOR bytes are out, whether the lines are short or endless."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    path = tmp_path / "t.jsonl.gz"
    with open(path, "wb") as file:
        file.writelines(packer.compress(line) for _ in range(3 * BOMB_FLOOR // len(line)))
        file.write(packer.flush())
    assert path.stat().st_size < 1 << 20
    documents = read_documents(path, max_bytes=1 << 10, where="t")
    given = 0
    with pytest.raises(InputError, match="a bomb"):
        for _ in documents:
            given += 1
    assert given * len(line) <= BOMB_FLOOR and documents.skipped.total() <= 1


def test_honest_repetition_in_a_small_file_is_no_bomb(table, read):
    documents, _ = read(table("t.jsonl.gz", JSONL * 20_000))
    assert len(documents) == 20_000


WORDS = "".join(f"word{i:05d} " for i in range(2000))  # 20 kB


def _jsonl(n):
    return (json.dumps({"text": WORDS, "id": i}).encode() + b"\n" for i in range(n))


def _csv(n):
    return itertools.chain([b"id,text\n"], (b'%d,"%s"\n' % (i, WORDS.encode()) for i in range(n)))


def _mbox(n):
    body = WORDS.replace("word000", "\nword000").encode()
    return (b"From a Thu Jan  1 00:00:00 1970\nFrom: a%d@x\n\n%s\n\n" % (i, body) for i in range(n))


def _changelog(n):
    return (b"a (%d) sid; urgency=low\n\n  %s\n -- A <a@x>  Mon\n\n" % (i, WORDS.encode()) for i in range(n))


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["jsonl", "csv", "mbox", "changelog", "parquet"])
def test_memory_is_flat_in_the_size_of_the_table(tmp_path, kind):
    """20 MB, and a peak of Python's memory that is some documents; parquet's own memory is by row group."""
    n, path = 1000, tmp_path / f"t.{kind}"
    if kind == "parquet":
        pl.DataFrame({"text": [f"{i} {WORDS}" for i in range(n)]}).write_parquet(path, row_group_size=100)
    else:
        with open(path, "wb") as file:
            file.writelines({"jsonl": _jsonl, "csv": _csv, "mbox": _mbox, "changelog": _changelog}[kind](n))
        assert path.stat().st_size > 19_000_000
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_documents(path, max_bytes=1 << 15, where="t"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == n
    assert peak < 6 << 20


@pytest.mark.parametrize("kind", ["jsonl", "csv", "mbox", "changelog"])
def test_one_endless_line_is_one_counted_row(tmp_path, kind):
    head = {
        "jsonl": '{"text": "',
        "csv": 'text\n"',
        "mbox": MBOX[:-7],
        "changelog": "2024-01-01  A  <a@x>\n\n ",
    }[kind]
    path = tmp_path / f"t.{kind}"
    with open(path, "wb") as file:
        file.write(head.encode())
        for _ in range(40):
            file.write(b"a" * (1 << 20))
        file.write(b'"\n')
    assert path.stat().st_size > MESSAGE_BYTES
    tracemalloc.start()
    try:
        documents = read_documents(path, max_bytes=1 << 15, where="t")
        assert list(documents) == [] and documents.skipped == {"too_large": 1}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (MESSAGE_BYTES * 2.2 if kind == "mbox" else 6 << 20)
