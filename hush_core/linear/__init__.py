"""Expressions for the text of repositories, which anyone may have written: RE2, in time linear in the text.

`compile` takes what Python's `re` takes. RE2 has no lookaround, so a lookbehind for one character at the beginning
and a lookahead at the end are read as context: empty groups mark where the match begins and ends. Anything else
that RE2 lacks (references, possessive repeats, lookaround between other parts) is an error. For that, `re` may
serve if tests/hush_core/test_linear.py proves that it takes few steps, or a reader written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import re2

from hush_core.linear.form import Translation

_ANCHOR = re2._re2.RE2.Anchor
_SEARCH, _MATCH, _WHOLE = _ANCHOR.UNANCHORED, _ANCHOR.ANCHOR_START, _ANCHOR.ANCHOR_BOTH
_NONE = (-1, -1)
_MEMORY = 32 << 20


class Match:
    """A match, as Python's: groups are those of the expression as it was written."""

    __slots__ = ("_spans", "_text")

    def __init__(self, text: bytes, spans: list[tuple[int, int]]) -> None:
        self._text, self._spans = text, spans

    def __getitem__(self, group: int) -> bytes:
        first, last = self._spans[group]
        return self._text[first:last] if first >= 0 else None  # type: ignore[return-value]

    def group(self, group: int = 0) -> bytes:
        return self[group]

    def groups(self) -> tuple[bytes, ...]:
        return tuple(self[group] for group in range(1, len(self._spans)))

    def span(self, group: int = 0) -> tuple[int, int]:
        return self._spans[group]

    def start(self, group: int = 0) -> int:
        return self._spans[group][0]

    def end(self, group: int = 0) -> int:
        return self._spans[group][1]

    @property
    def string(self) -> bytes:
        return self._text

    @property
    def lastindex(self) -> int | None:
        """The group that was closed last: of those that end last, the outermost."""
        ends = [last for _, last in self._spans[1:]]
        return ends.index(max(ends)) + 1 if ends and max(ends) >= 0 else None


class Linear:
    """A compiled expression on bytes; made when it is first used."""

    def __init__(self, pattern: bytes, flags: int = 0) -> None:
        self.pattern, self.flags = pattern, flags

    @cached_property
    def _made(self) -> tuple[Callable[..., list[tuple[int, int]]], Translation]:
        translation = Translation(self.pattern, self.flags)
        return self._compiled(translation.expression), translation

    @cached_property
    def _at_start(self) -> Callable[..., list[tuple[int, int]]]:
        """For a match at the text's beginning, where no character is before it."""
        return self._compiled(Translation(self.pattern, self.flags, before=False).expression)

    @staticmethod
    def _compiled(expression: bytes) -> Callable[..., list[tuple[int, int]]]:
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.max_mem = _MEMORY
        options.log_errors = False
        return re2.compile(expression, options)._regexp.Match  # type: ignore[no-any-return]

    def search(self, text: bytes, first: int = 0, last: int | None = None) -> Match | None:
        return self._one(_SEARCH, text, first, last)

    def match(self, text: bytes, first: int = 0, last: int | None = None) -> Match | None:
        return self._one(_MATCH, text, first, last)

    def fullmatch(self, text: bytes, first: int = 0, last: int | None = None) -> Match | None:
        if self._made[1].looks_ahead:
            raise ValueError(f"{self.pattern!r} looks ahead, so it cannot be held to the whole text")
        return self._one(_WHOLE, text, first, last)

    def finditer(self, text: bytes, first: int = 0, last: int | None = None) -> Iterator[Match]:
        return self._matches(_SEARCH, text, first, last)

    def findall(self, text: bytes) -> list[bytes]:
        """The first group of each match, or all of it."""
        found = ((match, min(1, len(match._spans) - 1)) for match in self.finditer(text))
        return [match[group] for match, group in found]

    def split(self, text: bytes) -> list[bytes]:
        """What is between the matches."""
        found = [match.span() for match in self.finditer(text)]
        borders = zip(
            [0, *(last for _, last in found)], [*(first for first, _ in found), len(text)], strict=True
        )
        return [text[first:last] for first, last in borders]

    def sub(self, by: bytes | Callable[[Match], bytes], text: bytes) -> bytes:
        """The text with each match replaced; bytes represent themselves."""
        parts, at = [], 0
        for match in self.finditer(text):
            parts += [text[at : match.start()], by if isinstance(by, bytes) else by(match)]
            at = match.end()
        return b"".join([*parts, text[at:]])

    def _one(self, anchor: Any, text: bytes, first: int, last: int | None) -> Match | None:
        call, made = self._made
        if made.plain and (last is None or last >= len(text)):
            spans = call(anchor, text, first, len(text)) if first <= len(text) else [_NONE]
            return Match(text, spans) if spans[0] != _NONE else None
        piece, at, stop, shift = self._cut(text, first, last)
        return self._next(anchor, text, piece, at, stop, shift) if at <= stop else None

    def _matches(self, anchor: Any, text: bytes, first: int, last: int | None) -> Iterator[Match]:
        piece, at, stop, shift = self._cut(text, first, last)
        while at <= stop and (match := self._next(anchor, text, piece, at, stop, shift)) is not None:
            yield match
            begin, close = match.span()
            at = (close if close > begin else close + 1) - shift
            if (
                self._made[1].looks_behind and at == 1
            ):  # else the look behind would begin at the true beginning
                piece, shift, at, stop = b"\0" + piece, shift - 1, 2, stop + 1

    def _cut(self, text: bytes, first: int, last: int | None) -> tuple[bytes, int, int, int]:
        """The piece that RE2 reads, where it begins and ends to look in that, and the piece's place in the text.

        RE2 looks past `last`, and takes the start of its input for the beginning of the text. So the piece is cut
        out, with one character before it and one more in front, and only a true beginning counts as one.
        """
        made, end = self._made[1], len(text) if last is None else min(last, len(text))
        if first > end or not (end < len(text) or (first and made.looks_behind)):
            return (text, first, end, 0)
        shift = max(0, first - 1) - 1 if first else 0
        piece = b"\0" * (shift < 0) + text[max(0, shift) : end] if first else text[:end]
        return (piece, first - shift, end - shift, shift)

    def _next(self, anchor: Any, text: bytes, piece: bytes, at: int, stop: int, shift: int) -> Match | None:
        call, made = self._made
        if made.looks_behind:
            if at:
                at -= 1
            elif anchor is not _SEARCH:
                call = self._at_start
        spans = call(anchor, piece, at, stop)
        if spans[0] == _NONE:
            return None
        if not made.plain:
            spans = [made.borders(spans), *(spans[group] for group in made.groups)]
        return Match(
            text, [(a + shift, b + shift) if a >= 0 else _NONE for a, b in spans] if shift else spans
        )


def compile(pattern: bytes, flags: int = 0) -> Linear:
    """The expression for RE2; what it cannot say is an error when it is first used."""
    return Linear(pattern, flags)
