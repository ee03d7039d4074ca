"""No expression that reads the text of repositories takes more time than is linear in it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush_core import linear
from tests.support.expression_work import Proof
from tests.support.rule_expressions import ROOMS, ROOT, expressions, uses, written_for_re2

ELSEWHERE = {
    # what they read is no text of a repository, or so short that no expression could be slow
    "hush_core.corpus.documents.mime:_ARCHIVED": "a header of a mail, cut at mime._VALUE",
    "hush_core.secrets.detectors.credential_files:_SECRET_OPTION": "the name of an option, 60 letters at most",
    "hush_core.secrets.detectors.credential_public:_NUMBERED": "possessive: each part is read once",
    "hush_core.secrets.propagation.imports.go:_REPLACE": "begins at a line's start",
    "hush_core.secrets.propagation.imports.manifests:_CONFIG": "a path",
    "hush_core.secrets.propagation.imports.python:_MODULE": "matched where a name begins; possessive",
    "hush_core.secrets.propagation.imports.python:_TAKEN": "matched where a name begins; possessive",
    "hush_core.secrets.propagation.imports.python:_TAKEN_WIDE": "matched where a name begins; possessive",
}


def proven(module, name, expression):
    proof = Proof(expression.pattern, expression.flags & (re.I | re.M | re.S))
    if proof.searches():
        return True
    methods = uses(name, module) - {"pattern"}
    return bool(methods) and all(
        method in ("match", "fullmatch") and proof.matches(whole=method == "fullmatch") for method in methods
    )


def test_expressions_of_re_are_proven_to_take_few_steps():
    left = {
        f"{module}:{name}"
        for module, name, expression in expressions(re.Pattern)
        if not proven(module, name, expression)
    }
    assert left == set(ELSEWHERE)


@pytest.mark.parametrize(
    "expression",
    [rb"[ \t]*x", rb"a*a*b", rb"(?:a|b|ab)*c", rb"(?:a*)*", rb"\s{0,400}\s{0,400}x", rb"x+x+y", rb"\"[^\"]*\"",
     rb"(a+)\1"],
)  # fmt: skip
def test_the_proof_refuses_what_is_slow(expression):
    assert not Proof(expression, 0).searches()


@pytest.mark.parametrize(
    "expression", [rb"[a-z]+", rb"<[^<>]*>", rb"(?m)^[ \t]*x", rb"a{3}b{0,9}", rb"[A-Z]+(?![a-z])"]
)
def test_the_proof_knows_what_is_not(expression):
    assert Proof(expression, 0).searches()


def test_expressions_are_compiled_where_the_proof_sees_them():
    """None is written in place: `re.search(pattern, …)` would be in no module's names."""
    inline = re.compile(
        r"\bre\.(?:search|match|fullmatch|findall|finditer|sub|split)\(r?b?r?\"((?:[^\"\\]|\\.)*)\""
    )
    slow = {}
    for room in ROOMS:
        for file in (ROOT / room.replace(".", "/")).rglob("*.py"):
            for found in inline.finditer(file.read_text()):
                if not Proof(found[1].encode(), 0).searches():
                    slow[f"{file.name}: {found[1]}"] = room
    assert set(slow) <= INLINE, slow


INLINE = {
    # on one value or one literal, which are short: 8 KiB at most
    "credential_looks.py: [A-Za-z][0-9!@#$^&*]+[A-Za-z]|[A-Za-z]{3,}[0-9@#$^&*]",
    "credential_looks.py: [a-z]{3,}(?: [a-z]{3,}){2,}",
    "credential_files.py: [!@#$%^&*?]|[A-Za-z]{3,}[0-9]{2,}\\Z",
    "credential_files.py: ^[./~]|[()]|/[^/]*/|::|\\.(?:[a-z]{2,4}|p12|p7[bcs])$",
    "credential_joined.py: \\S*\\Z",
    "priors.py: -----[^-]*-----|\\\\[nrt]|\\s",
}


def test_no_expression_for_re2_counts_so_far_that_each_byte_costs_microseconds():
    """RE2 reads a match backwards too, and keeps each number that its beginning may be away: with 4,096 of them, a
    file of long tokens took 100 s a MB. What has no bound is not counted."""
    counted = {
        f"{module}:{name}": max(map(int, re.findall(rb"(\d+),?\}", expression.pattern)), default=0)
        for module, name, expression in written_for_re2()
    }
    assert len(counted) > 300 and {name for name, most in counted.items() if most > 1024} == set()


@pytest.mark.slow
def test_every_expression_for_re2_can_be_said_in_it():
    for _, _, expression in written_for_re2():
        expression.search(b"")


WRITTEN = [
    rb"(?<![A-Za-z0-9_])(ab+)(?![A-Za-z0-9_])", rb"(?i)a(?:b|(c))*?d(?=e|\Z)", rb"^a|(?<!b)c|d$",
    rb"(?m)^(a)[ \t]*$",
    rb"\b\w+\b", rb"a{2,3}(?!aa)", rb"(?<=a)b|c", rb"[^\s]\S\D?", rb"(a)|(b)(c)?",
]  # fmt: skip


def spans(match):
    return match and (
        match.span(),
        [match.span(n) for n in range(1, len(match.groups()) + 1)],
        match.lastindex,
    )


@pytest.mark.few(3)
@pytest.mark.parametrize("pattern", WRITTEN)
@given(
    text=st.text("abcdeA _\n\t\v1\x85\xff", max_size=12), first=st.integers(0, 13), last=st.integers(0, 13)
)
def test_re2_finds_what_re_finds(pattern, text, first, last):
    text = text.encode("latin-1")
    old, new = re.compile(pattern), linear.compile(pattern)
    assert [spans(m) for m in new.finditer(text)] == [spans(m) for m in old.finditer(text)]
    assert spans(new.search(text, first, last)) == spans(old.search(text, first, last))
    assert spans(new.match(text, first, last)) == spans(old.match(text, first, last))
    assert new.sub(b"-", text) == old.sub(b"-", text)


@pytest.mark.parametrize("pattern", [rb"(a)\1", rb"a*+b", rb"a(?=b)c", rb"(?<!ab)c", rb"a(?!b*c)"])
def test_what_re2_cannot_say_is_an_error(pattern):
    with pytest.raises(ValueError, match="RE2 has no"):
        linear.compile(pattern).search(b"")
