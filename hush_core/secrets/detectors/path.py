"""Detector `path`: files whose path matches globs in gitignore syntax; the last matching glob wins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import re2

from hush_core.config import PathSecret
from hush_core.corpus import Corpus
from hush_core.errors import InputError
from hush_core.secrets.detectors.base import Detector, Finding
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.detectors.globs import translate

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


def detect(corpus: Corpus, entry: PathSecret, context: DetectorContext) -> Iterator[Finding]:
    """One secret: the files at the globs; in history mode every version that was ever there."""
    yield Finding(files=corpus.files_at(Globs(entry.globs, f"secrets.{entry.id}.globs").match))


DETECTOR = Detector("path", PathSecret, detect)
