"""Globs in gitignore syntax, as regular expressions by the rules of git itself (`wildmatch.c`, `dir.c`).

Not pathspec's: it reads `[[:alpha:]]` and `[]-]` otherwise than git, and a class that git takes for unmatched as an
error. Held to `git check-ignore` on random patterns and paths (tests/hush_core/secrets/detectors/test_patterns.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import re2

from hush_core.errors import InputError

_CLASSES = {
    "alpha": "azAZ", "digit": "09", "alnum": "azAZ09", "upper": "AZ", "lower": "az", "space": "\t\r  ",
    "blank": "\t\t  ", "punct": "!/:@[`{~", "xdigit": "09afAF", "cntrl": "\0\x1f\x7f\x7f", "print": " ~",
    "graph": "!~",
}  # fmt: skip
"""The first and the last character of each range of a named class."""
_NAMED = re.compile(r"\[:([^\]]*):\]")
_SPECIAL = re.compile(r"[*?\[\\]")
_ANYWHERE = "(?s)^(?:.*/)?"
_REPEATS = re.compile(r"[*+]")


class Glob:
    """One gitignore pattern, `include` False where it begins with `!`.

    A match takes time linear in the path, whatever the pattern: both may come out of a hostile repository,
    and Python's own engine takes hours over `*a*a*a*a*b` and a long name.

    Raises:
        ValueError: it can match nothing, or cannot be read.
    """

    __slots__ = ("_regex", "_search", "include")

    def __init__(self, glob: str) -> None:
        self._regex, self.include = translate(glob)
        self._search: Callable[[str], object] | None = None

    def match(self, path: str) -> bool:
        """Whether the pattern, `!` aside, covers `path` or a folder above it."""
        if self._search is None:  # compiled only now: a CODEOWNERS file may hold a hundred thousand
            self._search = self._compiled()
        return self._search(path) is not None

    def _compiled(self) -> Callable[[str], object]:
        # Python's engine is ten times as fast, and linear where nothing can be repeated in two ways
        body = self._regex.removeprefix(_ANYWHERE)
        simple = "[" not in body.replace("[^/]", "") and len(_REPEATS.findall(body)) <= 1
        try:
            return re.compile(self._regex).search if simple else re2.compile(self._regex, _quiet()).search
        except (re.error, re2.error):
            return lambda path: None  # larger than RE2 takes: as git, which gives up on it


@cache
def _quiet() -> Any:
    options = re2.Options()
    options.log_errors = False  # the library would print the pattern
    return options


class Globs:
    """Several globs; the last that matches decides, one of files and one of folders alike.

    Args:
        globs: gitignore patterns; `!` takes back what an earlier one matched.
        where: the config key, for messages.

    Raises:
        InputError: a glob that can match nothing (a misspelt glob must not pass for "no file").
    """

    def __init__(self, globs: Sequence[str], where: str) -> None:
        self._globs = []
        for glob in globs:
            try:
                self._globs.append(Glob(glob))
            except ValueError:
                hint = "use gitignore syntax, such as src/**"
                raise InputError(
                    where, f"the glob {glob!r} matches nothing or cannot be read", hint
                ) from None

    def match(self, path: str) -> bool:
        """Whether the last glob that matches `path` (as `corpus.match_path` gives it) is no `!` one."""
        return next((g.include for g in reversed(self._globs) if g.match(path)), False)


def translate(pattern: str) -> tuple[str, bool]:
    """(regular expression for `search`, include): it finds what is at the pattern or below; RE2 reads it too.

    Raises:
        ValueError: the pattern can match nothing.

    >>> translate("/src/*.py"), translate("!docs/")
    (('(?s)^src/[^/]*\\\\.py(?:/|$)', True), ('(?s)^(?:.*/)?docs/', False))
    """
    pattern = _unspaced(pattern)
    if not pattern or pattern.startswith("#"):
        raise ValueError("matches nothing")
    include = not pattern.startswith("!")
    pattern = pattern.removeprefix("!")
    folder = pattern.endswith("/") and not pattern.endswith("\\/")
    pattern = pattern.removesuffix("/") if folder else pattern
    anchored = "/" in pattern
    pattern = pattern.removeprefix("/")
    if not pattern:
        raise ValueError("matches nothing")
    return f"(?s)^{'' if anchored else '(?:.*/)?'}{_body(pattern)}{'/' if folder else '(?:/|$)'}", include


def _unspaced(pattern: str) -> str:
    """Without blanks at the end that no backslash keeps."""
    end = len(pattern)
    while end and pattern[end - 1] == " " and not (end > 1 and pattern[end - 2] == "\\"):
        end -= 1
    return pattern[:end]


def _body(pattern: str) -> str:
    out, i, n = [], 0, len(pattern)
    while i < n:
        c = pattern[i]
        if c == "*":
            j = i
            while j < n and pattern[j] == "*":
                j += 1
            # git cuts off what is no wildcard before it looks, so that the first one always begins its pattern
            starts = pattern[i - 1 : i] in ("", "/") or not _SPECIAL.search(pattern[:i])
            if j - i > 1 and starts and pattern[j : j + 1] == "/":
                out.append("(?:.*/)?")  # any folders, or none
                j += 1
            elif j - i > 1 and starts and j == n:
                out.append(".*")
            else:
                out.append("[^/]*")
            i = j
        elif c == "?":
            out.append("[^/]")
            i += 1
        elif c == "[":
            found, i = _class(pattern, i)
            out.append(found)
        else:
            if c == "\\":
                i += 1
                if i == n:  # git: a backslash at the end makes the pattern invalid
                    raise ValueError("matches nothing")
            out.append(re.escape(pattern[i]))
            i += 1
    return "".join(out)


def _class(pattern: str, i: int) -> tuple[str, int]:
    """The class that begins at `i`, and where it ends; a slash is in none.

    Raises:
        ValueError: it does not end, is empty, or names a class that there is not.
    """
    at, before = i + 1, ""
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    first, ranges = at, []
    while at == first or pattern[at : at + 1] != "]":
        if named := _NAMED.match(pattern, at):
            if named[1] not in _CLASSES:
                raise ValueError("matches nothing")
            ranges += zip(_CLASSES[named[1]][::2], _CLASSES[named[1]][1::2], strict=True)
            before, at = "", named.end()
            continue
        c, after = _taken(pattern, at)
        if pattern[at] == "-" and before and pattern[after : after + 1] not in ("", "]"):
            c, after = _taken(pattern, after)
            ranges.append((before, c))
            before, at = "", after
        else:
            ranges.append((c, c))
            before, at = c, after
    if not negated:  # RE2 has no lookahead: the slash is taken out of the ranges
        ranges = [part for low, high in ranges for part in ((low, min(high, ".")), (max(low, "0"), high))]
    inside = "".join(f"{_one(low)}-{_one(high)}" for low, high in ranges if low <= high)
    if not inside and not negated:
        raise ValueError("matches nothing")
    return f"[^/{inside}]" if negated else f"[{inside}]", at + 1


def _taken(pattern: str, at: int) -> tuple[str, int]:
    """The character of a class at a place, and where the next one is; a backslash keeps what follows it."""
    at += pattern[at : at + 1] == "\\"
    if at >= len(pattern):
        raise ValueError("matches nothing")
    return pattern[at], at + 1


def _one(c: str) -> str:
    return c if c.isalnum() or ord(c) > 127 else f"\\x{ord(c):02x}"
