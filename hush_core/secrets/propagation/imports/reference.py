"""What a file says it imports, as written; and the table through which files find each other."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from hush_core.secrets.propagation.imports.path import folder_of, joined


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference as written, without quotation marks.

    `kind` is the language's own word for it (each language's module lists its kinds); `names` are what a
    Python `from` import takes. No repr shows a name: in a protected file it is part of what is protected.
    """

    kind: str
    name: str = field(repr=False)
    names: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Source:
    """One file of the repository with what was read from it."""

    index: int
    path: str
    language: str
    content: bytes = field(repr=False)
    references: tuple[Reference, ...] = field(default=(), repr=False)

    @property
    def folder(self) -> str:
        return folder_of(self.path)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def beside(self, name: str) -> tuple[str, ...]:
        """The key of the file that a relative path names, seen from this one; none outside the repository."""
        path = joined(self.folder, name)
        return () if path is None else (f"fs/{path}",)


class Keys:
    """Names under which files can be reached: a file provides keys, a reference asks for them.

    Edges are kept as file → key → files, never as pairs of files: a thousand files called `utils` that each
    import `utils` cost two thousand entries, not a million.
    """

    def __init__(self) -> None:
        self._files: dict[str, list[int]] = defaultdict(list)

    def provide(self, key: str, file: int) -> None:
        files = self._files[key]
        if not files or files[-1] != file:
            files.append(file)

    def files(self, key: str) -> list[int]:
        return self._files.get(key, [])

    def known(self, keys: Iterable[str]) -> list[str]:
        return [key for key in keys if key in self._files]


class Skipper:
    """Skips blanks and C-style comments from a position; bounded over a whole content by a budget."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._closers: list[int] | None = None
        self.budget = 256 + len(content) // 8

    @property
    def spent(self) -> bool:
        """Whether the budget is: references may be missing from there on."""
        return self.budget <= 0

    def spend(self) -> bool:
        """Take one from the budget; false once it is empty."""
        self.budget -= 1
        return self.budget > 0

    def __call__(self, at: int) -> int:
        content, size = self._content, len(self._content)
        while at < size and self.budget > 0:
            if content[at] in b" \t\r\n\f\v":
                at += 1
            elif content.startswith(b"//", at):
                self.budget -= 1
                at = self._after(b"\n", at + 2)
            elif content.startswith(b"/*", at):
                self.budget -= 1
                at = self._after(b"*/", at + 2)
            else:
                break
        return at

    def _after(self, mark: bytes, at: int) -> int:
        if mark == b"\n":
            end = self._content.find(mark, at, at + 4096)
            return at + 4096 if end < 0 else end + 1
        if self._closers is None:
            self._closers = [match.start() for match in re.finditer(re.escape(mark), self._content)]
        n = bisect_right(self._closers, at - 1)
        return self._closers[n] + 2 if n < len(self._closers) else len(self._content)
