"""Versions that are searched where they changed have what a search of the whole finds, in every written form."""

import argparse
import base64
import inspect
import random
import string

import pytest
from written_forms import FORMS

from hush_core.secrets.propagation.value_search import SearchTerm, ValueSearch
from hush_core.secrets.propagation.value_versions import VersionSearch

LINES = inspect.getsource(argparse).encode().split(b"\n")
LETTERS = string.ascii_letters + string.digits


def drawn(n: int, seed: str) -> bytes:
    return "".join(random.Random(seed).choices(LETTERS, k=n - 2)).encode() + b"ae"


KEY = tuple(drawn(64, f"key {n}") for n in range(20))
TERMS = [
    *(SearchTerm(drawn(n, f"value {n}")) for n in (12, 24, 40)),
    SearchTerm(b"correct horse battery staple"),
    SearchTerm(b"Kestrel Ridge", any_case=True),
    SearchTerm(drawn(900, "long")),
    SearchTerm(b"-----BEGIN KEY-----\n" + b"\n".join(KEY) + b"\n-----END KEY-----", fragments=KEY[1:]),
]
WORDS = b"these are plain words of a line\n"
PLAIN = b"".join(b"the line number %d holds plain words here\n" % n for n in range(120))


@pytest.fixture(scope="module")
def search():
    return ValueSearch(TERMS)


def same(hits):
    return sorted((h.start, h.end, h.index, h.form) for h in hits)


def agree(search: ValueSearch, texts: list[bytes], before: list[int | None]) -> int:
    """How many hits there are in all, once every version is sure to have what a search of the whole finds."""
    whole = [same(search.find(text)) for text in texts]
    assert [same(hits) for hits in VersionSearch(search).follow(texts, before)] == whole
    return sum(map(len, whole))


def written(draw: random.Random) -> list[bytes]:
    """The lines of some value in some form, in pieces or not."""
    value = draw.choice(TERMS).value
    form = draw.choice([form for form in FORMS if form.least and len(value) >= form.least])
    text = b"x = " + form.write(value)
    if draw.random() < 0.3:
        at = draw.randrange(len(text))
        text = (
            text[:at]
            + draw.choice([b'" +\n    "', b"\\\n", b"\n# ", b'"\n\n\n   . "', b" " * 90])
            + text[at:]
        )
    return text.split(b"\n")


def test_histories_at_random(search):
    draw = random.Random(5)
    found = 0
    for _ in range(15):
        at = draw.randrange(len(LINES) - 200)
        lines, texts = LINES[at : at + draw.choice([90, 200])], []
        for _ in range(10):
            for _ in range(draw.randrange(1, 4)):
                at = draw.randrange(len(lines))
                other = draw.randrange(len(LINES) - 9)
                put = draw.choice([[], LINES[other : other + draw.randrange(9)], written(draw)])
                start = draw.choice([0, draw.randrange(len(put) + 1)])
                lines[at : at + draw.randrange(3)] = put[start : start + draw.randrange(len(put) + 2)]
            texts.append(b"\n".join([*lines, b""]))
        found += agree(search, texts, [None, *range(9)])
        agree(search, texts[:5], [None, 0, 0, 1, None])
    assert found > 100


@pytest.mark.parametrize("what", ["comes", "goes", "changes"])
def test_a_value_is_seen_in_every_form_wherever_the_edit_is(search, what):
    """One line of it comes or goes, or one beside it changes, at some distance."""
    value = TERMS[2].value
    for number, form in enumerate(FORMS):
        if not form.least:
            continue
        put = (b"x = " + form.write(value)).split(b"\n")
        whole = [*LINES[400:440], *put, *LINES[440:480], b""]
        edge = {"comes": 40, "goes": 40, "changes": 40 + (number % (len(put) + 9)) - 4}[what]
        other = [*whole[:edge], *([b"other words"] if what == "changes" else []), *whole[edge + 1 :]]
        pair = [b"\n".join(whole), b"\n".join(other)]
        assert agree(search, pair[::-1] if what == "comes" else pair, [None, 0]), form.name


def test_a_long_value_that_a_change_far_inside_completes(search):
    for term in TERMS[-2:]:
        lines = term.value.split(b"\n")
        if len(lines) == 1:  # in pieces, a line each
            lines = [b'"%b"' % term.value[n : n + 60] for n in range(0, 900, 60)]
        for n in range(len(lines)):
            broken = [*lines[:n], WORDS[:-1], *lines[n:]]
            texts = [b"\n".join([*LINES[:60], *block, *LINES[60:120]]) for block in (broken, lines)]
            agree(search, texts, [None, 0])
            assert any(h.index == TERMS.index(term) for h in search.find(texts[1]))


@pytest.mark.parametrize("form", ["raw", "in a comment"])
def test_the_last_bytes_of_a_long_value_complete_it(form):
    """However many they are after its last whole piece, on lines of their own."""
    note = (
        b"BEGIN NOTE\nNobody but the four of us may learn where the second ledger of the northern\nbranch "
        + (b"was hidden in the winter of the flood, nor who it was that carried the key\nto us,\nand me\n\nT")
    )
    for more in range(16):
        value = b"z" * more + note
        search = ValueSearch([SearchTerm(value)])
        for last in (b"X", b"and not\nT"):
            pair = [value[:-1] + last + b"\n", value + b"\n"]
            if form != "raw":
                pair = [b"".join(b"# %b\n" % line for line in text.splitlines()) for text in pair]
            assert agree(search, [PLAIN + text + PLAIN for text in pair], [None, 0])


def test_encoded_text_goes_on_over_lines_that_did_not_change(search):
    """Blocks of base64 and numbers around the change, short pieces, and marks of comments before them."""
    value = TERMS[2].value
    coded = base64.b64encode(
        b"some words before it: " + value + b" and some words behind it, for long"
    ).decode()
    for width in (4, 12, 16, 60):
        rows = [coded[n : n + width].encode() for n in range(0, len(coded), width)]
        for mark in (b"", b"# ", b"> ", b"+", b"REM ", b"dnl "):
            block = [mark + row for row in rows]
            for n in range(0, len(block), max(1, len(block) // 6)):
                one = b"\n".join([*LINES[:60], *block, *LINES[60:120]])
                other = b"\n".join([*LINES[:60], *block[:n], WORDS[:-1], *block[n:], *LINES[60:120]])
                agree(search, [one, other, one], [None, 0, 1])


@pytest.mark.parametrize("mark", [b"REM ", b"dnl "])
def test_no_zone_ends_behind_the_mark_of_a_comment(mark):
    """The first line of a run of base64 changes, whose others begin with a letter, a blank and a letter."""
    value = b"kR7#mP2$xW9!qT4&zL8*vN3@"
    coded = base64.b64encode("".join(f"\\u{c:04x}" for c in value).encode())
    search = ValueSearch([SearchTerm(value)])
    for width in (12, 16, 20):
        block = [mark + coded[n : n + width] + b"\n" for n in range(0, len(coded), width)]
        first = mark + base64.b64encode(b"Q" * width)[:width] + b"\n"
        pair = [PLAIN + b"".join(lines) + PLAIN for lines in ([first, *block[1:]], block)]
        assert agree(search, pair, [None, 0]) == 1


def test_a_list_behind_rows_that_look_like_one_is_found():
    """However near: what is none hides none."""
    value = b"xK9#wQ2!mZ"
    rows = b"1,\n\n2,\n\n3,\n\n4,\n\n5,\n\n6;\n"
    search = ValueSearch([SearchTerm(value)])
    for far in range(0, 48, 5):
        numbers = b"q\ngh ij\n" + b"k" * far + b": " + b", ".join(b"%d" % c for c in value) + b"\n"
        texts = [PLAIN + before + numbers + PLAIN for before in (rows, b"zz top\n", rows + rows)]
        assert agree(search, texts, [None, 0, 1]) == 3


def test_a_run_that_is_told_by_its_first_line_alone(search):
    """Its other lines are too short to be told by themselves, and the change is forty of them farther down."""
    coded = base64.b64encode(b"w" * 45 + b"words " * 30 + TERMS[2].value + b" and so on").decode()
    block = [coded[:60].encode(), *(coded[n : n + 4].encode() for n in range(60, len(coded), 4))]
    for n in range(len(block) - 12, len(block)):
        one = b"\n".join([*LINES[:60], *block[:n], WORDS[:-1], *block[n:], *LINES[60:120]])
        other = b"\n".join([*LINES[:60], *block, *LINES[60:120]])
        assert agree(search, [one, other], [None, 0])


def test_mail_is_searched_as_a_whole(search):
    soft = b"=C3=A9 is how mail writes it, and this line goes on so far that it has to be =\nbroken\n"
    plain = b"\n".join(LINES[:80]) + b"\n"
    coded = b"x = " + b"".join(b"=%02X" % c for c in TERMS[1].value) + b"\n"
    texts = [plain + coded + plain, soft + plain + coded + plain, plain + coded + plain + WORDS]
    assert agree(search, texts, [None, 0, 1])


MAIL = (
    b"Content-Transfer-Encoding: quoted-printable\n\nuser=3Dadmin, the password: p=40ssw0rd!77 for you, bye\n"
)
SOFT = b'  "body": "%b=\\r\\nrest of it, %%b.",\n' % b"words of it ".rjust(60, b".")
COPY = b"old: p=40ssw0rd!77\n"
MAILS = {
    "in base64": (b"none\n", b"\n" + base64.encodebytes(MAIL) + b"\n"),
    "in a JSON string": (SOFT[:20] + b'",\n', SOFT % b"p=40ssw0rd!77"),
    "a soft break far away": (b"\\n\n" + COPY + PLAIN, b"\\n\n" + COPY + PLAIN + SOFT % b"and"),
    "a soft break far away is gone": (b"\\n\n" + COPY + PLAIN + SOFT % b"and", b"\\n\n" + COPY + PLAIN),
    "the value far away from a soft break": (SOFT % b"and" + PLAIN, SOFT % b"and" + PLAIN + COPY),
    "two runs": (base64.encodebytes(MAIL) + PLAIN, base64.encodebytes(MAIL) + PLAIN + base64.encodebytes(COPY * 3)),
}  # fmt: skip


@pytest.mark.parametrize("case", MAILS.values(), ids=MAILS)
def test_mail_in_what_a_content_decodes_to_is_searched_as_a_whole(case):
    """In a string or in base64: its signs decide over all of that text."""
    search = ValueSearch([SearchTerm(b"p@ssw0rd!77")])
    old, new = (PLAIN + part + PLAIN for part in case)
    later = new + WORDS
    assert agree(search, [old, new, later], [None, 0, 1])
    texts = [text + b"%d\n" % n for n, text in enumerate([old, new, PLAIN])]
    assert list(map(same, search.each(texts))) == [same(search.find(text)) for text in texts]


@pytest.mark.parametrize("charset", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_characters_are_found_whatever_else_is_encoded(search, charset):
    """In base64, hexadecimal and escapes, with another wide text elsewhere or not; two values, encoded twice."""
    wide = TERMS[1].value.decode().encode(charset)
    other = b"note = " + base64.b64encode("hello, nothing to see".encode("utf-16-le")) + b"\n"
    escaped = "".join(f"\\u{c:04x}" for c in wide).encode()
    for text in (base64.b64encode(wide), base64.b64encode(wide + bytes(4)), wide.hex().encode(), escaped):
        old = PLAIN + b"blob = " + text + b"\n" + PLAIN
        assert agree(search, [PLAIN, old, old + other + PLAIN, old + PLAIN], [None, 0, 1, 2]) == 3
    pair = [base64.b64encode(value.decode().encode(charset)) for value in (TERMS[0].value, TERMS[1].value)]
    for encode in (base64.b64encode, lambda text: text.hex().encode(), lambda text: text):
        (a, b) = (hit.index for hit in search.find(b"".join(b"x = %b\n" % encode(one) for one in pair)))
        assert {a, b} == {0, 1}
    coded = [base64.b64encode(term.value).decode() for term in TERMS[1:3]]
    pair = [text.encode(charset).hex().encode() for text in coded]
    assert {hit.index for hit in search.find(b"".join(b"x = %b\n" % one for one in pair))} == {1, 2}


def test_only_what_may_have_changed_is_searched(search, monkeypatch):
    """Hundred versions, one value: whole is searched the first, and the two in which the value comes or goes."""
    lines = list(LINES[:400])
    texts = []
    for n in range(100):
        lines[(37 * n) % 400] = b"another line of plain words, number %d" % n
        lines[200] = b'key = "%b"' % TERMS[1].value if 30 <= n < 60 else b"no such key here"
        texts.append(b"\n".join(lines))
    counts = {"whole": 0, "parts": 0}
    searched, places = search.searched, search.places
    monkeypatch.setattr(
        search,
        "searched",
        lambda texts, before: counts.update(whole=counts["whole"] + len(texts)) or searched(texts, before),
    )
    monkeypatch.setattr(
        search, "places", lambda t: counts.update(parts=counts["parts"] + len(t)) or places(t)
    )
    found = list(VersionSearch(search).follow(texts, [None, *range(99)]))
    assert [len(hits) for hits in found] == [30 <= n < 60 for n in range(100)]
    assert counts["whole"] <= 8 and counts["parts"] < sum(map(len, texts)) / 5


def test_two_values_encoded_twice_are_both_found(search):
    """What one run decodes to does not go on in what the next one does: a run of base64 in it would end there."""
    values = [TERMS[1].value, TERMS[2].value]
    coded = [base64.b64encode(base64.b64encode(b"user:" + value + b":x")) for value in values]
    text = b"\n".join([*LINES[:40], *(b'a = "%b"' % one for one in coded), *LINES[40:80]])
    hits = {hit.index: hit for hit in search.find(text)}
    assert [text[hits[n].start : hits[n].end] in one for n, one in zip((1, 2), coded, strict=True)] == [
        True
    ] * 2
    assert same(search.each([text, text])[1]) == same(search.find(text))
