"""Detector `codeowners`: files that CODEOWNERS gives to a team.

A repository may hold several CODEOWNERS files, and hosts disagree on which one counts: a file that ANY of
them gives to the team holds the secret. Within one file (and, on GitLab, one section) the last match wins.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from heapq import merge
from itertools import islice, takewhile

import numpy as np

from hush_core.config import CodeownersSecret
from hush_core.corpus import Corpus
from hush_core.errors import InputError
from hush_core.secrets.detectors.base import Detector, Finding
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.detectors.globs import Glob

_SECTION = re.compile(r"^\^?\[([^\]]+)\](?:\[\d+\])?(.*)$")
_WORDS = re.compile(r"(?:\\.|\S)+")
_SPECIAL = frozenset("*?[\\")
_LITERAL = re.compile(r"(?<!\\)[A-Za-z0-9_.]+")
_DEPTH = 32
_COMPILING = 200
"""What the first comparison of a pattern costs, in others."""


MAX_COMPARISONS = 100_000_000
"""Of patterns of one CODEOWNERS file with paths: under a minute. A rule that begins with the name of a folder
is compared with the paths below that only, so ten thousand rules for half a million paths stay far below."""


class _Section:
    """Rules in order, found again by the folder that their pattern begins with."""

    def __init__(self) -> None:
        self.defaults: frozenset[str] = frozenset()
        self._rules: list[tuple[_Rule, frozenset[str]]] = []
        self._below: dict[str, list[int]] = {}

    def add(self, pattern: str, owners: frozenset[str]) -> None:
        rule = _Rule(pattern)  # a pattern that no host understands leaves nothing behind
        self._below.setdefault(_folder(pattern), []).append(len(self._rules))
        self._rules.append((rule, owners or self.defaults))

    def owners(self, path: str) -> tuple[frozenset[str], int]:
        """The owners that the last matching rule gives, and how many rules were compared."""
        compared = 1
        here = [self._below[f] for f in _folders(path) if f in self._below]
        for number in merge(*map(reversed, here), reverse=True):
            rule, who = self._rules[number]
            compared += 1 + len(path) // 256 + (_COMPILING if rule.begins(path) else 0)
            if rule.match(path):
                return who, compared
        return frozenset(), compared


class Codeowners:
    """One parsed CODEOWNERS file; lines that no host understands are left out."""

    def __init__(self, content: bytes) -> None:
        sections: dict[str, _Section] = {}
        current = sections.setdefault("", _Section())
        for line in content.decode("utf-8", "replace").splitlines():
            words = _words(line)
            if not words:
                continue
            heading = _SECTION.match(line.strip())
            if heading:
                current = sections.setdefault(heading[1].strip().casefold(), _Section())
                current.defaults |= _owners(_words(heading[2]))
                continue
            if not words[0].startswith("!"):
                with contextlib.suppress(ValueError):
                    current.add(words[0], _owners(words[1:]))
        self._sections = list(sections.values())
        self._known: dict[str, frozenset[str]] = {}
        self._compared = 0

    def owners(self, path: str) -> frozenset[str]:
        """The casefolded owners (`@org/team`, `@user`, e-mail) of a path; each path is matched once.

        Raises:
            InputError: the file has too many rules for the number of paths.
        """
        found = self._known.get(path)
        if found is None:
            found = frozenset()
            for section in self._sections:
                who, compared = section.owners(path)
                found |= who
                self._compared += compared
            if self._compared > MAX_COMPARISONS:
                raise InputError(
                    "CODEOWNERS",
                    f"takes over {MAX_COMPARISONS} comparisons of its patterns with the paths",
                    "begin its patterns with a folder (/src/…), or name the files by kind: path",
                )
            self._known[path] = found
        return found


def _folder(pattern: str) -> str:
    """The folder, or file, at or below which all lies that a pattern matches; "" where that may be anywhere."""
    if "/" not in pattern[:-1] or "//" in pattern or pattern != pattern.strip():
        return ""
    named = takewhile(
        lambda part: part not in (".", "..") and not _SPECIAL & set(part), pattern.strip("/").split("/")
    )
    return "/".join(islice(named, _DEPTH))


def _folders(path: str) -> list[str]:
    """ "" and all folders above a path, and the path itself, down to _DEPTH."""
    parts = path.split("/", _DEPTH)[:_DEPTH]
    return ["", *("/".join(parts[: n + 1]) for n in range(len(parts)))]


class _Rule:
    """One pattern; one that ends in `/*` matches what lies directly in such a folder, at no depth below it.

    So GitHub and GitLab document it, where gitignore takes a folder that matches with all below: `**/python/*` is
    `python/a/python/x.h`, for the inner folder, and not `python/a/x.h`.
    """

    __slots__ = ("_folder", "_glob", "_literal", "_used")

    def __init__(self, pattern: str) -> None:
        self._used = False
        self._literal = "" if "[" in pattern else max(_LITERAL.findall(pattern), key=len, default="")
        self._folder = pattern.endswith("/*")
        self._glob = Glob(f"{pattern[:-1]}{_CHILD}" if self._folder else pattern)

    def begins(self, path: str) -> bool:
        """Whether this comparison is the first that takes the pattern itself, not only its longest word."""
        return not self._used and self._literal in path

    def match(self, path: str) -> bool:
        if self._literal not in path:
            return False
        self._used = True
        return self._glob.match(f"{path.rpartition('/')[0]}/{_CHILD}".lstrip("/") if self._folder else path)


_CHILD = "\x01"
"""In place of the last part of a path: no folder can have that name, as shown."""


def owned(files: Iterable[Codeowners], teams: Iterable[str], path: str) -> bool:
    """Whether any of the CODEOWNERS files gives `path` to one of the teams (case does not matter)."""
    wanted = {t.casefold() for t in teams}
    wanted |= {f"@{t}" for t in wanted if not t.startswith("@") and "@" not in t}
    return any(not wanted.isdisjoint(file.owners(path)) for file in files)


def detect(corpus: Corpus, entry: CodeownersSecret, context: DetectorContext) -> Iterator[Finding]:
    """One secret: the files that the revision's CODEOWNERS gives to the teams; in history mode, paths of old
    too."""
    files = []
    for t, tree in enumerate(corpus.trees):
        owners = [_parsed(content) for content in tree.owners]  # entries of one config ask for the same files
        if owners:
            files.append(corpus.files_at(lambda path, o=owners: owned(o, entry.teams, path), [t]))
    yield Finding(files=np.concatenate(files) if files else ())


_parsed = lru_cache(maxsize=16)(Codeowners)
DETECTOR = Detector("codeowners", CodeownersSecret, detect)


def _words(line: str) -> list[str]:
    """The words before a comment; a backslash keeps the character after it (a space, a #)."""
    return list(takewhile(lambda word: not word.startswith("#"), _WORDS.findall(line)))


def _owners(words: list[str]) -> frozenset[str]:
    return frozenset(w.casefold() for w in words if "@" in w)
