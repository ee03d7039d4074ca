"""What a run of characters is part of: a block of encoded lines, or the whole value around it."""

from __future__ import annotations

import re

from hush_core import linear

_BLOCK = re.compile(rb"[A-Za-z0-9+/=]{56,80}\Z")
_BEFORE_LINE, _AFTER_LINE = b" \t\"'`+.&|>#*/", b" \t\"'`+.&|,;)\\\r"
"""What is around a line of a block that is written as strings, a quote, or a comment."""
_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def in_block(content: bytes, first: int, last: int) -> bool:
    """Whether the line is in a block of encoded lines: a certificate, an image, a test's data."""
    above = content[max(0, first - 120) : max(0, first - 1)].rpartition(b"\n")[2]
    below = content[last : last + 120].partition(b"\n")[0]
    own = _bare(content[first : min(last, first + 512)].rstrip(b"\n"))
    if _ARMOURED.fullmatch(own) and (_public(_ENDS, below) or (len(own) >= 56 and _public(_BEGINS, above))):
        return True
    return any(_BLOCK.match(_bare(line)) for line in (above, below))


def _bare(line: bytes) -> bytes:
    r"""A line of a block without the signs, quotes and escapes around it.

    >>> _bare(b' + "//aGVsbG8\\n" +')
    b'//aGVsbG8'
    """
    start = len(line) - len(line.lstrip(_BEFORE_LINE))
    while start and not (start < len(line) and line[start] in _BASE64 and line[start - 1] not in _BASE64):
        start -= 1
    end = len(line.rstrip(_AFTER_LINE))
    while line[end - 2 : end] in (b"\\n", b"\\r"):
        end -= 2
    return line[start : max(start, end)]


def _public(armour: linear.Linear, line: bytes) -> bool:
    return any(b"PRIVATE" not in kind for kind in armour.findall(line))


_BEGINS = linear.compile(rb"-----BEGIN ([A-Z0-9 ]*)")
_ARMOURED = re.compile(rb"[A-Za-z0-9+/=]+")
"""A line between them: nothing but base64, all but the last of 56 characters or more."""
_ENDS = linear.compile(rb"-----END ([A-Z0-9 ]*)")

_LEFT = b" \t\r\n\"'`<>,;=&()[]{}|:?@\\#!*"
_RIGHT = re.compile(rb"[ \t\r\n\"'`<>,;&()\[\]{}|\\@]")
_QUOTED = re.compile(rb"[A-Za-z0-9_+/.~=$!|%^*#:@-]{1,512}")


def widened(content: bytes, start: int, end: int, first: int, last: int) -> tuple[int, int]:
    """The value that a random run is part of: all between its quotes, or up to what ends a word."""
    begin = start
    while begin > max(first, start - 64) and content[begin - 1] not in _LEFT:
        begin -= 1
    furthest = min(last, end + 512)
    stop = found.start() if (found := _RIGHT.search(content, end, furthest)) else max(end, furthest)
    quote = max(content.rfind(q, max(first, start - 256), start) for q in (b'"', b"'", b"`"))
    if quote >= 0:
        close = content.find(content[quote : quote + 1], end, furthest)
        inner = content[quote + 1 : close] if close >= 0 else b""
        near = start - quote < 24 or b"=" not in inner[: start - quote]
        if inner and near and b"://" not in inner and _QUOTED.fullmatch(inner):
            return quote + 1, close
    while stop > end and content[stop - 1] in b".:":
        stop -= 1
    return begin, stop
