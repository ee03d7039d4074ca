"""Where a version of a text differs from the one before, and what must be searched again for that.

A history holds each file in dozens of versions that share nearly all their lines. A search of a few lines finds new
hits only near a change: `changed` says where that is, `around` widens it to all that a match may need. Bytes are
compared, not hashed, and time is bounded by a multiple of the length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

Range = tuple[int, int]
Row = tuple


class Change(NamedTuple):
    """Bytes [start, end) are not as before; from `end` on the text continues as the one before did from
    `before`."""

    start: int
    end: int
    before: int


MIN_KEPT = 256
"""Bytes: a shorter stretch between two changes is not recognised as equal."""
EFFORT = 64
"""How often in all a text may be searched for where it continues as before; then the rest counts as changed."""


def changed(before: bytes, now: bytes) -> list[Change]:
    """The changed lines of `now`, ascending and apart; all between two of them is one stretch of `before`.

    A change may be empty where lines were taken out: what was apart touches there.

    >>> old = b"".join(b"%d\\n" % n for n in range(1000, 1200))
    >>> changed(old, old.replace(b"1010", b"new").replace(b"1100\\n", b""))
    [Change(start=50, end=54, before=55), Change(start=499, end=499, before=505)]
    """
    ranges: list[Change] = []
    head = _equal(before, now, 0, 0, min(len(before), len(now)))
    tail = _equal_ends(before, now, min(len(before), len(now)) - head)
    end, end_before = len(now) - tail, len(before) - tail
    if tail and now[end - 1 : end] != b"\n":  # to the end of the line that they share
        more = now.find(b"\n", end) + 1 or len(now)
        end, end_before = more, end_before + more - end
    at, at_before, effort = head, head, EFFORT * (end_before - head)
    while at < end or at_before < end_before:
        first = now.rfind(b"\n", 0, at) + 1
        at_before -= at - first
        again = first if first == at else now.find(b"\n", at) + 1 or end
        step = 0
        while True:
            if end - again < MIN_KEPT or effort < 0:
                return [*ranges, Change(first, max(first, end), end_before)]
            place = before.find(now[again : again + MIN_KEPT], at_before, end_before)
            if place >= 0:
                break
            effort -= end_before - at_before
            again = now.find(b"\n", again + step) + 1 or end
            step += step // 4 + 8
        ranges.append(Change(first, again, place))
        equal = _equal(before, now, place, again, min(end_before - place, end - again))
        at, at_before = again + equal, place + equal
    return ranges


def _equal(before: bytes, now: bytes, place: int, at: int, most: int) -> int:
    """How many bytes are equal from `place` and `at` on, `most` at most."""

    def parts(low: int, high: int) -> tuple[bytes, bytes]:
        return before[place + low : place + high], now[at + low : at + high]

    return _shared(parts, most, "little")


def _equal_ends(before: bytes, now: bytes, most: int) -> int:
    """How many bytes are equal at the end, `most` at most."""
    n, m = len(before), len(now)

    def parts(low: int, high: int) -> tuple[bytes, bytes]:
        return before[n - high : n - low], now[m - high : m - low]

    return _shared(parts, most, "big")


_AT_ONCE = 1024
"""Bytes of which it is found at once where they differ."""


def _shared(
    parts: Callable[[int, int], tuple[bytes, bytes]], most: int, order: Literal["little", "big"]
) -> int:
    """How many bytes two texts share, counted from where `parts` counts: their bytes [low, high).

    order: "little" where these begin at `low`, "big" where they end there.
    """
    low, step = 0, 512
    while low < most:
        high = min(most, low + step)
        one, other = parts(low, high)
        if one != other:
            while high - low > _AT_ONCE:
                middle = (low + high) // 2
                one, other = parts(low, middle)
                low, high = (middle, high) if one == other else (low, middle)
            one, other = parts(low, high)
            differing = int.from_bytes(one, order) ^ int.from_bytes(other, order)
            return low + ((differing & -differing).bit_length() - 1) // 8
        low, step = high, 2 * step
    return most


def moved(rows: Sequence[Row], changes: Sequence[Change], parts: Sequence[Range]) -> Iterator[Row]:
    """Where rows (start, end, …) of the text before are now, ascending; those that touch `parts` are left out.

    rows: ascending by start. parts: ascending, with every change in them.
    """
    places = iter(rows)
    row = next(places, None)
    kept = [(0, 0), *((change.end, change.before) for change in changes)]
    n = 0
    for number, (now, before) in enumerate(kept):
        last = changes[number].start if number < len(changes) else None
        while row is not None and (last is None or row[0] - before + now < last):
            start, end = row[0] - before + now, row[1] - before + now
            while n < len(parts) and parts[n][1] <= start:
                n += 1
            if row[0] >= before and (n == len(parts) or end <= parts[n][0]):
                yield (start, end, *row[2:])
            row = next(places, None)


MARGIN_LINES, MARGIN_BYTES = 7, 160
"""What is looked at beside a change: lines that hold a letter or a digit, and bytes, at least as many of both."""
_WORD = re.compile(rb"[A-Za-z0-9]")


def around(text: bytes, changes: Sequence[Change], margin: int = MARGIN_BYTES) -> list[Range]:
    """The changes widened to whole lines, by MARGIN_LINES and `margin` bytes on both sides; what touches is one.

    The text between two changes is read once from each side, however few of its lines hold a letter or a digit.
    """
    widened: list[Range] = []
    apart = [0, *(place for change in changes for place in change[:2]), len(text)]
    for n, (start, end, _) in enumerate(changes):
        first, last = _up(text, start, margin, apart[2 * n]), _down(text, end, margin, apart[2 * n + 3])
        if widened and first <= widened[-1][1]:
            widened[-1] = (widened[-1][0], max(last, widened[-1][1]))
        else:
            widened.append((first, last))
    return widened


def _up(text: bytes, at: int, margin: int, least: int) -> int:
    farthest, seen = at - margin, 0
    while at > least and (seen < MARGIN_LINES or at > farthest):
        above = text.rfind(b"\n", 0, at - 1) + 1
        seen += _WORD.search(text, above, at) is not None
        at = above
    return at


def _down(text: bytes, at: int, margin: int, most: int) -> int:
    farthest, seen = at + margin, 0
    while at < most and (seen < MARGIN_LINES or at < farthest):
        below = text.find(b"\n", at) + 1 or len(text)
        seen += _WORD.search(text, at, below) is not None
        at = below
    return at
