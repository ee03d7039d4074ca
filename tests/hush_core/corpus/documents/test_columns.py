"""Parquet, JSON lines and CSV hold the same table: the same documents, counts and refusals."""

import csv
import io
import json
import traceback

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.corpus.documents import Document, read_documents
from hush_core.corpus.documents.csv_table import _Records
from hush_core.corpus.documents.streams import pieces
from hush_core.errors import InputError

ROWS = [
    {"text": "first words", "who": "ann", "key": "a/1", "n": "1"},
    {"text": 'caf\u00e9, "quoted"\nsecond line', "who": "bob ", "key": "b\n2", "n": "2"},
    {"text": None, "who": "ann", "key": "c", "n": "3"},
    {"text": "x" * 101, "who": "ann", "key": "d", "n": "4"},
    {"text": "nobody's", "who": None, "key": "e", "n": "5"},
    {"text": "nul \0 byte", "who": "ann", "key": "f", "n": "6"},
    {"text": "y" * 100, "who": "Ann", "key": "g", "n": "7"},
    {"text": "=cmd|' /C calc'!A0", "who": "cafe\u0301", "key": "h", "n": "8"},
]


def _write(path, rows, kind):
    if kind == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.fixture(params=["parquet", "jsonl", "csv"])
def kind(request):
    return request.param


def test_rows_become_documents_and_the_rest_is_counted(tmp_path, read, kind):
    path = _write(tmp_path / f"t.{kind}", ROWS, kind)
    documents, skipped = read(path, 100, unit="who", id="key")
    assert documents == {
        "a/1": ("first words", "ann"),
        "b\\x0a2": ('café, "quoted"\nsecond line', "bob"),
        "g": ("y" * 100, "Ann"),
        "h": ("=cmd|' /C calc'!A0", "caf\u00e9"),  # one spelling of a unit; the formula is only text
    }
    null = "empty" if kind == "csv" else "null_text"
    assert skipped == {null: 1, "too_large": 1, "no_unit": 1, "binary": 1}
    assert len(documents) + sum(skipped.values()) == len(ROWS)


def test_without_unit_and_id_rows_are_numbered(tmp_path, read, kind):
    documents, skipped = read(_write(tmp_path / f"t.{kind}", ROWS, kind), 100)
    numbers = {"parquet": [1, 2, 5, 7, 8], "jsonl": [1, 2, 5, 7, 8], "csv": [2, 3, 8, 10, 11]}[kind]
    position = "row" if kind == "parquet" else "line"
    assert list(documents) == [f"{position}-{n}" for n in numbers]
    assert {unit for _, unit in documents.values()} == {None}
    assert "no_unit" not in skipped


def test_several_columns_of_text_are_joined_in_the_order_given(tmp_path, read, kind):
    rows = [{"title": "t", "body": "b"}, {"title": None, "body": "only"}, {"title": "é" * 5, "body": "b"}]
    documents, skipped = read(_write(tmp_path / f"t.{kind}", rows, kind), 11, text=["body", "title"])
    assert [text for text, _ in documents.values()] == ["b\nt", "only"]
    assert skipped == {"too_large": 1}


@pytest.mark.parametrize("option", ["text", "unit", "id"])
def test_a_missing_column_is_refused_with_those_there_are(tmp_path, read, kind, option):
    rows = [{"text": "hunter2-secret", "who": "ann", "not a plain name: hunter2": "v"}]
    path = _write(tmp_path / f"t.{kind}", rows, kind)
    with pytest.raises(InputError) as caught:
        read(path, **{option: "abstract"})
    message = str(caught.value)
    assert str(path) in message and "'abstract'" in message and "text, who and 1 more" in message
    assert "hunter2" not in message and "Hint" in message


def test_ids_must_be_there_and_unique(tmp_path, read, kind):
    twice = [{"text": "a", "key": "k1"}, {"text": "b", "key": "k2"}, {"text": "c", "key": "k1"}]
    with pytest.raises(InputError, match="(row 3|line [34]).*repeats an id.*'key'"):
        read(_write(tmp_path / f"t.{kind}", twice, kind), id="key")
    empty = [{"text": "a", "key": "k1"}, {"text": "b", "key": ""}]
    with pytest.raises(InputError, match="(row|line) [23].*nothing in 'key'"):
        read(_write(tmp_path / f"t.{kind}", empty, kind), id="key")


def test_text_in_the_place_of_a_label_is_refused_and_not_shown(tmp_path, kind):
    path = _write(tmp_path / f"t.{kind}", [{"text": "a", "long": "hunter2 " * 40}], kind)
    for option in ("unit", "id"):
        with pytest.raises(InputError, match="more than 256 characters in 'long'") as caught:
            list(read_documents(path, max_bytes=9999, where="t", **{option: "long"}))
        assert "hunter2" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
@pytest.mark.parametrize("value", [3, 2.5, True, ["hunter2"], {"hunter2": 1}])
def test_a_column_that_is_no_string_is_refused(tmp_path, kind, value):
    path = _write(tmp_path / f"t.{kind}", [{"text": value, "ok": "hunter2", "whole": 12}], kind)
    with pytest.raises(InputError, match="'text'") as caught:
        list(read_documents(path, max_bytes=99, where="t"))
    assert "hunter2" not in str(caught.value)
    if value != 3:
        with pytest.raises(InputError, match="'text'"):
            list(read_documents(path, text="ok", unit="text", max_bytes=99, where="t"))
    whole = list(read_documents(path, text="ok", unit="whole", id="whole", max_bytes=99, where="t"))
    assert [(d.name, d.unit) for d in whole] == [("12", "12")]


def test_categories_of_parquet_are_strings(tmp_path, read):
    frame = pl.DataFrame({"text": ["a", "b"], "c": ["x", "y"], "e": ["p", "q"]})
    frame = frame.with_columns(pl.col("c").cast(pl.Categorical), pl.col("e").cast(pl.Enum(["p", "q"])))
    frame.write_parquet(tmp_path / "t.parquet")
    documents, _ = read(tmp_path / "t.parquet", unit="c", id="e")
    assert documents == {"p": ("a", "x"), "q": ("b", "y")}


def test_a_damaged_parquet_file_is_refused_without_its_content(tmp_path, capfd):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"text": ["hunter2 " * 50 + str(i) for i in range(5000)]}).write_parquet(
        path, compression="uncompressed", row_group_size=500
    )
    good = path.read_bytes()
    for cut in (
        good[:-100],
        good[:3000],
        good[: len(good) // 2] + b"\xff" * 4000 + good[len(good) // 2 + 4000 :],
    ):
        path.write_bytes(cut)
        with pytest.raises(InputError, match="t.parquet") as caught:
            list(read_documents(path, max_bytes=9999, where="t"))
        assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    assert "hunter2" not in "".join(capfd.readouterr())  # polars may write of its own accord


def test_a_parquet_bomb_of_rows_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pl.select(text=pl.repeat(None, 7_000_000, dtype=pl.String)).write_parquet(path)
    assert path.stat().st_size < 1 << 16
    with pytest.raises(InputError, match="7000000 rows"):
        list(read_documents(path, max_bytes=99, where="t"))


def test_a_document_shows_neither_text_nor_unit():
    shown = repr(Document("row-1", b"hunter2", "ann@example.org"))
    assert "hunter2" not in shown and "ann" not in shown and "row-1" in shown


FIELD = st.text(st.sampled_from('ab,"\n\r é'), max_size=8)


def _records(raw: bytes, piece: int, limit: int = 10_000):
    return list(_Records(limit, "t").read(pieces(io.BufferedReader(io.BytesIO(raw)), piece)))


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(
    st.integers(2, 4).flatmap(
        lambda n: st.lists(st.lists(FIELD, min_size=n, max_size=n), min_size=1, max_size=5)
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.integers(1, 9),
)
def test_what_the_csv_module_writes_is_read_back(rows, end, quote_all, piece):
    out = io.StringIO(newline="")
    quote_all |= any(
        "\r" in field for row in rows for field in row
    )  # the module quotes "\r" only if it ends lines
    csv.writer(out, lineterminator=end, quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL).writerows(
        rows
    )
    raw = out.getvalue().encode()
    for written in (raw, raw.removesuffix(end.encode())):
        assert [[f.decode() for f in record] for _, record in _records(written, piece)] == rows


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(
    st.binary(max_size=60) | st.text(st.sampled_from('a,"\n\r'), max_size=40).map(str.encode),
    st.integers(1, 9),
)
def test_any_bytes_are_read_the_same_in_pieces_of_any_size_or_refused(raw, piece):
    def outcome(size):
        try:
            return _records(raw, size)
        except InputError as error:
            return str(error)

    assert outcome(piece) == outcome(1 << 16)


@pytest.mark.parametrize(
    ("content", "line", "what"),
    [
        ('text,who\na,b\n"open,c\nd,e\n', 3, "never closed"),
        ('text,who\na,b\n"closed" hunter2,c\n', 3, "continues after"),
        ("text,who\na,b\n\nhunter2\n", 4, "1 of the 2 fields"),
        ('text,who\n"a\nb",c\nhunter2,c,d\n', 4, "more than the 2 fields"),
        ("text,who,text\na,b,c\n", 1, "2 columns named 'text'"),
        ("hunter2 x,who\na,b\n", 1, "there are: who and 1 more"),
    ],
)
def test_errors_name_the_line_and_no_value(table, read, content, line, what):
    with pytest.raises(InputError, match=rf"t\.csv: line {line}: .*{what}") as caught:
        read(table("t.csv", content))
    assert "hunter2" not in str(caught.value)


@pytest.mark.slow
def test_a_row_beyond_the_limit_is_passed_over_and_the_next_is_read(table, read):
    rows = ["text,who", '"' + 'long, ""\n' * 200_000 + '",a', '"' + "x" * 300_000 + '",b', ",c", "after,d"]
    path = table("t.csv", "\n".join(rows))
    documents, skipped = read(path, 299_999, unit="who")
    assert documents == {"line-200005": ("after", "d")}
    assert skipped == {"too_large": 2, "empty": 1}
    documents, _ = read(path, 300_000)  # beyond the csv module's own limit on a field
    assert [len(text) for text, _ in documents.values()] == [300_000, 5]


def test_bytes_that_are_no_utf8_cost_one_row_only_in_a_column_asked_for(table, read):
    path = table("t.csv", b"text,who,note\na\xe9,x,n\nb,y,\xe9\nc,\xe9,n\n")
    assert read(path, unit="who") == ({"line-3": ("b", "y")}, {"undecodable": 2})


@pytest.mark.parametrize(
    "line", ['{"text": "hunter2"', "[1, 2]", "null", "hunter2", '{"text": 1e}', "[" * 100_000, "9" * 5000]
)
def test_a_line_that_is_no_object_is_refused_by_number_without_its_value(table, read, line):
    path = table("t.jsonl", '{"text": "a"}\n\n' + line + "\n")
    with pytest.raises(InputError, match=r"t\.jsonl: line 3") as caught:
        read(path)
    error: BaseException | None = caught.value
    while error is not None:  # not even in what the error carries along
        assert "hunter2" not in str(error) + repr(vars(error))
        error = error.__cause__ or error.__context__
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_odd_lines_are_read_or_counted(table, read):
    lines = [
        b'\xef\xbb\xbf{"text": "bom"}\r',
        b"   ",
        b'{"text": "half a pair \\ud800"}',
        b'{"text": "a pair \\ud83d\\ude00", "other": NaN}',
        b'{"text": "latin \xe9"}',
        b'{"other": 1}',
        json.dumps({"text": "short", "other": "x" * 1_100_000}).encode(),
        b'{"text": ""}',
        b'{"text": "last"}',
    ]
    documents, skipped = read(table("t.jsonl", b"\n".join(lines)), 100)
    assert documents == {
        "line-1": ("bom", None),
        "line-4": ("a pair \U0001f600", None),
        "line-9": ("last", None),
    }
    assert skipped == {"undecodable": 2, "null_text": 1, "too_large": 1, "empty": 1}


def test_the_limit_on_a_line_lets_every_text_through_that_may_be_trained_on(table, read):
    escaped = '{"text": "' + "\\u0041" * 1000 + '", "other": "' + "x" * 1_000_000 + '"}'
    documents, _ = read(table("t.jsonl", escaped), 1000)
    assert documents["line-1"] == ("A" * 1000, None)


def test_a_column_that_only_some_lines_have_is_no_mistake(table, read):
    path = table("t.jsonl", '{"text": "a"}\n{"text": "b", "who": "ann"}\n')
    assert read(path, unit="who") == ({"line-2": ("b", "ann")}, {"no_unit": 1})


def test_an_unnamed_column_is_missed_before_the_file_is_read_through(table, read):
    path = table("t.jsonl", '{"txt": "a"}\n' * 10_001 + "no json\n")
    with pytest.raises(InputError, match="no column 'text'; there are: txt"):
        read(path)


def test_an_empty_file_is_an_empty_table(table, read):
    assert read(table("t.jsonl", "")) == ({}, {})
