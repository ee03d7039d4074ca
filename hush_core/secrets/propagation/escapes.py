r"""Escapes: a few characters that mean one, in text that otherwise stays as it is.

- backslashes as JSON, C, Python, JavaScript, shells and SQL write them (`\n`, `\x41`, `\u0041`, `\u{41}`,
  `\U00000041`, `\101`, a line continued); percent signs (`%41`, `%u0041`)
- HTML and XML entities (named, decimal, hexadecimal); quoted-printable with its soft line breaks
- characters that look like others or like none: full-width and mathematical letters (NFKC), soft hyphens,
  zero-width characters, odd blanks; and the NULs of UTF-16
"""

import html
import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from hush_core import linear
from hush_core.secrets.propagation.gate import BACKSLASH, ENTITY, ODD, PERCENT, STRANGE
from hush_core.secrets.propagation.layers import BLOCK, Layer, Place, joined

_HEX = rb"[0-9A-Fa-f]"
_BACKSLASH = re.compile(
    rb"\\(?:x%(h)b{2}|x\{%(h)b{1,6}\}|u[dD][89abAB]%(h)b{2}\\u[dD][c-fC-F]%(h)b{2}|u%(h)b{4}|u\{%(h)b{1,6}\}"
    rb"|U%(h)b{8}|[0-7]{1,3}|\r?\n[ \t]*+|[\s\S])" % {b"h": _HEX}
)
_PERCENT = re.compile(rb"%%(?:u%(h)b{4}|%(h)b{2})" % {b"h": _HEX})
_ENTITY = re.compile(rb"&(?:#[0-9]{1,7};?|#[xX]%(h)b{1,6};?|[A-Za-z][A-Za-z0-9]{1,31};)" % {b"h": _HEX})
_QUOTED_PRINTABLE = re.compile(rb"=(?:%(h)b{2}|[ \t]*\r?\n)" % {b"h": _HEX})
_SIGNS = linear.compile(rb"=(?:[ \t]*(\r?\n)|3[Dd]|[89A-Fa-f]%(h)b=|%(h)b{2}=%(h)b{2}=)" % {b"h": _HEX})
AROUND = 1024
SOFT_LINE = range(66, 80)
"""Place of the sign of a soft line break in its line."""
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
_NULS = re.compile(rb"\0(?:(?<=\0[^\0\xff]\0)\0{0,2}(?!\0)|(?<!\0\0)\0{0,2}(?=[^\0\xff]\0))")
"""Of UTF-16 and UTF-32, as the next are one byte away; others are between runs (`blocks`, `layers.BETWEEN`). It
begins with a NUL, which `re` finds by memchr."""
_ODD = re.compile(ODD)
_OCTAL = b"01234567"
_SIMPLE = {
    b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f", b"v": b"\v", b"a": b"\a",
    b"e": b"\x1b",
}  # fmt: skip


def _backslash(match: re.Match[bytes]) -> bytes:
    token = match[0]
    kind = token[1:2]
    if len(token) == 2 and kind not in _OCTAL:
        return _SIMPLE.get(kind, b"" if kind == b"\n" else kind)
    if kind in b"\r\n":
        return b""
    if kind == b"x" and token[2:3] != b"{":
        return bytes.fromhex(token[2:].decode())
    if kind in _OCTAL:
        return bytes([int(token[1:], 8) & 255])
    if len(token) == 12 and token[6:7] == b"\\":
        high, low = int(token[2:6], 16), int(token[8:12], 16)
        return _character(0x10000 + ((high - 0xD800) << 10) + low - 0xDC00)
    return _character(int(token[2:].strip(b"{}"), 16))


def _percent(match: re.Match[bytes]) -> bytes:
    token = match[0]
    return _character(int(token[2:], 16)) if token[1] == 0x75 else bytes.fromhex(token[1:].decode())


@lru_cache(1 << 12)
def _character_of(entity: bytes) -> bytes:
    return html.unescape(entity.decode()).encode("utf-8", "replace")


def _printable(match: re.Match[bytes]) -> bytes:
    if match[0][-1] != 10:
        return bytes.fromhex(match[0][1:].decode())
    return b"" if _is_soft(match) else match[0]


def _is_soft(match: re.Match[bytes]) -> bool:
    """Whether a `=` at a line's end is a soft break: encoders break where a line is full. Others pad base64."""
    text, place = match.string, match.start()
    return place - text.rfind(b"\n", 0, place) in SOFT_LINE and text[place - 1 : place] != b"="


@cache
def _plain(token: bytes) -> bytes:
    """What an odd character represents: NFKC, a blank, or nothing where it cannot be seen."""
    try:
        character = token.decode()
    except UnicodeDecodeError:
        return token
    if unicodedata.category(character) in ("Cf", "Mn"):
        return b""
    if unicodedata.category(character) == "Zs":
        return b" "
    return unicodedata.normalize("NFKC", character).encode()


def _character(code: int) -> bytes:
    return chr(code).encode("utf-8", "surrogatepass") if code < 0x110000 else b"?"


def _undone(
    below: Layer,
    token: re.Pattern[bytes],
    stands_for: Callable[[re.Match[bytes]], bytes] | None,
    form: str,
    widen: Callable[[int], int] = lambda end: end,
) -> Layer | None:
    """The layer in which every token is what it represents (None: nothing); None where that changes nothing."""
    text = token.sub(stands_for or b"", below.text)
    if text == below.text:
        return None

    @cache
    def tokens() -> tuple[array, array, array, array]:
        """By token: where it begins and ends here, and below. Only once something is found."""
        here, until, begin, end = (array("q") for _ in range(4))
        gone = 0
        for match in token.finditer(below.text):
            first, last = match.span()
            size = len(stands_for(match)) if stands_for is not None else 0
            here.append(first - gone)
            until.append(first - gone + size)
            begin.append(first)
            end.append(last)
            gone += last - first - size
        return here, until, begin, end

    def back(start: int, end: int | None) -> Place:
        found = here, until, _, _ = tokens()
        first = _below(found, start)[0]
        if end is None:
            return first, None, True
        last = bisect_left(here, end) - 1
        touched = last >= 0 and (until[last] > start or here[last] > start)
        return first, widen(_below(found, end - 1)[1]), touched

    return Layer(text, below.kind, form, below, back)


def _below(tokens: tuple[array, array, array, array], place: int) -> tuple[int, int]:
    """The bytes below that one byte comes from."""
    here, until, begin, end = tokens
    i = bisect_right(here, place) - 1
    if i >= 0 and place < until[i]:
        return begin[i], end[i]
    moved = end[i] - until[i] if i >= 0 else 0
    return place + moved, place + moved + 1


def _odd_characters(below: Layer) -> Layer | None:
    plain = below.kind == BLOCK or below.text.isascii()
    return None if plain else _undone(below, _ODD, lambda match: _plain(match[0]), "unicode")


def _escape(sign: bytes, *how: Any) -> Callable[[Layer], Layer | None]:
    return lambda below: _undone(below, *how) if sign in below.text else None


def utf16(below: Layer) -> Layer | None:
    """Without the NULs of wide characters: its neighbours identify each. They come out of decoded text, as text
    with a NUL is not trained on."""
    return _undone(below, _NULS, None, "utf-16")


def around_escapes(below: Layer, kinds: frozenset[int]) -> Layer | None:
    """Of a text whose escapes are undone, what is within AROUND bytes of those that are left, as escapes of
    escapes are (`\\\\n`, `%2541`, `&amp;#65;`); None without any.

    Args:
        kinds: what `gate.kinds` sees in the text.
    """
    text = below.text
    tokens = [token for kind, token in _TOKENS.items() if kind in kinds]
    places = sorted(m.start() for token in tokens for m in token.finditer(text))
    pieces: list[list[int]] = []
    for place in places:
        if pieces and place - AROUND <= pieces[-1][1]:
            pieces[-1][1] = min(len(text), place + AROUND)
        else:
            pieces.append([max(0, place - AROUND), min(len(text), place + AROUND)])
    if not pieces:
        return None

    def place(number: int, start: int, end: int | None) -> Place:
        moved = pieces[number][0]
        return start + moved, None if end is None else end + moved, False

    return joined(below, "", [text[start:end] for start, end in pieces], place, below.kind)


ESCAPES = {
    BACKSLASH: _escape(b"\\", _BACKSLASH, _backslash, "escaped"),
    PERCENT: _escape(b"%", _PERCENT, _percent, "url"),
    ENTITY: _escape(b"&", _ENTITY, lambda match: _character_of(match[0]), "html"),
    STRANGE: _odd_characters,
}
"""In the order in which they are undone."""
_TOKENS = {BACKSLASH: _BACKSLASH, PERCENT: _PERCENT, ENTITY: _ENTITY}


def quoted_printable(below: Layer) -> Layer | None:
    """Mail. Where a line is longer, its soft breaks move: a value continues to the end of its line."""
    text = below.text
    if not is_quoted(text):
        return None

    @cache
    def lines() -> _Lines:
        return _Lines(text)

    return _undone(below, _QUOTED_PRINTABLE, _printable, "quoted-printable", lambda end: lines().end(end))


class _Lines:
    r"""Where the lines of a text end, with those that a sign before the break continues in; read once.

    >>> _Lines(b"a= \nb\r\nc").end(0), _Lines(b"a").end(0)
    (5, 1)
    """

    def __init__(self, text: bytes) -> None:
        self._starts, self._ends, self._signs = [], [], []
        at = 0
        while (stop := text.find(b"\n", at)) >= 0:
            line = text[at:stop]
            self._starts.append(at)
            self._ends.append(stop - line.endswith(b"\r"))
            line = line.removesuffix(b"\r").rstrip(b" \t")
            self._signs.append(at + len(line) - 1 if line.endswith(b"=") else -1)
            at = stop + 1
        self._starts.append(at)
        self._ends.append(len(text))
        self._signs.append(-1)
        self._last = self._ends[:]
        for n in range(len(self._last) - 2, -1, -1):
            if self._signs[n] >= 0:
                self._last[n] = self._last[n + 1]

    def end(self, at: int) -> int:
        """Where the line of `at` ends."""
        n = bisect_right(self._starts, at) - 1
        return self._last[n] if self._signs[n] >= at else max(at, self._ends[n])


def is_quoted(text: bytes) -> bool:
    """Whether it shows signs of being quoted-printable: a soft break behind a long line, `=3D`, two such tokens."""
    return any(
        not match[1] or (_is_soft(match) and not _pads(text, match)) for match in _SIGNS.finditer(text)
    )


def _pads(text: bytes, match: re.Match[bytes]) -> bool:
    """Whether what is before a `=` may be base64 that it pads."""
    before = text[max(0, match.start() - 76) : match.start()]
    run = len(before) - len(before.rstrip(_BASE64))
    return run >= 12 and run % 4 == 3


def unescaped(value: bytes) -> bytes:
    """The value with all its escapes undone, once: what it becomes in a text that is."""
    layer = Layer(value)
    for escape in ESCAPES.values():
        layer = escape(layer) or layer
    return (utf16(layer) or layer).text


def plain_characters(value: bytes) -> bytes:
    """The value with odd characters as what they represent."""
    return (_odd_characters(Layer(value)) or Layer(value)).text
