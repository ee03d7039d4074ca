"""Detector `codeowners`: files that CODEOWNERS gives to a team.

A repository may hold several CODEOWNERS files, and hosts disagree on which one counts: a file that ANY of
them gives to the team holds the secret. Within one file (and, on GitLab, one section) the last match wins.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from hush_core.config import CodeownersSecret
from hush_core.corpus import Corpus
from hush_core.secrets.detector import Detector, Finding
from hush_core.secrets.paths import Glob
from hush_core.secrets.tools import Tools

_SECTION = re.compile(r"^\^?\[([^\]]+)\](?:\[\d+\])?(.*)$")
_WORDS = re.compile(r"(?:\\.|\S)+")


@dataclass
class _Section:
    rules: list[tuple[_Rule, frozenset[str]]] = field(default_factory=list)
    defaults: frozenset[str] = frozenset()


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
                    current.rules.append((_Rule(words[0]), _owners(words[1:]) or current.defaults))
        self._sections = list(sections.values())
        self._known: dict[str, frozenset[str]] = {}

    def owners(self, path: str) -> frozenset[str]:
        """The casefolded owners (`@org/team`, `@user`, e-mail) of a path; each path is matched once."""
        found = self._known.get(path)
        if found is None:
            parts = (
                next((who for rule, who in reversed(section.rules) if rule.match(path)), frozenset())
                for section in self._sections
            )
            found = self._known[path] = frozenset().union(*parts)
        return found


class _Rule:
    """One pattern; `docs/*` is not recursive here, as it is in gitignore."""

    def __init__(self, pattern: str) -> None:
        self._glob = Glob(pattern)
        self._below = Glob(f"{pattern}/**") if pattern.endswith("/*") else None

    def match(self, path: str) -> bool:
        return self._glob.match(path) and not (self._below is not None and self._below.match(path))


def owned(files: Iterable[Codeowners], teams: Iterable[str], path: str) -> bool:
    """Whether any of the CODEOWNERS files gives `path` to one of the teams (case does not matter)."""
    wanted = {t.casefold() for t in teams}
    wanted |= {f"@{t}" for t in wanted if not t.startswith("@") and "@" not in t}
    return any(not wanted.isdisjoint(file.owners(path)) for file in files)


def detect(corpus: Corpus, entry: CodeownersSecret, tools: Tools) -> Iterator[Finding]:
    """One secret: the files that the revision's CODEOWNERS gives to the teams; in history mode, paths of old
    too."""
    files = []
    for t, tree in enumerate(corpus.trees):
        owners = [_parsed(content) for content in tree.owners]
        if owners:
            files.append(corpus.files_at(lambda path, o=owners: owned(o, entry.teams, path), [t]))
    yield Finding(files=np.concatenate(files) if files else ())


@lru_cache(maxsize=16)
def _parsed(content: bytes) -> Codeowners:
    """Entries of one config ask for the same files."""
    return Codeowners(content)


DETECTOR = Detector("codeowners", CodeownersSecret, detect)


def _words(line: str) -> list[str]:
    """The words before a comment; a backslash keeps the character after it (a space, a #)."""
    words = []
    for word in _WORDS.findall(line):
        if word.startswith("#"):
            break
        words.append(word)
    return words


def _owners(words: list[str]) -> frozenset[str]:
    return frozenset(w.casefold() for w in words if "@" in w)
