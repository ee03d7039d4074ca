"""How a value itself may be spelled, whatever the text around it is written in: few byte strings a value, searched
for in every layer of a text (`layers.py`)."""

import base64
import binascii
import codecs
import re
import string
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from hush_core.secrets.propagation.escapes import plain_characters, unescaped
from hush_core.secrets.propagation.layouts import SQUEEZED_OUT, is_split, is_words, squeeze, words

MIN_TURNED = 8
"""Shortest value that is also searched for backwards and in rot13."""
MAX_TURNED = 512
MIN_BYTES = 12
"""Fewest bytes that an encoded value decodes to, for these to be searched for."""

_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}){12,}")
_BASE64 = re.compile(rb"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9+/_-]{22,}={0,2}")
_BASE32 = re.compile(rb"[A-Z2-7]{26,}={0,6}")


@dataclass(frozen=True)
class Spelling:
    """Bytes to search for.

    form: "raw" for the value as it is. folded: letters of either case. squeezed: it is searched for in text without
    joints; if `words` is not empty, only the same words count, and `edges` are the signs that the value
    begins and ends with. apart: it counts only without a letter or digit beside it. decoded: the bytes that an
    encoded value means; finding them where the value itself is says nothing new.
    """

    text: bytes = field(repr=False)
    form: str
    folded: bool = False
    squeezed: bool = False
    words: bytes = field(default=b"", repr=False)
    edges: tuple[bytes, bytes] = field(default=(b"", b""), repr=False)
    decoded: bool = False
    apart: bool = False


def stands_apart(text: bytes, start: int, end: int) -> bool:
    """Whether bytes [start, end) of a text are no part of a longer word or number.

    >>> stands_apart(b"utf8mb4", 0, 4), stands_apart(b"charset=utf8;", 8, 12), stands_apart(b"a!b", 1, 2)
    (False, True, True)
    """
    before = text[start - 1 : start].isalnum() and text[start : start + 1].isalnum() if start else False
    return not (before or (text[end - 1 : end].isalnum() and text[end : end + 1].isalnum()))


def spellings(
    value: bytes, fragments: tuple[bytes, ...] = (), *, any_case: bool = False, apart: bool = False
) -> Iterator[Spelling]:
    """All spellings of a value (UTF-8), and of the fragments that give it away; some may be equal."""
    if apart:
        yield from (replace(one, apart=True) for one in spellings(value, fragments, any_case=any_case))
        return
    breaks = value.replace(b"\r\n", b"\n")
    for text in dict.fromkeys((value, breaks, breaks.replace(b"\n", b"\r\n"))):
        yield Spelling(text, "raw" if text == value else "newlines", any_case)
    if b" " in value:
        yield Spelling(value.replace(b" ", b"+"), "url", any_case)
    undone = unescaped(value)
    if undone != value and len(undone) >= MIN_TURNED:
        yield Spelling(undone, "escaped", any_case)
    if not value.isascii():
        yield from _of_characters(value, any_case)
    if MIN_TURNED <= len(value) <= MAX_TURNED and b"\n" not in value:
        backwards = value.decode("utf-8", "surrogateescape")[::-1].encode("utf-8", "surrogateescape")
        yield Spelling(backwards, "reversed", any_case)
        if any(c in _LETTERS for c in value):
            yield Spelling(value.translate(_ROT13), "rot13", any_case)
    for text in dict.fromkeys((plain_characters(value), undone)):
        alone = squeeze(text)
        edges = (text[: len(text) - len(text.lstrip(SQUEEZED_OUT))], text[len(text.rstrip(SQUEEZED_OUT)) :])
        if is_split(text):
            yield Spelling(alone, "raw", any_case, squeezed=True, edges=edges)
        elif is_words(text):
            yield Spelling(alone, "raw", any_case, squeezed=True, words=words(text), edges=edges)
    if (held := _held(value)) is not None:
        yield Spelling(held, "bytes", decoded=True)
    for fragment in fragments:
        yield Spelling(fragment, "fragment")
        if (held := _held(fragment)) is not None:
            yield Spelling(held, "fragment", decoded=True)


_LETTERS = string.ascii_letters.encode()
_ROT13 = bytes.maketrans(_LETTERS, codecs.encode(string.ascii_letters, "rot13").encode())


def _of_characters(value: bytes, any_case: bool) -> Iterator[Spelling]:
    """Of a value that is not ASCII: composed and decomposed, in either case, and in other character sets."""
    text = value.decode("utf-8", "surrogateescape")
    cases = (text, text.lower(), text.upper()) if any_case else (text,)
    for one in dict.fromkeys(
        unicodedata.normalize(how, case) for case in cases for how in ("NFC", "NFD", "NFKC")
    ):
        yield Spelling(one.encode("utf-8", "surrogateescape"), "raw", any_case)
    for charset in ("latin-1", "cp1252", "utf-16-le", "utf-16-be"):
        try:
            other = text.encode(charset)
        except UnicodeEncodeError:
            continue
        if len(other) >= MIN_TURNED:
            yield Spelling(other, charset)


def _held(value: bytes) -> bytes | None:
    """The bytes that a value in hexadecimal, base64 or base32 represents."""
    try:
        if _HEX.fullmatch(value):
            return bytes.fromhex(value.decode())
        if _BASE32.fullmatch(value):
            value = value.rstrip(b"=")
            return base64.b32decode(value + b"=" * (-len(value) % 8))
        if _BASE64.fullmatch(value):
            value = value.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
            return base64.b64decode(value + b"=" * (-len(value) % 4))
    except (ValueError, binascii.Error):
        pass
    return None
