"""The file of patterns, what is refused without showing it, and where patterns match."""

import re
import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.errors import InputError
from hush_core.secrets.detectors.patterns import Pattern, find, read_patterns


@pytest.fixture
def read(tmp_path):
    def reader(*lines: str | bytes) -> list[Pattern]:
        file = tmp_path / "patterns.txt"
        file.write_bytes(b"\n".join(x if isinstance(x, bytes) else x.encode() for x in lines))
        return read_patterns(file)

    return reader


def texts(patterns: list[Pattern], content: bytes, **options) -> list[tuple[int, bytes]]:
    return [(n, content[a:b]) for n, a, b in find(patterns, content, **options)]


def test_names_comments_and_blanks(read):
    patterns = read("\ufeff# the vault", "vault: vk-([0-9a-f]{4})\r", "", "  ORDER-[0-9]+  ", r"\#tag", "a:b")
    assert [(p.name, p.line) for p in patterns] == [("vault", 2), ("line-4", 4), ("line-5", 5), ("line-6", 6)]
    found = texts(patterns, b"vk-12ef, ORDER-77 #tag a:b")
    assert found == [(0, b"12ef"), (1, b"ORDER-77"), (2, b"#tag"), (3, b"a:b")]


@pytest.mark.parametrize(
    "pattern",
    ["(canary", "canary)", "canary(?=x)", r"(canary)\1", "canary**", "[y-c]canary", "(?<canary", r"\pcanary",
     "canary{2000}", "(?:(?:canary{500}){500}){5}", "a)|(b", b"canary-\xff"],
)  # fmt: skip
def test_what_re2_refuses_is_named_by_line_only(read, capfd, pattern):
    with pytest.raises(InputError) as error:
        read("good", "", pattern)
    shown = str(error.value) + "".join(traceback.format_exception(error.value)) + "".join(capfd.readouterr())
    assert "canary" not in shown and "b'" not in str(error.value)
    assert isinstance(pattern, bytes) or "patterns.txt:3" in str(error.value)


@pytest.mark.parametrize(
    "pattern",
    ["a*", "(a|)", "^", "$", r"\b", r"\B", r"\A", r"\z", "(?:)", "x?y?", "^$", r"\b\B?", "()", "a|b{0}"],
)
def test_a_pattern_that_matches_the_empty_string_is_refused(read, pattern):
    with pytest.raises(InputError, match=r"patterns\.txt:1: the pattern matches the empty string"):
        read(f"name: {pattern}")


@pytest.mark.parametrize("pattern", ["a", r"\bfoo\b", "^x*y", "(a*)b", r"\n", "(?i)KEY", "[^a]", r"\x00"])
def test_one_that_needs_a_byte_is_not(read, pattern):
    assert len(read(pattern)) == 1


@pytest.mark.parametrize("content", [b"", b"# only\n\n", b"a: x\na: y\n", None])
def test_bad_files_are_refused(tmp_path, content):
    file = tmp_path / "patterns.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=r"patterns\.txt"):
        read_patterns(file)


FOUND = {
    "only a line feed ends a line": (["a\u2028b\x0bc"], "xa\u2028b\x0bc".encode(), [(0, "a\u2028b\x0bc".encode())]),
    "group one, else the whole match": (
        [r"key=(\w+)!", r"(?:AK|AS)[0-9]{2}", "(b)|cc", "id<(x*)>"], b"key=a7c! AK12 b cc id<xx> id<>",
        [(0, b"a7c"), (1, b"AK12"), (2, b"b"), (2, b"cc"), (3, b"xx"), (3, b"id<>")],
    ),
    "a delimiter serves two matches": ([r";(\d+);"], b";1;22;333;", [(0, b"1"), (0, b"22"), (0, b"333")]),
    "no word begins behind a match": ([r"\bab"], b"abab ab", [(0, b"ab")] * 2),
    "the text begins once": ([r"\Aab"], b"abab", [(0, b"ab")]),
    "odd bytes": ([r"key=(\pL9)"], b"\xff\x00\xc3 " + "é key=ü9".encode() + b" \xff", [(0, "ü9".encode())]),
    "slow for engines that backtrack": ([r"(?:a|a)*b", r"(?:x+x+)+y"], b"a" * 100_000 + b"x" * 100_000, []),
}  # fmt: skip


@pytest.mark.parametrize("what", FOUND)
def test_what_a_pattern_finds(read, what):
    patterns, content, found = FOUND[what]
    assert texts(read(*patterns), content) == found


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_lines_whatever_ends_them(read, newline):
    content = newline.join([b"x", b"token: abc", b"end", b"token: d", b""])
    patterns = read(r"t: ^token: (\w+)$", r"two: end\ntoken", r"c: (abc)\s", "dot: x.+")
    found = texts(patterns, content)
    assert {f for f in found if f[0] < 3} == {
        (0, b"abc"),
        (0, b"d"),
        (1, b"end" + newline + b"token"),
        (2, b"abc"),
    }


@settings(derandomize=True, deadline=None, max_examples=examples(200))
@given(
    content=st.lists(st.sampled_from([b"a", b"b", b"1", b" ", b"\r\n", b"\n", b"\r", b"\xff"])).map(b"".join)
)
def test_agrees_with_pythons_engine_where_both_mean_the_same(tmp_path_factory, content):
    file = tmp_path_factory.getbasetemp() / "same.txt"
    sources = [rb"a+b?", rb"\b[ab]{2}\b", rb"(?:ab|a1)+", rb"[ab]1|b"]
    file.write_bytes(b"\n".join(sources))
    expected = [(n, *m.span()) for n, s in enumerate(sources) for m in re.finditer(s, content)]
    assert list(find(read_patterns(file), content)) == expected


def test_too_many_matches_are_refused_not_cut_short(read):
    patterns = read("[a-z]", "rare: q9")
    assert len(texts(patterns, b"abc", most=3)) == 3
    with pytest.raises(
        InputError, match=r"src/a\.py: holds more than 3 matches of pattern 'line-1' \(line 1\)"
    ):
        list(find(patterns, b"abcd", "src/a.py", most=3))


def test_repr_holds_no_pattern(read):
    assert repr(read("code: canary")[0]) == "Pattern(name='code', line=1)"
