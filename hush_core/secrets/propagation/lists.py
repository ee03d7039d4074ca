"""Bytes written as a list of numbers: `41:42:43`, `0x41, 0x42`, `65, 66, 67`, `101 102`, `01000001 …`,
`chr(65).chr(66)`. A list may be read in several ways; all are tried."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

from hush_core import linear
from hush_core.secrets.propagation.layers import Layer, Place, joined

_NUMBER = re.compile(rb"(?:0[xX])?([0-9A-Fa-f]{1,8})")
_BETWEEN = rb"(?:[^0-9A-Za-z_\n]{1,6}|[^0-9A-Za-z_\n]{0,6}\n[^0-9A-Za-z_\n]{0,40})"
_LIST = linear.compile(
    rb"(?<![0-9A-Za-z_])(?:0[xX])?[0-9A-Fa-f]{1,8}(?:%(b)b(?:0[xX])?[0-9A-Fa-f]{1,8}){5,}(?![0-9A-Za-z_])"
    % {b"b": _BETWEEN}
)
_SEVERAL = re.compile(
    rb"[^0-9A-Za-z_]{0,6}+(?:[0-9A-Fa-fxX]{0,8}[^0-9A-Za-z_]{1,6}+)(?:[0-9A-Fa-fxX]{1,10}[^0-9A-Za-z_]{1,6}+){4}"
)
"""Numbers, and not one long one."""
_CALL = (
    rb"(?:[uU][nN][iI])?[nN]?[cC][hH][aA]?[rR][bBwW]?\$?[ \t]*"
    rb"\([ \t]*(?:0[xX]|&[hH])?([0-9A-Fa-f]{1,6})[ \t]*\)"
)
_CALLS = linear.compile(_CALL + rb"(?:[^0-9A-Za-z\n]{0,8}\n?[^0-9A-Za-z\n]{0,40}" + _CALL + rb"){5,}")
_CALLED = linear.compile(_CALL)
_NUMBER_CALL = linear.compile(
    rb"\([ \t]*(?:0[xX]|&[hH])?[0-9A-Fa-f]{1,6}[ \t]*\)"
    rb"[^0-9A-Za-z\n]{1,8}\n?[^0-9A-Za-z\n]{0,40}[A-Za-z]{3,6}\$?[ \t]*\("
)
"""What is between two numbers of such a list."""


@dataclass(frozen=True, repr=False)
class _Read:
    """One way to read one list, which begins at `at`.

    begins: where each number begins, counted from there. end: of the list. ends: of the bytes that each gave.
    """

    at: int
    text: bytes
    begins: array
    end: int
    ends: array


def lists(below: Layer, seeds: Sequence[int], *, calls: bool) -> Iterator[Layer]:
    """One layer of all lists of numbers, if there are any; of calls like `chr(65)` where there may be some."""
    read = list(_readings(below.text, seeds))
    if calls:
        read += _called(below.text)
    if not read:
        return

    def place(number: int, start: int, end: int | None) -> Place:
        one = read[number]
        return one.at + one.begins[bisect_right(one.ends, start)], one.at + one.end, True

    yield joined(below, "numbers", [one.text for one in read], place)


def _readings(text: bytes, seeds: Sequence[int]) -> Iterator[_Read]:
    done = 0
    for seed in seeds:
        if seed < done or not _SEVERAL.match(text, seed):
            continue
        line = max(done, text.rfind(b"\n", max(0, seed - 64), seed) + 1, seed - 64)
        match = _LIST.search(text, line, seed + 64)
        if match is None:
            continue
        match = _LIST.match(text, match.start()) or match
        done = max(match.end(), seed + 1)
        start, listed = match.start(), match[0]
        kept = _kept_numbers if len(listed) <= MOST_KEPT else _numbers
        yield from (replace(one, at=start) for one in kept(listed))


def _called(text: bytes) -> Iterator[_Read]:
    done = 0
    for call in _NUMBER_CALL.finditer(text):
        if call.start() < done:
            continue
        first = _CALLED.search(text, max(done, call.start() - 8), call.end())
        match = first and _CALLS.match(text, first.start())
        if match is None:
            continue
        done = match.end()
        calls = list(_CALLED.finditer(text, match.start(), match.end()))
        read = (_read([m.span() for m in calls], [m[1] for m in calls], base) for base in (10, 16))
        yield from filter(None, read)


def _numbers(listed: bytes) -> list[_Read]:
    """The ways to read a list, as if it began a text."""
    found = list(_NUMBER.finditer(listed))
    numbers = [m[1] for m in found]
    if all(len(number) == 8 for number in numbers) and not set(b"".join(numbers)) - {48, 49}:
        bases = (2,)
    elif all(len(number) % 2 == 0 for number in numbers) or b"x" in listed.lower():
        bases = (16, 10, 8)
    else:
        bases = (10, 8)
    places = [m.span() for m in found]
    return [one for base in bases if (one := _read(places, numbers, base)) is not None]


MOST_KEPT = 1 << 12
"""Bytes of the longest list whose readings are kept, as the next version of a file has it, too: 32 MB at most."""
_kept_numbers = lru_cache(1 << 9)(_numbers)


def _read(places: Sequence[tuple[int, int]], numbers: Sequence[bytes], base: int) -> _Read | None:
    try:
        if base == 16:
            parts = [bytes.fromhex((b"0" * (len(n) % 2) + n).decode()) for n in numbers]
        elif base == 10:
            parts = [bytes([v]) if v < 256 else chr(v).encode("utf-8", "replace") for v in map(int, numbers)]
        else:
            parts = [bytes([int(n, base) & 255]) for n in numbers]
    except (ValueError, OverflowError):
        return None
    begins = array("q", [start for start, _ in places])
    return _Read(0, b"".join(parts), begins, places[-1][1], array("q", accumulate(map(len, parts))))
