"""Where encoded runs may stand in a text: told for all codes at once, in one pass of numpy.

A run shows by characters of its alphabet in a row. Names and paths are such rows for base64, and hashes for
hexadecimal; but where text that is ASCII is encoded, the first three characters of each group of base64 are of 32
of 64, and the first of two hexadecimal digits is from 2 to 7: several such groups are rare elsewhere. Other bytes
show by longer rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
BASE32 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
LONG_RUN = 40
"""Characters of base64 in a row: 30 bytes that need not be ASCII."""
LONG_HEX = 64
"""Hexadecimal digits in a row: 32 bytes that need not be ASCII."""
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
class Seeds:
    """Places in runs of each code, ascending: at least one of every run."""

    ascii64: list[int]
    long64: list[int]
    hex: list[int]
    base32: list[int]
    lists: list[int]


def seeds(text: bytes) -> Seeds | None:
    """None where there are none."""
    n = len(text)
    if n < _LEAST:
        return None
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
    places = np.flatnonzero(found != 0)
    if not len(places):
        return None
    kinds = found[places]
    return Seeds(*(_first(places, kinds & bit) for bit in (1, 2, 16, 32, 64)))


def _first(places: np.ndarray, kinds: np.ndarray) -> list[int]:
    """The first of those of one kind that follow one another."""
    mine = places[kinds > 0]
    if len(mine) < 2:
        return mine.tolist()
    new = np.ones(len(mine), dtype=bool)
    np.greater(mine[1:] - mine[:-1], 1, out=new[1:])
    return mine[new].tolist()
