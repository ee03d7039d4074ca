"""Strings that an attacker could take for a secret's value: equally long, of the same form."""

import itertools
import math
import re

import numpy as np

_DIGITS = b"0123456789"
_LOWER = b"abcdefghijklmnopqrstuvwxyz"
_UPPER = _LOWER.upper()
_FREE = _DIGITS + _LOWER + _UPPER
_HEX = b"0123456789abcdef"
_PREFIX_WITHIN = 12
MIN_RANDOM = 4
"""Fewer random characters than this are no secret value to rank."""


def fixed_prefix(value: bytes) -> int:
    """Leading bytes that name the type, not the secret: to the last `_` or `-` within 12, or AKIA.

    A name in parts has no prefix where too little of it would be left to rank:

    >>> fixed_prefix(b"sk_live_51Hb"), fixed_prefix(b"project_io")
    (8, 0)
    """
    if value.startswith((b"AKIA", b"ASIA")):
        return 4
    end = max(value.rfind(mark, 0, _PREFIX_WITHIN) for mark in (b"_", b"-")) + 1
    return end if sum(byte in _FREE for byte in value[end:]) >= MIN_RANDOM else 0


def alphabets(value: bytes) -> list[bytes]:
    """For each byte, the bytes that may replace it (itself alone if it is fixed)."""
    start = fixed_prefix(value)
    rest = value[start:]
    fixed = [value[i : i + 1] for i in range(start)]
    for pattern, letters in ((rb"[0-9a-f-]+", _HEX), (rb"[0-9A-F-]+", _HEX.upper())):
        if re.fullmatch(pattern, rest) and re.search(rb"[a-fA-F]", rest) and re.search(rb"[0-9]", rest):
            return fixed + [b"-" if byte == 0x2D else letters for byte in rest]
    classes = (_DIGITS, _LOWER, _UPPER)
    return fixed + [next((c for c in classes if byte in c), bytes([byte])) for byte in rest]


def space_of(value: bytes) -> int:
    """How many strings there are of the value's form, itself included."""
    return math.prod(map(len, alphabets(value)))


def alternatives(value: bytes, count: int, rng: np.random.Generator) -> list[bytes]:
    """Up to `count` distinct strings, uniform over the value's form, the value itself left out.

    All of them where the form has no more; none where under MIN_RANDOM of its bytes are free.
    """
    letters = alphabets(value)
    sizes = np.array([len(choice) for choice in letters])
    if (sizes > 1).sum() < MIN_RANDOM:
        return []
    if space_of(value) <= count + 1:
        return [other for one in itertools.product(*letters) if (other := bytes(one)) != value]
    table = [np.frombuffer(choice, dtype=np.uint8) for choice in letters]
    found: dict[bytes, None] = {}
    for _ in range(20):  # a form of MIN_RANDOM digits holds 10,000 strings: collisions are few
        drawn = rng.integers(sizes, size=(count, len(value)))
        columns = [choice[drawn[:, i]] for i, choice in enumerate(table)]
        rows = np.stack(columns, axis=1).view(f"V{len(value)}")
        found.update(dict.fromkeys(rows[:, 0].tolist()))
        found.pop(value, None)
        if len(found) >= count:
            break
    return list(found)[:count]
