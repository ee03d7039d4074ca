"""CSV: what the csv module writes is read back; the rest is refused by line."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.corpus.documents.csv_table import _Records
from hush_core.corpus.documents.streams import pieces
from hush_core.errors import InputError

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
