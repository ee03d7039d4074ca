"""The list under "Written forms" in `docs/secrets.md` says what is found, and no more. Every form is
tried on random values of several lengths, in all alignments, in real text.

    HUSH_WRITE_DOCS=1 pytest tests/hush_core/secrets/propagation/test_encodings_table.py     # writes it again
"""

import argparse
import inspect
import os
import random
import string
from pathlib import Path

import pytest
from sizes import WHOLE
from written_forms import FORMS, Form

from hush_core.secrets.propagation.value_search import Hit, SearchTerm, ValueSearch

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
