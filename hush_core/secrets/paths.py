"""Detector `path`: files whose path matches globs in gitignore syntax; the last matching glob wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pathspec import GitIgnoreSpec

from hush_core.config import PathSecret
from hush_core.corpus import Corpus
from hush_core.errors import InputError
from hush_core.secrets.detector import Detector, Finding
from hush_core.secrets.tools import Tools


class Glob:
    """One gitignore pattern, `include` False where it begins with `!`.

    Raises:
        ValueError: it can match nothing.
    """

    def __init__(self, glob: str) -> None:
        patterns = list(GitIgnoreSpec.from_lines([glob]).patterns)
        if len(patterns) != 1 or patterns[0].include is None:
            raise ValueError("matches nothing")
        self._pattern = patterns[0]
        self.include = bool(self._pattern.include)

    def match(self, path: str) -> bool:
        """Whether the pattern, `!` aside, covers `path` or a folder above it."""
        return self._pattern.match_file(path) is not None


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
                mend = "use gitignore syntax, such as src/**"
                raise InputError(where, f"the glob {glob!r} matches nothing", mend) from None

    def match(self, path: str) -> bool:
        """Whether the last glob that matches `path` (as `corpus.match_path` gives it) is no `!` one."""
        return next((g.include for g in reversed(self._globs) if g.match(path)), False)


def detect(corpus: Corpus, entry: PathSecret, tools: Tools) -> Iterator[Finding]:
    """One secret: the files at the globs; in history mode every version that ever stood there."""
    yield Finding(files=corpus.files_at(Globs(entry.globs, f"secrets.{entry.id}.globs").match))


DETECTOR = Detector("path", PathSecret, detect)
