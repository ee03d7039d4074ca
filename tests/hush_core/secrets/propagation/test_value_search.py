"""Every encoding of a value is found, in all alignments and across breaks; other encoders make the copies."""

import base64
import binascii
import html
import json
import random
import string
import textwrap
import urllib.parse

import pytest

from hush_core.secrets.propagation import escapes
from hush_core.secrets.propagation.value_search import SearchTerm, ValueSearch

VALUE = b'p/a+ss "w\xc3\xb6rd" <12>&3'
TOKEN = "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=40)).encode()


def forms(value: bytes, content: bytes, **search_terms) -> set[str]:
    return {h.form for h in ValueSearch([SearchTerm(value, **search_terms)]).find(content)}


@pytest.mark.parametrize("value", [VALUE, TOKEN])
@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("after", range(3))
def test_base64_in_every_alignment_and_alphabet(value, before, after):
    inner = b"Q" * before + value + b"\xff" * after
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        content = b'x = "' + encode(inner) + b'"'
        hits = [h for h in ValueSearch([SearchTerm(value)]).find(content) if h.form == "base64"]
        assert hits
        assert all(5 <= h.start < h.end <= len(content) - 1 for h in hits)


@pytest.mark.parametrize(
    ("write", "form"),
    [
        (lambda v: json.dumps({"k": v.decode()}).encode(), "escaped"),
        (lambda v: json.dumps({"k": v.decode()}, ensure_ascii=False).encode(), "escaped"),
        (lambda v: json.dumps(json.dumps(v.decode())).encode(), "escaped"),
        (lambda v: json.dumps(v.decode()).replace("/", "\\/").encode(), "escaped"),
        (lambda v: html.escape(v.decode()).encode(), "html"),
        (lambda v: urllib.parse.urlencode({"k": v}).encode(), "url"),
        (lambda v: urllib.parse.quote(v).encode(), "url"),
        (lambda v: urllib.parse.quote(v, safe="").lower().encode(), "url"),
        (lambda v: binascii.hexlify(v), "hex"),
        (lambda v: binascii.hexlify(b"z" + v).upper(), "hex"),
    ],
)
def test_text_encodings(write, form):
    content = b"begin " + write(VALUE) + b" end"
    assert form in forms(VALUE, content)
    assert forms(VALUE, b"begin " + write(VALUE[1:] + VALUE[:1]) + b" end") == set()


def test_line_break_variants():
    assert forms(b"one\ntwo\nthree", b"x one\r\ntwo\r\nthree") == {"newlines"}
    assert forms(b"one\r\ntwo\r\nthree", b"x one\ntwo\nthree") == {"newlines"}
    assert "escaped" in forms(b"one\r\ntwo\r\nthree", rb'k: "one\ntwo\nthree"')


def test_values_wrapped_over_lines_and_string_joints_are_mapped_back():
    wrapped = base64.encodebytes(b"#" * 50 + TOKEN + b"#" * 50)
    content = b"data: |\n" + textwrap.indent(wrapped.decode(), "    ").encode() + b"tail\n"
    hits = list(ValueSearch([SearchTerm(TOKEN)]).find(content))
    assert [h.form for h in hits] == ["base64"]
    squeezed = content[hits[0].start : hits[0].end].replace(b" ", b"").replace(b"\n", b"")
    assert squeezed in base64.b64encode(b"#" * 50 + TOKEN + b"#" * 50)
    split = b'key = ("' + TOKEN[:20] + b'"\n       "' + TOKEN[20:] + b'")'
    (hit,) = ValueSearch([SearchTerm(TOKEN)]).find(split)
    assert split[hit.start : hit.end].startswith(TOKEN[:20]) and split[: hit.end].endswith(TOKEN[20:])
    escaped = b'"' + TOKEN[:20] + rb"\n" + TOKEN[20:] + b'"'
    (hit,) = ValueSearch([SearchTerm(TOKEN)]).find(escaped)
    assert (hit.start, hit.end) == (1, len(escaped) - 1)


def test_repeats_overlaps_and_several_values_are_all_reported():
    search = ValueSearch([SearchTerm(b"abcab"), SearchTerm(b"cabc"), SearchTerm(b"Falcon", any_case=True)])
    found = {(h.index, h.start, h.end) for h in search.find(b"abcabcab FALCON falcon")}
    assert found == {(0, 0, 5), (0, 3, 8), (1, 2, 6), (2, 9, 15), (2, 16, 22)}


def test_case_matters_where_it_is_not_waived():
    assert forms(b"Falcon", b"falcon") == set()
    assert forms(b"Falcon", b"fALCON", any_case=True) == {"raw"}


def test_no_repr_shows_a_value():
    assert "secret" not in repr(SearchTerm(b"secret-value", fragments=(b"secret-part",)))


@pytest.mark.parametrize(
    "joint", [b"\n", b"\r", b"\r\n", b"`", b"``", b",", b'", "', b"', '", b"\t", b" ", b" \\\n  ", b"`,\n `"]
)
@pytest.mark.parametrize("place", [1, 20, 39])
def test_every_joint_is_seen_through(joint, place):
    """Each of these may stand within a value that was wrapped, quoted anew or written as a list of parts; one that
    is not taken out leaves the value untagged."""
    content = b"begin " + TOKEN[:place] + joint + TOKEN[place:] + b" end"
    (hit,) = ValueSearch([SearchTerm(TOKEN)]).find(content)
    form = "escaped" if b"\\" in joint else "raw"
    assert (hit.form, hit.start, hit.end) == (form, 6, len(content) - 4)


def test_base64_is_tagged_to_its_end_and_with_the_character_before():
    """Those behind the value move with its length; the one before may hold up to four of its bits."""
    for before in range(3):
        inner = b"#" * (30 + before) + TOKEN + b"#" * 31
        content = b'k = "' + base64.b64encode(inner) + b'"\nother = 1\n'
        (hit,) = (h for h in ValueSearch([SearchTerm(TOKEN)]).find(content) if h.form == "base64")
        first = 5 + (30 + before) * 8 // 6  # the first character that any bit of the value decides
        assert hit.start <= first and content[hit.end :] == b'"\nother = 1\n'
    lines = base64.encodebytes(b"#" * 20 + TOKEN + b"#" * 200)
    (hit,) = (
        h
        for h in ValueSearch([SearchTerm(TOKEN)]).find(b"a:\n" + lines + b"\nend of it\n")
        if h.form == "base64"
    )
    assert hit.end == 3 + len(lines) - 1


def test_many_values_in_one_long_run_take_linear_time():
    text = base64.b64encode((TOKEN + b"##") * 6_000)
    hits = [h for h in ValueSearch([SearchTerm(TOKEN)]).find(text) if h.form == "base64"]
    assert len(hits) == 6_000 and {h.end for h in hits} == {len(text)}


def test_lines_of_quoted_printable_text_are_read_once_however_many_values_stand_there(monkeypatch):
    """Of soft line breaks one line goes on to the end, for each value."""
    made = []

    class Lines(escapes._Lines):
        def __init__(self, text):
            made.append(len(text))
            super().__init__(text)

    monkeypatch.setattr(escapes, "_Lines", Lines)
    text = (b"abcdabcd" * 9 + b"=\n") * 800
    hits = [h for h in ValueSearch([SearchTerm(b"abcdabcd")]).find(text) if h.form == "quoted-printable"]
    assert len(hits) > 700 and {h.end for h in hits} == {len(text)} and len(made) <= 2


def test_what_is_sought_apart_is_no_part_of_a_longer_word_or_number():
    def found(value: bytes, content: bytes, apart: bool = True) -> list[tuple[int, int]]:
        return sorted({(h.start, h.end) for h in ValueSearch([SearchTerm(value, apart=apart)]).find(content)})

    text = b"123456 1234567 0123456 x123456 (123456) a=123456;123456"
    assert found(b"123456", text) == [(0, 6), (32, 38), (42, 48), (49, 55)]
    assert len(found(b"123456", text, apart=False)) == 7
    assert found(b"p@ss!", b"xp@ss!x xp@ss! p@ss!1") == [(15, 20)], (
        "its own first letter counts, its last sign not"
    )
    assert found(b"!a!", b"x!a!x") == [(1, 4)]
    assert found(b"Summer24", b"x = Summer24\\nSummer245") == [(4, 12)]
    assert found(b"Summer24", b"x\\nSummer24") == [(3, 11)], "what an escape stands for is no letter"
    inside = base64.b64encode(b"login:Summer24\nlogin:Summer245 and more of this")
    assert len(found(b"Summer24", inside)) == 1


@pytest.mark.parametrize("joint", [b"", b"\0"])
def test_a_value_longer_than_an_expression_may_be_is_found_where_all_of_it_stands(joint):
    draw = random.Random(4)
    value = "".join(draw.choices(string.ascii_letters + string.digits, k=20_000)).encode() + joint + b"end"
    other = value[:-1] + b"X"
    search = ValueSearch([SearchTerm(value), SearchTerm(value.lower()[::-1], any_case=True)])
    text = b"x = " + value + b"\n" + other + b"\n" + value.upper()[::-1] + b"\n" + value[:9000]
    hits = {(hit.index, hit.start, hit.end) for hit in search.find(text) if hit.form == "raw"}
    at = text.index(value.upper()[::-1])
    assert hits == {(0, 4, 4 + len(value)), (1, at, at + len(value))}
