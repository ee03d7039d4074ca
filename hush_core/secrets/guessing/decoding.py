"""What is written inside a value: base64, base32, hex and percent forms of text, two levels deep.

Decoded only where what comes out is text for the most part, or a compressed stream: random bytes are so with a
probability below 1e-4 even for the shortest that are tried.
"""

import base64
import binascii
import contextlib
import itertools
import re
import zlib
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

LEVELS = 2
_LONGEST = 8192
_UNPACKED = 4096
_PIECE = re.compile(r"[A-Za-z0-9+/_%-]{8,}={0,6}")
_HEX = re.compile(r"(?:0[xX])?((?:[0-9a-fA-F]{2}){6,})\Z")
_PAIRS = re.compile(r"[0-9a-fA-F]{2}(?:[:\- ][0-9a-fA-F]{2}){5,}")
_BASE32 = re.compile(r"(?:[A-Z2-7]{12,}|[a-z2-7]{12,})=*\Z")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{11,}|[A-Za-z0-9_-]{11,})=*\Z")
_ESCAPES = re.compile(r"\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|&#x([0-9a-fA-F]{2,4});")
_ASSIGNED = re.compile(r"[A-Za-z_][\w .-]*=[^;&,]*[;&,]\s*[A-Za-z_][\w .-]*=")
_PRINTED = re.compile(rb"[\t\n\r -~]{6,}")


def reveal(text: str, levels: int = LEVELS) -> str:
    """The text with every piece that is an encoding of text replaced by that text.

    >>> reveal("token_" + "YWNtZS1jb3JwLXByb2R1Y3Rpb24=") , reveal("68756e746572322d70726f64")
    ('token_acme-corp-production', 'hunter2-prod')
    """
    text = _ESCAPES.sub(lambda m: chr(int(m[1] or m[2] or m[3], 16)), text[:_LONGEST])
    for _ in range(levels):
        before = text
        text = _PAIRS.sub(lambda m: _unpaired(m[0]), text)
        text = _PIECE.sub(lambda m: _revealed(m[0]), text)
        if text == before:
            break
    return text


def fields(text: str) -> list[str]:
    """The parts of an address, of assignments in a row, of JSON or XML; any other text as one.

    >>> fields("postgres://admin:letmein@db.acme.com/prod"), fields("a/b+c=")
    (['postgres', 'admin', 'letmein', 'db.acme.com', 'prod'], ['a/b+c='])
    """
    text = text.strip()
    if "://" in text:
        return [part for part in re.split(r"[\s;,&?=:/@\"']+", text) if part]
    if _ASSIGNED.match(text) or (text[:1] in "{[<" and text[-1:] in "}]>"):
        return [part for part in re.split(r"[\s;,&?:\"'{}<>\[\]]+|=(?!=|$)", text) if part]
    return [text]


def raw_forms(text: str) -> Iterator[bytes]:
    """What a value is if it is hex or base64 as a whole."""
    match = _HEX.match(text)
    if match:
        yield bytes.fromhex(match[1])
    if _BASE64.match(text):
        data = _base64(text)
        if data is not None:
            yield data


def _revealed(piece: str) -> str:
    """The piece, or from its first joint on that makes it so ("prefix_YWNt…"), what it encodes."""
    starts = [0, *(m.end() for m in re.finditer(r"[_-]", piece[:40]))]
    for start in starts:
        rest = piece[start:]
        if len(rest) >= 8:
            for data in _decodings(rest):
                found = _text_of(data)
                if found is not None:
                    return piece[:start] + found
    return piece


def _decodings(piece: str) -> Iterator[bytes]:
    if "%" in piece:
        yield unquote_to_bytes(piece)
        return
    match = _HEX.match(piece)
    if match:
        yield bytes.fromhex(match[1])
    if _BASE32.match(piece):
        body = piece.rstrip("=").upper()
        with contextlib.suppress(binascii.Error):
            yield base64.b32decode(body + "=" * (-len(body) % 8))
    if _BASE64.match(piece):
        data = _base64(piece)
        if data is not None:
            yield data


def _base64(piece: str) -> bytes | None:
    body = piece.rstrip("=").replace("-", "+").replace("_", "/")
    if len(body) % 4 == 1:
        return None
    return base64.b64decode(body + "=" * (-len(body) % 4))


def _unpaired(piece: str) -> str:
    digits = re.sub(r"[^0-9a-fA-F]", "", piece)
    return _text_of(bytes.fromhex(digits)) or digits


def _text_of(data: bytes) -> str | None:
    """Bytes as text if they are words in UTF-8, or nine tenths of them are in printable runs; else None."""
    if data[:2] in (b"\x1f\x8b", b"\x78\x01", b"\x78\x9c", b"\x78\xda"):
        try:
            data = zlib.decompressobj(47).decompress(data, _UNPACKED)
        except zlib.error:
            return None
    if len(data) >= 12 and data[1::2].count(0) >= 0.9 * (len(data) // 2):
        data = data[::2]  # UTF-16
    printed = sum(len(run) for run in _PRINTED.findall(data))
    if printed >= 8 and printed >= 0.9 * len(data):
        return data.decode("utf-8", "replace")
    steps = {(b - a) % 256 for a, b in itertools.pairwise(data)}
    if len(data) >= 8 and (len(steps) == 1 or 4 * len(set(data)) <= len(data)):
        return data.hex()  # counted, or the same few bytes
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if len(data) >= 8 and not re.search(r"[^\w\s!-~]", text) else None
