"""Texts as they are trained on: bytes, of which only some may be learned."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


class PromptedText(bytes):
    """A text whose completions alone are learned; all else is before them as their context.

    Equal to its bytes, so that whatever only reads a text needs to know nothing of it.

    Attributes:
        completions: ranges [start, end) of its bytes, in ascending order; maybe none.
    """

    completions: tuple[tuple[int, int], ...]

    def __new__(cls, text: bytes, completions: tuple[tuple[int, int], ...]) -> PromptedText:
        made = super().__new__(cls, text)
        made.completions = completions
        return made

    def __getnewargs__(self) -> tuple[bytes, tuple[tuple[int, int], ...]]:
        return bytes(self), self.completions


def ends_of(text: bytes) -> list[int]:
    """Start and end, start and end, … of what is learned of a text: of one that is only bytes, all."""
    if isinstance(text, PromptedText):
        return [place for pair in text.completions for place in pair]
    return [0, len(text)]


def text_with(text: bytes, ends: Sequence[int]) -> bytes:
    """The text of which this is learned; `ends_of` gives it back.

    >>> text_with(b"2+2=4", [4, 5]).completions, type(text_with(b"2+2=4", [0, 5]))
    (((4, 5),), <class 'bytes'>)
    """
    if list(ends) == [0, len(text)]:
        return text
    return PromptedText(text, tuple(zip(ends[::2], ends[1::2], strict=True)))


def texts_of(frame: pl.DataFrame) -> list[bytes]:
    """The column `text`, each row with its completions where the frame has a column of them (COMPLETIONS)."""
    texts = frame["text"].to_list()
    if "completions" not in frame.columns:
        return texts
    return [text_with(text, ends) for text, ends in zip(texts, frame["completions"].to_list(), strict=True)]


def text_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns that `texts_of` reads."""
    return frame.select("text", *(name for name in ("completions",) if name in frame.columns))


def text_frame(texts: Sequence[bytes]) -> pl.DataFrame:
    """The frame that `texts_of` reads these texts from."""
    frame = pl.DataFrame({"text": [bytes(text) for text in texts]}, schema={"text": pl.Binary})
    if not any(isinstance(text, PromptedText) for text in texts):
        return frame
    ends = pl.Series("completions", [ends_of(text) for text in texts], dtype=pl.List(pl.UInt32))
    return frame.with_columns(ends)
