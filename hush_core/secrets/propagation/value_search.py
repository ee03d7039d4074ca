"""Where else a found value stands: every file is searched for every value in every usual encoding.

Detectors see a value where its context gives it away; its copies stand in tests, logs, notebooks and base64.
On ansible this finds 486 (example, secret) pairs beyond the detectors' 316.
"""

from __future__ import annotations

import base64
import html
import json
import re
import string
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus

import hyperscan
import numpy as np

MIN_ENCODED = 8
"""Encoded forms shorter than this are not sought: they would be found everywhere by chance."""
MIN_SPLIT = 16
"""Shortest form that is also sought across line breaks and string joints."""
COMPILED_TWICE = 20_000
"""Up to so many patterns there is one database for all, and another for those sought across joints."""
MANY_ESCAPES = 4096
PATTERNS_A_DATABASE = 250_000
"""One pass over the text for each: few large databases beat many small ones by far."""
ARMOUR_MARGIN = 80
"""Bytes around a line of a private key that are labelled with it (its BEGIN or END line)."""

_BASE64_RUN = re.compile(
    rb"[A-Za-z0-9+/_-]*+(?:\r?\n[ \t]*+[A-Za-z0-9+/_-]++(?==*[ \t]*+\r?(?:\n|\Z)))*+={0,2}"
)
"""From a place within base64 to its end: lines that hold nothing else go on with it."""

_BASE64 = frozenset(string.ascii_letters.encode() + string.digits.encode() + b"+/_-")
_DELETED = b" \t\r\n\"'`,\\"
_IS_DELETED = np.isin(np.arange(256, dtype=np.uint8), np.frombuffer(_DELETED, np.uint8))


@dataclass(frozen=True)
class SearchTerm:
    """One value to search for.

    `any_case`: ASCII letters match in either case. `fragments`: parts that give the value away by themselves
    (the lines of a private key). `ends`: parts that do not (its first line, which keys share, and a short last
    one), but belong to the value where they stand beside a fragment. `reason`: of an edge where the value stands as
    it is; "propagated:raw" if empty.
    """

    value: bytes = field(repr=False)
    any_case: bool = False
    fragments: tuple[bytes, ...] = field(default=(), repr=False)
    reason: str = ""
    ends: tuple[bytes, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Hit:
    """Value number `index` stands in bytes [start, end) of the content, in the encoding `form`."""

    index: int
    start: int
    end: int
    form: str

    def with_armour(self, content: bytes) -> tuple[int, int]:
        """The place, and what may belong to it around a line of a private key."""
        margin = ARMOUR_MARGIN if self.form == "fragment" else 0
        return max(0, self.start - margin), min(len(content), self.end + margin)

    def ends(self, content: bytes, search_term: SearchTerm) -> Iterator[tuple[int, int]]:
        """Where the value's `ends` stand within a margin of a fragment, in one piece."""
        for part in search_term.ends if self.form == "fragment" else ():
            reach = ARMOUR_MARGIN + len(part)
            place = content.rfind(part, max(0, self.start - reach), self.start)
            if place < 0:
                place = content.find(part, self.end, self.end + reach)
            if place >= 0:
                yield place, place + len(part)


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


class ValueSearch:
    """A search for many values at once.

    Args:
        search_terms: the values; a hit's `index` counts them from 0.

    Attributes:
        patterns: how many distinct byte strings are sought.
        threads: several may call `find` at once.
    """

    threads = True

    def __init__(self, search_terms: Sequence[SearchTerm]) -> None:
        owners: dict[tuple[bytes, bool], dict[int, str]] = {}
        for index, item in enumerate(search_terms):
            for pattern, form in encodings(item.value):
                folded = item.any_case and form in ("raw", "newlines")
                key = (pattern.lower() if folded else pattern, folded)
                owners.setdefault(key, {}).setdefault(index, form)
            for fragment in item.fragments:
                owners.setdefault((fragment, False), {}).setdefault(index, "fragment")
        self._patterns = list(owners)
        self._owners = [list(owned.items()) for owned in owners.values()]
        self.patterns = len(self._patterns)
        whole, broken = [], []  # by number; the whole ones are also sought across joints
        for i, (pattern, _) in enumerate(self._patterns):
            (whole if len(pattern) >= MIN_SPLIT and not breaks(pattern) else broken).append(i)
        once = self.patterns > COMPILED_TWICE
        self._unbroken, others = _compile(self._patterns, whole, broken if once else range(self.patterns))
        self._databases = self._unbroken + others if once else others
        self._scratches = threading.local()

    def patterns_of(self, wanted: Callable[[int], bool]) -> int:
        """How many of the byte strings are sought for a value whose index is wanted."""
        return sum(any(wanted(index) for index, _ in owners) for owners in self._owners)

    def __call__(self, content: bytes) -> Iterator[Hit]:
        """`find`, for `scans.looked_at`."""
        return self.find(content)

    def find(self, content: bytes) -> Iterator[Hit]:
        """Every hit in one whole file, in no particular order; one place may be hit in several forms."""
        yield from self._hits(self._scan(self._databases, content), content)
        if not self._unbroken:
            return
        joined = joined_up(content)
        if len(joined) == len(content):
            return
        found = self._scan(self._unbroken, joined)
        if found:
            # \n and \r written out become blanks of the same length, so that offsets stay
            spaced = content.replace(b"\\n", b"  ").replace(b"\\r", b"  ")
            places = np.flatnonzero(~_IS_DELETED[np.frombuffer(spaced, np.uint8)])
            back = [(i, int(places[start]), int(places[end - 1]) + 1) for i, start, end in found]
            yield from self._hits([b for b in back if b[2] - b[1] != len(self._patterns[b[0]][0])], content)

    def _scan(self, databases: list[hyperscan.Database], content: bytes) -> list[tuple[int, int, int]]:
        found: list[tuple[int, int, int]] = []
        patterns = self._patterns

        def report(pattern: int, _from: int, end: int, _flags: int, _context: object) -> None:
            found.append((pattern, end - len(patterns[pattern][0]), end))

        for database, scratch in zip(databases, self._scratch(databases), strict=True):
            database.scan(content, match_event_handler=report, scratch=scratch)
        return found

    def _scratch(self, databases: list[hyperscan.Database]) -> list[hyperscan.Scratch]:
        """This thread's own: hyperscan refuses two scans at once in one."""
        kept = self._scratches.__dict__.setdefault("kept", {})
        if id(databases) not in kept:
            kept[id(databases)] = [hyperscan.Scratch(database) for database in databases]
        return kept[id(databases)]

    def _hits(self, found: list[tuple[int, int, int]], content: bytes) -> Iterator[Hit]:
        begin, end_of_run = 0, 0
        for pattern, start, end in sorted(found, key=lambda hit: hit[2]):
            for index, form in self._owners[pattern]:
                if form == "base64":
                    # the character before may hold some of its bits; a longer value moves all that follow
                    if not begin <= end <= end_of_run:
                        begin, end_of_run = end, _BASE64_RUN.match(content, end).end()
                    mixed = start > 0 and content[start - 1] in _BASE64
                    yield Hit(index, start - mixed, end_of_run, form)
                else:
                    yield Hit(index, start, end, form)


def joined_up(content: bytes) -> bytes:
    """The content without what a line break or a joint of strings may put into a value."""
    parts = content.split(b"\\", MANY_ESCAPES + 1)
    if len(parts) > MANY_ESCAPES + 1:
        content = content.replace(b"\\n", b"").replace(b"\\r", b"")
    elif len(parts) > 1:  # five times as fast as two searches for two bytes
        content = b"".join([parts[0], *(p[1:] if p[:1] in (b"n", b"r") else p for p in parts[1:])])
    return content.translate(None, _DELETED)


def _compile(patterns: list[tuple[bytes, bool]], *groups: Sequence[int]) -> list[list[hyperscan.Database]]:
    """The databases of each group, of about equal size; two compiled at once: 80 µs a pattern are minutes."""

    def one(part: Sequence[int]) -> hyperscan.Database:
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[patterns[i][0] for i in part],
            ids=list(part),
            elements=len(part),
            flags=[hyperscan.HS_FLAG_CASELESS if patterns[i][1] else 0 for i in part],
            literal=True,
        )
        return database

    with ThreadPoolExecutor(2) as pool:
        made = [[pool.submit(one, part) for part in _parts(group)] for group in groups]
        return [[database.result() for database in group] for group in made]


def _parts(group: Sequence[int]) -> list[Sequence[int]]:
    count = -(-len(group) // PATTERNS_A_DATABASE)
    return [group[len(group) * n // count : len(group) * (n + 1) // count] for n in range(count)]


def breaks(pattern: bytes) -> bool:
    """Whether a byte string holds what `joined_up` takes out."""
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
