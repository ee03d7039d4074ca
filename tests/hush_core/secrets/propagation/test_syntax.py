"""The grammars load, trees tell code from strings and comments, and hostile input meets a limit, not a crash."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.secrets.propagation import syntax
from hush_core.secrets.propagation.syntax import LANGUAGES, LIMITS, in_code, parse

QUOTES = {
    "python": b"MARK\n# MARK\nx = 'MARK'\n'''\nMARK\n'''\nf'MARK {MARK} MARK'\nMARK\n",
    "javascript": b"MARK;\n// MARK\n/* MARK */\n'MARK';\n`MARK ${MARK} MARK`;\n/MARK/;\nMARK;\n"
    b"const e = <b>t</b>;\n",
    "typescript": b"MARK;\n// MARK\n/* MARK */\n'MARK';\n`MARK ${MARK} MARK`;\nMARK;\n"
    b"const a: number = <number>1;\n",
    "tsx": b"MARK;\n// MARK\n'MARK';\n`MARK ${MARK}`;\nconst e = <b>MARK {MARK}</b>;\n",
    "go": b'package p\nvar x = MARK\n// MARK\n/* MARK */\nvar y = "MARK"\nvar z = `MARK`\nvar w = MARK\n',
    "java": b'class A { int x = MARK; // MARK\n /* MARK */ String s = "MARK"; int y = MARK; }\n',
    "rust": b'fn f() { MARK; // MARK\n /* MARK */ "MARK"; r#"MARK"#; MARK; }\n',
    "c": b'int x = MARK; // MARK\n/* MARK */ char *s = "MARK"; int y = MARK;\n',
    "cpp": b'int x = MARK; // MARK\n/* MARK */ auto s = R"(MARK)"; auto t = "MARK"; int y = MARK;\n',
}
IN_CODE = {
    "python": [0, 5, 7],
    "javascript": [0, 5, 8],
    "typescript": [0, 5, 7],
    "tsx": [0, 4, 6],
    "go": [0, 5],
    "java": [0, 4],
    "rust": [0, 5],
    "c": [0, 4],
    "cpp": [0, 5],
}
NESTED = [b"(", b"[", b"{", b"f(", b"x<", b"if(", b"((a)", b"`${", b"*", b"\\\n", b";(", b"[,"]


def positions(content: bytes) -> list[int]:
    return [i for i in range(len(content)) if content.startswith(b"MARK", i)]


def test_there_is_a_sample_of_every_language():
    assert set(QUOTES) == set(IN_CODE) == LANGUAGES


@pytest.mark.parametrize("grammar", sorted(LANGUAGES))
def test_strings_and_comments_are_told_from_code(grammar):
    content = QUOTES[grammar]
    new_labels = positions(content)
    code, status = in_code(grammar, content, new_labels)
    assert status == ""
    assert [n for n, at in enumerate(new_labels) if at in code] == IN_CODE[grammar]


@pytest.mark.parametrize("grammar", sorted(LANGUAGES))
def test_positions_asked_for_one_by_one_give_the_same(grammar):
    content = QUOTES[grammar] * 30 if grammar != "go" else QUOTES[grammar]
    new_labels = positions(content)
    together, _ = in_code(grammar, content, new_labels)
    assert together == {at for at in new_labels if in_code(grammar, content, [at])[0]}


def test_what_does_not_parse_keeps_every_position():
    content = b"def f(:\n  '''\nMARK\n"
    assert in_code("python", content, positions(content)) == (set(positions(content)), "errors")


def test_limits_are_named(monkeypatch):
    assert parse("python", b"(" * 1000).limit == "too_deep"
    assert parse("java", b"x<" * 1000).limit == "too_deep"
    assert parse("java", b"int a = b < c;\n" * 1000).limit == ""
    monkeypatch.setattr(syntax, "MAX_BYTES", 10)
    assert parse("python", b"x = 1\n" * 3).limit == "too_large"
    monkeypatch.undo()
    monkeypatch.setattr(syntax, "STEPS_BASE", 0)
    monkeypatch.setattr(syntax, "STEPS_A_BYTE", 0)
    assert parse("python", b"x = 1\n" * 300).limit == "too_many_steps"
    monkeypatch.undo()
    monkeypatch.setattr(syntax, "SECONDS_BASE", -1)
    assert parse("python", b"x = 1\n" * 3000).limit == "too_slow"
    monkeypatch.undo()
    assert parse("python", b"x = 1\n" * 3000).limit == ""  # a stopped parse leaves nothing behind


def test_the_clock_is_asked_after_every_step(monkeypatch):
    """Of 1 MB of continued lines a hundred actions take half a second."""
    monkeypatch.setattr(syntax, "SECONDS_BASE", -1)
    guard = syntax._Guard(0)
    assert guard() and guard.limit == "too_slow"


def test_a_megabyte_of_nesting_ends_in_every_language():
    """In a process of its own, with a small stack: a crash would take the tests with it."""
    program = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (60, 60))\n"
        "from hush_core.secrets.propagation import syntax\n"
        "syntax.SECONDS_BASE, syntax.SECONDS_A_BYTE = 0.03, 0\n"
        "for unit in (b'(', b'x<', b'*', b'if(', b'a\\\\\\n', b'`${'):\n"
        "    content = (unit * 1_000_000)[:1_000_000]\n"
        "    for g in sorted(syntax.LANGUAGES):\n"
        "        syntax.in_code(g, content, [len(content) - 1])\n"
        "syntax.MAX_DEPTH = 10**9\n"
        "for unit in (b'(', b'['):\n"
        "    for g in sorted(syntax.LANGUAGES):\n"
        "        syntax.parse(g, (unit * 1_000_000)[:1_000_000])\n"
        "print('ended')\n"
    )
    done = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -s 512; exec "$0" -c "$1"', sys.executable, program],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.split() == ["ended"]


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(
    st.sampled_from(sorted(LANGUAGES)),
    st.lists(
        st.sampled_from([*NESTED, b"'", b'"', b"\xff", b"\0", b"\n", b"import a", b"/*", b"class A"]),
        max_size=60,
    ),
)
def test_any_bytes_give_a_tree_or_a_limit(grammar, pieces):
    content = b"".join(pieces)
    parsed = parse(grammar, content)
    assert (parsed.tree is None) == (parsed.limit in LIMITS) and parsed.limit in ("", *LIMITS)
    code, status = in_code(grammar, content, range(len(content)))
    assert code <= set(range(len(content)))
    assert not status or code == set(range(len(content)))
