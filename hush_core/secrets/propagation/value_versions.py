r"""The next version of a content that was searched for values: it is searched where it changed.

Nearly all versions of a file differ from the one before in a few lines. If the text near a change holds nothing
that is searched for, and nothing was found there before, the version has what the one before had, at its new place.
Else all of it is searched. So this decides which versions are searched, never what a search finds.

What makes it safe. Around a change is a zone, and around that a part of the text:

- A zone ends, above and below, with a line that holds two words with one blank between. The first ends in a letter
  that is no hexadecimal digit and no mark of a comment (`REM`, `dnl`). An unchanged line is between it and the
  change. No run of encoded text crosses such a blank (`layouts.gap` wants a line break, such marks or quotes), and
  no list of numbers or calls crosses the words. So encoded text in the zone is whole, and encoded text outside is
  unchanged.
- A part extends for LITERAL letters and digits that are no escape. A value that touches the zone and is longer than
  that, in any spelling, shows in the part by one of its pieces of PIECE bytes, which are searched for, too.
- Encodings that take in more are searched as a whole if a part holds one: quoted-printable (in the text or in what
  it decodes to), ASCII85, compressed text. So is what follows a version that does.

It does not cover what is bounded by the size of a content: more than `decoding.BUDGET` decoded, and escapes of
escapes in a value over `escapes.AROUND` bytes.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hush_core.corpus.changes import Change, Range, changed, moved
from hush_core.secrets.detectors import deadline
from hush_core.secrets.propagation.decoding import TooMuch
from hush_core.secrets.propagation.escapes import is_quoted
from hush_core.secrets.propagation.gate import FRAMED, QUOTED, kinds
from hush_core.secrets.propagation.value_search import APART, TOGETHER, Hit, ValueSearch

MIN_BYTES = 1024
"""A smaller content is searched as a whole."""
LITERAL = 48
"""Letters and digits, that are no escape, from a zone to the end of its part."""
REACH = 160
"""Bytes that a blank or so many literal characters are searched for in first; then eight times as many."""
_BLANK = re.compile(rb"(?<!RE)(?<!dn)[g-wyzG-WYZ] [A-Za-z]")
_LITERAL = re.compile(rb"(?<![\\%&#A-Za-z0-9])[A-Za-z0-9]+")


@dataclass(frozen=True)
class _Nearby:
    """A version's changes, the zones around them, and the parts around these."""

    changes: list[Change]
    zones: list[Range]
    parts: list[Range]


class VersionSearch:
    """`ValueSearch` for `scans.looked_at`, which is given the versions of a file one after another."""

    threads = True
    LEAST = MIN_BYTES

    def __init__(self, search: ValueSearch) -> None:
        self._search = search

    def __call__(self, content: bytes) -> Iterator[Hit]:
        return iter(self._search.in_time(content)[0])

    def each(self, texts: Sequence[bytes]) -> list[list[Hit]]:
        return self._search.each(texts)

    def follow(
        self,
        texts: Sequence[bytes],
        before: Sequence[int | None],
        changes: Sequence[list[Change] | None] | None = None,
    ) -> Iterator[list[Hit]]:
        """What is in each text; `before`: the place in `texts` of the version before it; `changes`: where they
        differ."""
        if changes is None:
            changes = [
                changed(texts[one], text) if one is not None and len(text) >= MIN_BYTES else None
                for text, one in zip(texts, before, strict=True)
            ]
        near = [
            nearby(text, one) if one is not None else None for text, one in zip(texts, changes, strict=True)
        ]
        for n in self._seen(texts, near):
            near[n] = None
        whole = [n for n, one in enumerate(near) if one is None]
        place = {number: n for n, number in enumerate(whole)}
        searched = self._search.searched([texts[n] for n in whole], [place.get(before[n]) for n in whole])
        whole_of = dict(zip(whole, searched, strict=True))
        found: dict[int, list[Hit]] = {}
        settled: list[bool] = []
        for n, (text, one, earlier) in enumerate(zip(texts, near, before, strict=True)):
            kept = None
            if one is not None and settled[earlier]:
                rows = sorted((h.start, h.end, h.index, h.form) for h in found[earlier])
                kept = [Hit(index, start, end, form)
                        for start, end, index, form in moved(rows, one.changes, one.zones)]  # fmt: skip
                # a hit that is gone may have hidden another of the same value, in pieces
                kept = kept if len(kept) == len(rows) else None
            if kept is None and n not in whole_of:
                whole_of[n] = self._search.in_time(text, found[earlier])
            settled.append(kept is not None or not (whole_of[n][1] or _is_far(text)))
            found[n] = whole_of[n][0] if kept is None else kept
            yield found[n]

    def _seen(self, texts: Sequence[bytes], near: Sequence[_Nearby | None]) -> set[int]:
        """The texts, by number, in whose zones there is anything to be seen."""
        seen: set[int] = set()
        group: list[tuple[int, Range]] = []
        size = 0
        for n, one in enumerate(near):
            for part in one.parts if one is not None else ():
                group.append((n, part))
                size += part[1] - part[0]
            if size > TOGETHER:
                seen |= self._seen_in(texts, near, group)
                group, size = [], 0
        return seen | self._seen_in(texts, near, group)

    def _seen_in(
        self, texts: Sequence[bytes], near: Sequence[_Nearby | None], group: Sequence[tuple[int, Range]]
    ) -> set[int]:
        pieces, starts, size = [], [], 0
        for n, (first, last) in group:
            starts.append(size)
            pieces += texts[n][first:last], APART
            size += last - first + len(APART)
        together = b"".join(pieces)
        if kinds(together) & {FRAMED, QUOTED}:
            seen = {n for n, (first, last) in group if _is_far(texts[n][first:last])}
            if seen:
                return seen | self._seen_in(texts, near, [one for one in group if one[0] not in seen])
        seen: set[int] = set()
        try:
            with deadline.limited(len(together), deadline.AGAIN):
                places = list(self._search.places(together))
        except deadline.TooSlow:
            return {n for n, _ in group}
        except TooMuch:
            if len(group) == 1:
                return {group[0][0]}
            half = len(group) // 2
            return self._seen_in(texts, near, group[:half]) | self._seen_in(texts, near, group[half:])
        for start, end in places:
            number = bisect_right(starts, start) - 1
            n, (first, _) = group[number]
            start, end = start - starts[number] + first, end - starts[number] + first
            if any(start < below and above < end for above, below in near[n].zones):
                seen.add(n)
        return seen


def nearby(now: bytes, changes: list[Change]) -> _Nearby | None:
    """Where a version is to be searched; None: as a whole, as too much of it changed."""
    zones: list[Range] = []
    parts: list[Range] = []
    size = last = 0
    for change in changes:
        if zones and change.end < zones[-1][1] and now.count(b"\n", change.end, zones[-1][1]) > 2:
            continue
        zone = _zone_up(now, change.start), _zone_down(now, change.end)
        part = _literal_up(now, zone[0]), _literal_down(now, zone[1])
        if parts and part[0] <= parts[-1][1]:
            zone, part = (zones.pop()[0], zone[1]), (parts.pop()[0], part[1])
            size -= last
        zones.append(zone)
        parts.append(part)
        last = part[1] - part[0]
        size += last
        if 8 * size > 7 * len(now):
            return None
    return _Nearby(changes, zones, parts)


def _zone_up(text: bytes, at: int) -> int:
    """The beginning of the nearest line with a blank between words that has another line between it and `at`."""
    lines = 0
    while at > 0:
        above = text.rfind(b"\n", 0, at - 1) + 1
        lines += 1
        if lines > 1 and _BLANK.search(text, above, at):
            return above
        at = above
    return 0


def _zone_down(text: bytes, at: int) -> int:
    first = text.find(b"\n", at) + 1
    place = _BLANK.search(text, first) if first else None
    return (text.find(b"\n", place.start()) + 1 if place else 0) or len(text)


def _literal_up(text: bytes, at: int) -> int:
    reach = REACH
    while at > 0:
        first = text.rfind(b"\n", 0, max(0, at - reach)) + 1
        if first == 0 or _literal(text, first, at):
            return first
        reach *= 8
    return 0


def _literal_down(text: bytes, at: int) -> int:
    reach = REACH
    while at < len(text):
        last = text.find(b"\n", at + reach) + 1 or len(text)
        if last == len(text) or _literal(text, at, last):
            return last
        reach *= 8
    return at


def _literal(text: bytes, first: int, last: int) -> bool:
    return sum(map(len, _LITERAL.findall(text, first, last))) >= LITERAL


def _is_far(text: bytes) -> bool:
    """Whether what is found of a text may depend on any other place of it."""
    held = kinds(text)
    return FRAMED in held or (QUOTED in held and is_quoted(text))
