"""What a text may hold that decodes: which escapes, and where encoded runs may be.

For escapes and other rare forms one pass of hyperscan says whether there are any. For runs one pass of numpy says
where, for all codes at once. A run shows by characters of its alphabet in a row. Names and paths are such rows for
base64, and hashes for hexadecimal. But encoded ASCII has a pattern that is rare elsewhere: the first three
characters of a base64 group are among 32 of 64, and the first of two hexadecimal digits is from 2 to 7. Several
such groups count. Other bytes show by longer rows.
"""

from dataclasses import dataclass
from functools import cache

import hyperscan
import numpy as np

from hush_core.secrets.matcher import Matcher

BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
BASE32 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
LONG_RUN = 40
"""Characters of base64 in a row: 30 bytes that need not be ASCII."""
LONG_HEX = 64
"""Hexadecimal digits in a row: 32 bytes that need not be ASCII."""
LEAST_DIGITS = 19
"""Decimal digits in a row: an integer of 8 bytes of text."""
_HEX = rb"[0-9A-Fa-f]"

ODD = (
    rb"(?:\xc2[\xa0\xad]|\xcd\x8f|\xe1\x9a\x80|\xe1\xa0\x8e|\xe2[\x80-\x82\x84\x85\x91\x92][\x80-\xbf]"
    rb"|\xe3\x80\x80|\xef(?:\xac[\x80-\x86]|\xb8[\x80-\x8f]|\xbb\xbf|[\xbc-\xbf][\x80-\xbf])"
    rb"|\xf0\x9d[\x90-\x9f][\x80-\xbf]|\xf3\xa0[\x80-\x87][\x80-\xbf])"
)
"""Characters that look like others or like none."""
BACKSLASH, PERCENT, ENTITY, STRANGE, UTF16, QUOTED, FRAMED, CALLS = range(8)
_WHETHER = {
    BACKSLASH: rb"\\",
    PERCENT: rb"%%(?:u%(h)b{4}|%(h)b{2})" % {b"h": _HEX},
    ENTITY: rb"&(?:#[0-9]|#[xX]%(h)b|[A-Za-z][A-Za-z0-9]{1,31};)" % {b"h": _HEX},
    STRANGE: ODD,
    UTF16: rb"\x00[^\x00\xff]\x00",
    QUOTED: rb"=(?:[ \t]*\r?\n|3[Dd]|[89A-Fa-f]%(h)b=|%(h)b{2}=%(h)b{2}=)" % {b"h": _HEX},
    FRAMED: rb"<~[!-uz\s]{10}",
    CALLS: rb"\([ \t]*(?:0[xX]|&[hH])?%(h)b{1,6}[ \t]*\)[^0-9A-Za-z\n]{1,8}\n?[^0-9A-Za-z\n]{0,40}"
    rb"[A-Za-z]{3,6}\$?[ \t]*\(" % {b"h": _HEX},
}


def kinds(text: bytes) -> frozenset[int]:
    """Which of BACKSLASH … CALLS a text holds."""
    return frozenset(kind for kind, _ in _matcher()(text))


@cache
def _matcher() -> Matcher:
    once = [hyperscan.HS_FLAG_SINGLEMATCH] * len(_WHETHER)
    return Matcher.of(list(_WHETHER.values()), list(_WHETHER), once)


_BEHIND = b"~" * LONG_HEX
_LEAST = 12

_CLASSES = {
    1: BASE64 + b"-_=",
    2: b"".join(BASE64[n : n + 2] for n in range(0, 64, 4)),  # the third of a group of ASCII
    4: b"".join(BASE64[n : n + 8] for n in (0, 16, 32, 48)),  # the second
    8: BASE64[:32],  # the first
    16: b"0123456789abcdefABCDEF",
    32: BASE32,
    64: b"0123456789abcdefABCDEFxX,;: \t\r\n-",
    128: b"0123456789",
}
_TABLE = bytes(sum(bit for bit, class_ in _CLASSES.items() if c in class_) for c in range(256))


@dataclass(frozen=True)
class RunSeeds:
    """Places in runs of each code, ascending: at least one of every run."""

    ascii64: list[int]
    long64: list[int]
    hex: list[int]
    base32: list[int]
    lists: list[int]
    integers: list[int]


def seeds(text: bytes) -> RunSeeds | None:
    """None for an empty list."""
    if len(text) < _LEAST:
        return None
    places, kinds = [], []
    for at in range(0, len(text), _WINDOW):
        found = _seen(text[at : at + _WINDOW + LONG_HEX], min(_WINDOW, len(text) - at))
        here = np.flatnonzero(found)
        places.append(here + at)
        kinds.append(found[here])
    where, what = np.concatenate(places), np.concatenate(kinds)
    return RunSeeds(*(_first(where, what & bit) for bit in (1, 2, 16, 32, 64, 128))) if len(where) else None


_WINDOW = 1 << 16
"""Places at once: what is longer leaves the processor's cache, and is mapped from the system and given back."""


def _seen(text: bytes, n: int) -> np.ndarray:
    """At each of the first n places, the codes that have a seed there, a bit each."""
    c = np.frombuffer((text + _BEHIND).translate(_TABLE), np.uint8)
    pair = (c[: n + 11] >> 1) & c[1 : n + 12]
    group = (pair[: n + 8] >> 2) & pair[2 : n + 10]
    found = group[:n] & group[4 : n + 4] & (pair[8 : n + 8] >> 2) & (c[10 : n + 10] >> 1) & 1
    row = c[:-1] & c[1:]
    row = row[:-2] & row[2:]
    row8 = row[:-4] & row[4:]
    row16 = row8[: n + 48] & row8[8 : n + 56]
    row32 = row16[: n + 32] & row16[16 : n + 48]
    found |= (row32[:n] & row8[32 : n + 32] & 1) << 1
    found |= row16[:n] & 32
    found |= row16[:n] & row16[LEAST_DIGITS - 16 : n + LEAST_DIGITS - 16] & 128
    # of hexadecimal: eight pairs of digits, the first of each from 2 to 7
    high = (c[: n + 24] >> 3) & (c[: n + 24] >> 1) & c[: n + 24]  # digits that are of base32
    high = high[:-2] & high[2:]
    high = high[:-4] & high[4:]
    found |= ((high[:n] & high[8 : n + 8] & row16[:n]) | (row32[:n] & row32[32 : n + 32])) & 16
    # of lists: in 22 characters, such a digit in any eight
    near = c[: n + 29] | c[1 : n + 30]
    near = near[:-2] | near[2:]
    near = near[:-4] | near[4:]
    near = near[:n] & near[8 : n + 8] & near[14 : n + 14]
    found |= (near >> 1) & row16[:n] & row16[6 : n + 6] & 64
    return found


def _first(places: np.ndarray, kinds: np.ndarray) -> list[int]:
    """The first of those of one kind that follow one another."""
    mine = places[kinds > 0]
    if len(mine) < 2:
        return mine.tolist()
    new = np.ones(len(mine), dtype=bool)
    np.greater(mine[1:] - mine[:-1], 1, out=new[1:])
    return mine[new].tolist()
