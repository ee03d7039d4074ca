"""Detector `path`: files whose path matches globs in gitignore syntax; the last matching glob wins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import re2
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from hush_core.config import PathSecret
from hush_core.corpus import Corpus
from hush_core.errors import InputError
from hush_core.secrets.detectors.base import Detector, Finding
from hush_core.secrets.detectors.context import DetectorContext

_ANYWHERE = "^(?:.+/)?"
_REPEATS = re.compile(r"[*+]")


class Glob:
    """One gitignore pattern, `include` False where it begins with `!`.

    A match takes time linear in the path, whatever the pattern: both may come out of a hostile repository,
    and Python's own engine takes hours over `*a*a*a*a*b` and a long name.

    Raises:
        ValueError: it can match nothing, or cannot be read.
    """

    def __init__(self, glob: str) -> None:
        regex, include = GitIgnoreSpecPattern.pattern_to_regex(glob)
        if regex is None or include is None:
            raise ValueError("matches nothing")
        self.include = bool(include)
        # Python's engine is ten times as fast, and linear where nothing can be repeated in two ways
        simple = "[" not in glob and len(_REPEATS.findall(regex.removeprefix(_ANYWHERE))) <= 1
        try:
            self._find = re.compile(regex).search if simple else re2.compile(regex, _quiet()).search
        except (re.error, re2.error):
            raise ValueError("cannot be read") from None

    def match(self, path: str) -> bool:
        """Whether the pattern, `!` aside, covers `path` or a folder above it."""
        return self._find(path) is not None


@cache
def _quiet() -> Any:
    options = re2.Options()
    options.log_errors = False  # the library would print the pattern
    return options


class Globs:
    """Several globs. Not pathspec's own combination: it lets `*.py` outrank a later `/src/` (a missed file).

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


def detect(corpus: Corpus, entry: PathSecret, context: DetectorContext) -> Iterator[Finding]:
    """One secret: the files at the globs; in history mode every version that ever stood there."""
    yield Finding(files=corpus.files_at(Globs(entry.globs, f"secrets.{entry.id}.globs").match))


DETECTOR = Detector("path", PathSecret, detect)
