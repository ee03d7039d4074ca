"""The list under "Written forms" in `docs/secrets.md` says what is found, and no more. Every form is
tried on random values of several lengths, in all alignments, in real text.

    HUSH_WRITE_DOCS=1 pytest tests/hush_core/secrets/propagation/test_encodings_table.py     # writes it again
"""

import argparse
import base64
import bz2
import gzip
import inspect
import os
import random
import string
import zlib
from pathlib import Path

import pytest
from sizes import WHOLE
from written_forms import FORMS, Form

from hush_core.secrets.propagation import decoding
from hush_core.secrets.propagation import value_search as search_module
from hush_core.secrets.propagation.decoding import BUDGET, SPARE, TooMuch, layers
from hush_core.secrets.propagation.layers import SQUEEZED
from hush_core.secrets.propagation.value_search import CUT, Hit, SearchTerm, ValueSearch

DOCS = Path(__file__).parents[4] / "docs" / "secrets.md"

SOURCE = inspect.getsource(argparse).encode()

LETTERS = string.ascii_letters + string.digits

AROUND = (
    (b"", b""), (b"u", b""), (b"us", b" tail"), (b"\xc3\xa9", b"\xc3\xa9"),
    (b"user: ", b"; and more of it, so that the text is longer than a line of it is"),
)  # fmt: skip

MAIL = b"=C3=A9 is how mail writes it, and this line goes on so far that it has to be =\nbroken\n"


def token(n: int, seed: int) -> bytes:
    return "".join(random.Random(f"{n}/{seed}").choices(LETTERS, k=n - 2)).encode() + b"ae"


def places(form: Form, value: bytes, before: bytes, after: bytes) -> tuple[bytes, list[Hit]]:
    """A text with one copy of the value, and where it is found."""
    mail = MAIL if "quoted" in form.name else b""
    written = form.write(before + value + after)
    content = SOURCE[:600] + b"\n" + mail + b"x = " + written + b"\n" + SOURCE[600:1200]
    return content, list(ValueSearch([SearchTerm(value)]).find(content))


def tried(form: Form, between: bool = True, seeds: int = 2 if WHOLE else 1):
    """(length, seed, text before, text after); `between`: not the shortest and the longest values alone."""
    for n in sorted({form.least or 24, 40, *([max(12, form.least), 24] if between else [])}):
        for seed in range(seeds):
            for before, after in AROUND[:1] if form.alone else AROUND:
                if n >= 12 or before.isascii():
                    yield n, seed, before, after


@pytest.mark.few(30)
@pytest.mark.parametrize("form", [f for f in FORMS if f.least], ids=lambda f: f.name)
def test_what_the_table_calls_found_is_found_in_whole_and_nothing_behind_it_moves(form):
    """A copy of another value, of the same length or another, differs within the places found alone."""
    for n, seed, before, after in tried(form, between=WHOLE):
        content, hits = places(form, token(n, seed), before, after)
        assert hits, (n, seed, before, after)
        start, end = min(h.start for h in hits), max(h.end for h in hits)
        for other in (token(n, seed + 90), token(n + 7, seed)):
            text, others = places(form, other, before, after)
            assert text[: min(h.start for h in others)] == content[:start], (n, seed, before, after)
            assert text[max(h.end for h in others) :] == content[end:], (n, seed, before, after)


@pytest.mark.parametrize("form", [f for f in FORMS if not f.least], ids=lambda f: f.name)
def test_what_the_table_calls_missed_is_missed(form):
    assert not all(places(form, token(n, seed), before, after)[1] for n, seed, before, after in tried(form))


def test_no_other_value_is_found():
    others = ValueSearch([SearchTerm(token(24, seed)) for seed in range(2, 40)])
    for form in FORMS:
        content, _ = places(form, token(24, 1), b"user: ", b" tail")
        assert not list(others.find(content)), form.name


def test_the_docs_list_every_form_by_what_is_found():
    found: dict[str, list[str]] = {}
    for form in FORMS:
        found.setdefault(f"From {form.least} bytes" if form.least else f"No: {form.reason}", []).append(
            form.name
        )
    listed = "\n".join(f"- **{how}**: {' · '.join(names)}" for how, names in found.items())
    text = DOCS.read_text()
    head, _, rest = text.partition("<!-- table -->\n")
    _, _, tail = rest.partition("\n<!-- end -->")
    whole = f"{head}<!-- table -->\n{listed}\n<!-- end -->{tail}"
    if os.environ.get("HUSH_WRITE_DOCS"):
        DOCS.write_text(whole)
    assert text == whole


NAMES = (
    b"Project Blue Falcon",
    b"Ed Lee Ltd",
    b"O'Brien & Sons, Munich",
    "Zo\u00eb M\u00fcller-L\u00fcdenscheidt GmbH".encode(),
)

GAPS = (
    "\n", "\r\n    ", "  ", "\t", "\u00a0", "\u2003", "\u3000",
    "\n# ", "\n    // ", "\n * ", "\n> ", "\n> > ", "\n+", "\n-- ", "\n;; ",
    "\\n", " \\\n", "&nbsp;", "%20", "+", '"\n  "', '" + "', "=\n", "\u200b \u200b", "_", "-",
)  # fmt: skip

CASES = (bytes, bytes.upper, bytes.lower)


@pytest.mark.few(30)
@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("name", NAMES)
def test_words_are_found_whatever_stands_between_them(name, gap):
    for case in CASES if WHOLE else [CASES[(GAPS.index(gap) + NAMES.index(name)) % 3]]:
        for place in range(1, name.count(b" ") + 1):
            words = case(name).split(b" ")
            text = b" ".join(words[:place]) + gap.encode() + b" ".join(words[place:])
            content = SOURCE[:300] + b"\n# for " + text + b", or so\n" + SOURCE[300:600]
            (hit,) = {(h.start, h.end) for h in ValueSearch([SearchTerm(name, any_case=True)]).find(content)}
            assert content[hit[0] : hit[1]] == text


@pytest.mark.parametrize(
    "text",
    [b"BlueFalconProject", b"project of the blue falcon", b"Projects Blue Falcon", b"Project Blu Falcon"],
)
def test_other_words_are_not(text):
    assert not list(
        ValueSearch([SearchTerm(b"Project Blue Falcon", any_case=True)]).find(b"see " + text + b".\n")
    )
    assert not list(ValueSearch([SearchTerm(b"Ed Lee", any_case=True)]).find(b"a needlee, edleed\n"))


TOKEN = b"q7WmZ2xKc9TbLr4VhN8sYd3FgJ6pXu5A"

SIZE = 1 << (18 if WHOLE else 17)


def nested(times: int) -> bytes:
    text = TOKEN
    for _ in range(times):
        text = base64.b64encode(text)
    return text


def bomb(pack, size: int = 64 << 20) -> bytes:
    return base64.b64encode(pack(b"\0" * size + TOKEN))


HOSTILE = {
    "letters": b"A" * SIZE,
    "digits": b"7" * SIZE,
    "small letters": b"a" * SIZE,
    "pairs": b"41:" * (SIZE // 3),
    "numbers": b"65, " * (SIZE // 4),
    "rows that are no lists": b"1 2 3 4 5 x 6 7 8 9 1;zq\n" * (SIZE // 24),
    "hexadecimal of hexadecimal": b"333" * (SIZE // 3),
    "percent": b"%25" * (SIZE // 3),
    "backslashes": b"\\" * SIZE,
    "escapes": b"\\u005c" * (SIZE // 6),
    "entities": b"&amp;" * (SIZE // 5),
    "soft breaks": (b"=41" * 25 + b"=\n") * (SIZE // 77),
    "blanks": b" " * SIZE,
    "lines": b"\n" * SIZE,
    "quotes": b'"' * SIZE,
    "quotes and letters": b'"A" + ' * (SIZE // 6),
    "signs": b"#" * SIZE,
    "a run over lines": (b"QUFBQUFBQUFBQUFBQUFB\n# " * (SIZE // 23)),
    "calls": b"chr(65)." * (SIZE // 8),
    "frames": b"<~" * (SIZE // 2),
    "zlib's sign": base64.b64encode(b"\x1f\x8b\x08\0" * (SIZE // 4)),
    "nested twenty times": nested(20),
    "base64 of random bytes": base64.b64encode(random.Random(1).randbytes(SIZE)),
    "no-break spaces": "\u00a0".encode() * (SIZE // 2),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_what_is_decoded_of_anything_is_bounded(content):
    """In bytes, not in seconds: squeezed texts are no longer than those below them."""
    sizes = [len(layer.text) for layer in layers(content) if layer.kind != SQUEEZED]
    assert sum(sizes) <= (BUDGET + 1) * len(content) + SPARE
    assert len(sizes) < 400
    list(ValueSearch([SearchTerm(TOKEN)]).find(content))


@pytest.mark.few(4)
@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_value_in_the_midst_of_it_is_found(content):
    (hit,) = ValueSearch([SearchTerm(TOKEN)]).find(content + b"\n" + TOKEN + b"\n" + content)
    assert (hit.start, hit.end) == (len(content) + 1, len(content) + 1 + len(TOKEN))


@pytest.mark.few(1)
@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, bz2.compress])
def test_what_unfolds_without_end_is_cut_short(pack):
    content = bomb(pack)
    assert len(content) < 1 << 17
    assert max(len(layer.text) for layer in layers(content)) <= decoding.MOST
    small = base64.b64encode(pack(b"\0" * 4096 + TOKEN))
    (hit,) = ValueSearch([SearchTerm(TOKEN)]).find(b"k: " + small + b"\n")
    assert (hit.start, hit.end, hit.form) == (3, 3 + len(small), "base64/compressed")


def test_two_deep_and_no_deeper():
    search = ValueSearch([SearchTerm(TOKEN)])
    assert [bool(list(search.find(nested(times)))) for times in range(5)] == [True, True, True, False, False]


def test_a_spent_budget_stops_the_far_layers_first(monkeypatch):
    monkeypatch.setattr(decoding, "BUDGET", 4)
    monkeypatch.setattr(decoding, "SPARE", 0)
    content = base64.b64encode(SOURCE[:9000] + base64.b64encode(SOURCE[:9000] + TOKEN) + TOKEN[::-1])
    forms = {hit.form for hit in ValueSearch([SearchTerm(TOKEN)]).find(content)}
    assert forms == {"base64/reversed"}
    with pytest.raises(TooMuch):
        list(layers(content, several=True))


def files() -> list[bytes]:
    """Contents with copies in all places where one may run into the next."""
    copies = (
        TOKEN, base64.b64encode(TOKEN), TOKEN.hex().encode(), base64.b64encode(b"a:" + TOKEN), nested(2),
        TOKEN[:9] + b'" +\n "' + TOKEN[9:], "".join(f"\\u{c:04x}" for c in TOKEN).encode(),
        b", ".join(b"%d" % c for c in TOKEN),
        b"=41" * 4 + TOKEN[:20] + b"=\n" + TOKEN[20:], b"\\",
        "\u00fc ".encode() + TOKEN, TOKEN[:16], TOKEN[16:],
        base64.b64encode(TOKEN)[:20], base64.b64encode(TOKEN)[20:],
    )  # fmt: skip
    draw = random.Random(5)
    texts = [b"", b"\n", TOKEN]
    for copy in copies:
        around = SOURCE[draw.randrange(9000) :][: draw.randrange(900)], SOURCE[: draw.randrange(900)]
        texts += [copy, around[0] + copy, copy + around[1], around[0] + b'"' + copy + b'"' + around[1]]
    return [draw.choice(texts) for _ in range(400)] + texts


def test_contents_that_are_looked_at_together_are_as_if_alone(monkeypatch):
    search = ValueSearch([SearchTerm(TOKEN), SearchTerm(b"ArgumentParser", any_case=True)])
    texts = files()
    alone = [set(search.find(text)) for text in texts]
    assert sum(map(bool, alone)) > 200
    for together in (1 << 18, 4000, 1):
        monkeypatch.setattr(search_module, "TOGETHER", together)
        assert [set(hits) for hits in search.each(texts)] == alone
    packed = base64.b64encode(gzip.compress(TOKEN, mtime=0))  # what is limited for each is looked at alone
    monkeypatch.setattr(search_module, "TOGETHER", 1 << 18)
    assert [set(hits) for hits in search.each([*texts, packed])] == [*alone, set(search.find(packed))]
    # the planted mistake: nothing stands between them
    monkeypatch.setattr(search_module, "APART", b"")
    assert [set(hits) for hits in search.each(texts)] != alone


def test_chance_finds_no_value_in_what_makes_no_sense():
    letters = string.ascii_letters + string.digits
    draw = random.Random(3)
    search = ValueSearch(
        [SearchTerm("".join(draw.choices(letters, k=draw.randrange(3, 9))).encode()) for _ in range(3000)]
    )
    noise = base64.b64encode(draw.randbytes(1 << 20)) + b"\n" + draw.randbytes(1 << 19).hex().encode()
    assert not [hit for hit in search.find(noise) if hit.form != "raw"]


def test_what_decodes_to_more_than_is_searched_is_counted(monkeypatch):
    """A value behind the bound is not found, and the search says of how many contents that may be."""
    value = b"x7Gq0TzLw4RbN9vKpY2cQm8s"
    monkeypatch.setattr(decoding, "MOST", 1 << 20)
    behind = base64.b64encode(gzip.compress(b"\0" * (9 << 17) + value))
    before = base64.b64encode(gzip.compress(value + b" and more"))
    search = ValueSearch([SearchTerm(value)])
    forms = [[hit.form for hit in hits] for hits in search.each([before, b"x = 1\n", behind])]
    assert forms[0] and CUT not in forms[0] and forms[1:] == [[], [CUT]]
    nested = base64.b64encode(b"%" * 100 + base64.b64encode(b"A" * (1 << 17)))
    assert not search.each([nested])[0]
