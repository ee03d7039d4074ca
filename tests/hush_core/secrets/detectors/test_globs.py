"""Globs match what git matches: compared with `git check-ignore` on random patterns and paths."""

import random

import pytest
import re2

from hush_core.secrets.detectors.globs import Glob, translate

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
