"""Compressed bytes within what was decoded: gzip, zlib, bzip2, xz and the members of a zip file."""

from __future__ import annotations

import bz2
import lzma
import zlib

from hush_core.secrets.propagation.layers import BLOCK, Layer, joined

MOST = 8 << 20
"""Bytes that one text may unfold to: what is behind them is not looked at."""
MOST_TRIED = 256
"""Beginnings of compressed bytes that are tried in one text."""

_XZ_MEMORY = 64 << 20

_BEGINS = (b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\0", b"PK\x03\x04", b"x\x01", b"x\x5e", b"x\x9c", b"x\xda")
"""What gzip, bzip2, xz, members of zip files and zlib begin with."""


def unpacked(below: Layer) -> Layer | None:
    """All of it, unpacked; None if it is not compressed. A longer value changes all of what is compressed."""
    if below.kind != BLOCK:
        return None
    texts, starts = [], []
    left = MOST
    for begin in _beginnings(below.text):
        if left > 0 and (text := _unfolded(below.text, begin, left)):
            texts.append(text)
            starts.append(begin)
            left -= len(text)
    if not texts:
        return None
    return joined(below, "compressed", texts, lambda number, start, end: (starts[number], None, True))


def _beginnings(text: bytes) -> list[int]:
    found: list[int] = []
    for sign in _BEGINS:
        place = text.find(sign)
        while place >= 0 and len(found) < MOST_TRIED:
            found.append(place)
            place = text.find(sign, place + 1)
    return sorted(found)


def _unfolded(text: bytes, begin: int, most: int) -> bytes:
    """At most so many bytes of what begins there; none where it is no such thing."""
    data = memoryview(text)[begin:]
    try:
        if text.startswith(b"BZh", begin):
            return bz2.BZ2Decompressor().decompress(data, most)
        if text.startswith(b"\xfd", begin):
            return lzma.LZMADecompressor(memlimit=_XZ_MEMORY).decompress(data, most)
        if text.startswith(b"PK", begin):
            sizes = bytes(data[26:30])
            data = data[30 + int.from_bytes(sizes[:2], "little") + int.from_bytes(sizes[2:], "little") :]
            return zlib.decompressobj(-15).decompress(data, most)
        return zlib.decompressobj(47).decompress(data, most)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError):
        return b""
