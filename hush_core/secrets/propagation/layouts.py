r"""How a value is laid out: over lines, with a comment's or a quote's prefix, in pieces, each a string of its own.

What is between the pieces of one value is no letter and no digit, whatever the language: `"a" + "b"`,
`'a' . 'b'`, `["a", "b"]`, `# a⏎# b`, `> a⏎> b`, a diff's `+a⏎+b`, two blanks. So values and texts are compared
without everything but letters and digits: long values match so; short ones with blanks in them only where they are
the same words.
"""

import re
from functools import cache

import numpy as np

from hush_core.secrets.propagation.layers import SQUEEZED, Layer, Place

MIN_SPLIT = 16
"""Bytes of the shortest value that is also searched for in pieces."""
MIN_ALONE = 12
"""… and how many letters and digits it has,"""
MIN_DISTINCT = 6
"""… different ones: a row of noughts is in every table."""
MIN_WORDS = 5
"""Letters and digits of the shortest value of several words that is searched for over line breaks."""

SQUEEZED_OUT = bytes(c for c in range(128) if not chr(c).isalnum())
_KEPT = ~np.isin(np.arange(256, dtype=np.uint8), np.frombuffer(SQUEEZED_OUT, np.uint8))
_WORD = re.compile(rb"[0-9A-Za-z\x80-\xff]+")


def squeezed(below: Layer) -> Layer:
    """Its letters and digits alone, in one piece."""

    @cache
    def places() -> np.ndarray:
        return np.flatnonzero(_KEPT[np.frombuffer(below.text, np.uint8)])

    def back(start: int, end: int) -> Place:
        return int(places()[start]), int(places()[end - 1]) + 1, True

    return Layer(squeeze(below.text), SQUEEZED, "", below, back)


def squeeze(text: bytes) -> bytes:
    return text.translate(None, SQUEEZED_OUT)


def words(text: bytes) -> bytes:
    """The same for the same words in the same order, whatever is between them."""
    return b" ".join(_WORD.findall(text))


def is_split(value: bytes) -> bool:
    """Whether a value is searched for in pieces."""
    alone = squeeze(value)
    return len(value) >= MIN_SPLIT and len(alone) >= MIN_ALONE and len(set(alone)) >= MIN_DISTINCT


def is_words(value: bytes) -> bool:
    """Whether a value is searched for as several words."""
    return len(squeeze(value)) >= MIN_WORDS and len(value.split()) > 1


_BREAK = (
    rb"[ \t]*+(?:[\"'`][ \t]*+)?(?:[+.&~|<>,\\]{1,2}+[ \t]*+)?(?:\\|_)?\r?\n[ \t]*+"
    rb"(?:(?:\#++|//++!?|/?\*++|>++|--++|;++|\||%%++|REM|dnl)[ \t]++|%(more)b)*+"
    rb"(?:[+.&~|<>,]{1,2}+[ \t]*+)?[\"'`]?"
)
_JOINT = rb"[\"'`][ \t]*+(?:[+.&~|<>,]{1,2}+[ \t]*+)?[\"'`]"
MARKS = (b"+", b"-", b">", b"#", b"*")
"""What every line of a diff, a quote or a comment may begin with."""


def gap(mark: bytes = b"") -> bytes:
    """An expression for what is between two pieces of one encoded run.

    Args:
        mark: a character that all its lines begin with, as those of diffs and quotes do.
    """
    more = re.escape(mark) + rb"[ \t]*+" if mark else rb"(?!)"
    return rb"(?:" + _BREAK % {b"more": more} + rb"|" + _JOINT + rb")"


def mark_of(text: bytes, start: int) -> bytes:
    """What is first on the line of a run that begins at `start`, where the next line begins with it, too."""
    line = text.rfind(b"\n", max(0, start - 16), start) + 1
    first = text[line : line + 1]
    if first not in MARKS or (line == 0 and start > 16):
        return b""
    following = text.find(b"\n", start) + 1
    return first if following and text[following : following + 1] == first else b""
