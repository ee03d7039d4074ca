"""JSON lines: each line is an object, too long, unreadable or refused by number."""

import json
import traceback

import pytest

from hush_core.errors import InputError


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
