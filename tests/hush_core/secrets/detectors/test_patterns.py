"""Globs, literals, patterns, CODEOWNERS: what they match, held to git, and what is refused without showing it."""

import random
import re
import traceback

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.errors import InputError
from hush_core.secrets.detectors import codeowners
from hush_core.secrets.detectors.codeowners import MAX_COMPARISONS, Codeowners, owned
from hush_core.secrets.detectors.globs import Glob, Globs, translate
from hush_core.secrets.detectors.literals import read_literals
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


def test_the_last_matching_glob_wins():
    globs = Globs(["lib/**", "!lib/api.py", "*.key", "!/lib/open/"], "w")
    hit = [p for p in ("lib/a.py", "lib/api.py", "x/y.key", "lib/open/z", "other") if globs.match(p)]
    assert hit == ["lib/a.py", "x/y.key"]


@pytest.mark.parametrize(
    ("globs", "matches"),
    [
        (["*.py", "!/src/"], False),
        (["!*.py", "/src/"], True),
        (["/src/", "!*.py"], False),
        (["!src/**", "*.py", "src/"], True),
        (["src"], True),
        (["/a.py"], False),
        (["a.py"], True),
        (["src/*"], True),
        (["sr?/[a-c].py"], True),
    ],
)
def test_order_alone_decides(globs, matches):
    """Pathspec's GitIgnoreSpec lets a pattern of files outrank a later one of folders; a missed file."""
    assert Globs(globs, "w").match("src/a.py") is matches


def test_odd_characters_do_not_slip_through():
    assert Globs(["trading/eu/**"], "w").match("trading/eu/a\ufffdb")


@pytest.mark.parametrize("glob", ["", "/", "!", "# comment", "   "])
def test_a_glob_that_can_match_nothing_is_refused(glob):
    with pytest.raises(InputError, match="matches nothing"):
        Globs(["ok", glob], "secrets.x.globs")


def test_literals_are_stripped_unique_and_numbered(tmp_path):
    file = tmp_path / "names.txt"
    file.write_bytes("\ufeffProject Falcon\r\n\n  caf\u00e9 \nProject Falcon\n#hash\n".encode())
    assert read_literals(file) == [(1, b"Project Falcon"), (3, "caf\u00e9".encode()), (5, b"#hash")]


@pytest.mark.parametrize("content", [b"", b"\n \n", b"good one\nxy\n", b"canary-\xff\n", None])
def test_bad_literal_files_are_refused_without_their_content(tmp_path, content):
    file = tmp_path / "names.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_literals(file)
    assert "canary" not in str(error.value) and "xy" not in str(error.value).replace(str(tmp_path), "")


PIECES = [
    "a", "b", "c", "/", "/", "*", "**", "?", "[ab]", "[!a]", "[^b-c]", "[[:alpha:]]", "[[:digit:]1]",
    "[]a]", "[a-]", "[-b]", "[+--]", "[!-0]", "[\\]b]", "\\*", "\\a", "-", ".", "1", "/**/", "**/", "/**",
    "[[:punct:]]", "[a", "]", "!", "[[:foo:]]", "[c-a]", "[a-c-e]", "[[:alpha:]-z]", "[[.a.]]",
]  # fmt: skip

NAMES = ["a", "b", "c", "-", ".", "1", "]", "ab", "ac", "*", "!", "e", "z"]


def paths(chance: random.Random) -> list[str]:
    made = {
        "/".join("".join(chance.choices(NAMES, k=chance.randint(1, 2))) for _ in range(chance.randint(1, 4)))
        for _ in range(200)
    }
    return sorted(p for p in made if not {".", ".."} & set(p.split("/")))


def ignored(repo, pattern: str, names: list[str]) -> set[str]:
    (repo.path / ".git" / "info" / "exclude").write_text(pattern + "\n")
    try:
        out = repo.git("check-ignore", "--no-index", "--stdin", "-z", stdin="\0".join(names).encode())
    except Exception as error:  # status 1: none is
        assert getattr(error, "returncode", 0) == 1
        return set()
    return set(out.split("\0")) - {""}


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(3))
def test_globs_match_what_git_matches(make_repo, seed):
    chance, repo = random.Random(seed), make_repo()
    (repo.path / ".git" / "info").mkdir(exist_ok=True)
    names = paths(chance)
    matched = 0
    for _ in range(120):
        pattern = "".join(chance.choices(PIECES, k=chance.randint(1, 5))).lstrip("!")
        try:
            glob = Glob(pattern)
            found = {name for name in names if glob.match(name)}
            assert found == {n for n in names if re2.search(translate(pattern)[0], n)}
        except ValueError:
            found = set()
        assert found == ignored(repo, pattern, names), pattern
        matched += bool(found)
    assert matched > 40


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("[[:upper:]]*.py", "Ab.py", True),
        ("[[:upper:]]*.py", "ab.py", False),
        ("x[]-]y", "x-y", True),
        ("x[]-]y", "x]y", True),
        ("k[!/]y", "k/y", False),
        ("a[+--]b", "a,b", True),
        ("caf?", "caf\u00e9", True),
    ],
)
def test_classes(glob, path, matches):
    assert Glob(glob).match(path) is matches


RULES = {
    "the last match wins": (
        "* @acme/all\n/src/ @acme/Risk @joe # note @not\n/src/open/ @acme/web\n/src/free/\n",
        {"README": {"@acme/all"}, "src/a/b.py": {"@acme/risk", "@joe"}, "src/open/x.py": {"@acme/web"},
         "src/free/x.py": set(),  # a pattern without owners takes ownership away
         "lib/src/a.py": {"@acme/all"}},
    ),
    "a later folder outranks an earlier suffix": ("*.py @py\n/src/ @risk\n", {"src/a.py": {"@risk"}}),
    "a later suffix outranks an earlier folder": ("/src/ @risk\n*.py @py\n", {"src/a.py": {"@py"}}),
    "a star at the end is not recursive": (
        "* @all\ndocs/* @writers\n", {"docs/a.md": {"@writers"}, "docs/deep/a.md": {"@all"}},
    ),
    "what lies directly in a folder of that name": (  # as GitHub says of `docs/*`
        "* @all\n**/python/* @py\n/* @top\n",
        {"python/a/python/x.h": {"@py"}, "python/x.h": {"@py"}, "a/python/x.h": {"@py"}, "python/a/x.h": {"@all"},
         "README": {"@top"}},
    ),
    "a folder at any depth": ("a/**/* @deep\n", {"a/b/c/d": {"@deep"}}),
    "two folders down": ("a/*/* @two\n", {"a/b/c/d": set(), "a/b/c": {"@two"}}),
    "a last line that no host understands": ("/src/ @risk\n[\n", {"src/a.py": {"@risk"}, "a.py": set()}),
    "such a line before others": ("[ @x\n/src/ @risk\n", {"src/a.py": {"@risk"}, "a.py": set()}),
    "escapes, comments and lines nobody understands": (
        "# c @x\n!docs/ @neg\n/with\\ space/ @s\n*.md mail@x.org\n\n\\#odd @hash\n",
        {"with space/a": {"@s"}, "a.md": {"mail@x.org"}, "docs/a": set(), "#odd": {"@hash"}},
    ),
    "sections each have a last match and defaults": (
        "*.py @base\n[Risk][2] @acme/risk\n/eu/\n/us/ @acme/us\n^[Docs] @docs\n*.md\n[risk]\n/asia/\n",
        {"eu/a.py": {"@base", "@acme/risk"}, "us/a.md": {"@acme/us", "@docs"}, "asia/x": {"@acme/risk"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_who_owns_what(rule):
    text, wanted = RULES[rule]
    parsed = Codeowners(text.encode())
    assert {path: set(parsed.owners(path)) for path in wanted} == wanted


def test_a_hostile_file_of_many_patterns_is_soon_refused(monkeypatch):
    """65,000 patterns for any path took minutes: each was compiled, and 2e9 comparisons were allowed."""
    assert MAX_COMPARISONS <= 100_000_000
    monkeypatch.setattr(codeowners, "MAX_COMPARISONS", 300_000)
    content = b"".join(b"*x%07d*y @t%d\n" % (i, i % 7) for i in range(16_384))
    parsed = Codeowners(content)
    with pytest.raises(InputError, match="comparisons") as error:
        for n in range(30):
            assert parsed.owners(f"src/{n}/file.py") == set()
    assert "kind: path" in error.value.hint
    assert not any(rule._used for section in parsed._sections for rule, _ in section._rules)


def test_any_file_may_own_and_case_does_not_matter():
    files = [Codeowners(b"* @acme/web\n"), Codeowners(b"/eu/ @Acme/Risk\n")]
    assert owned(files, ["@ACME/risk"], "eu/a")
    assert owned(files, ["acme/risk"], "eu/a")
    assert not owned(files, ["@acme/ris"], "eu/a")
    assert not owned(files, ["@acme/risk"], "us/a")
    assert not owned([], ["@acme/risk"], "eu/a")
