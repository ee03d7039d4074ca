"""A search for many byte strings at once: hyperscan's databases of literals, and the place of each hit."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import hyperscan

from hush_core.secrets.propagation.spellings import Spelling

PATTERNS_A_DATABASE = 250_000
"""One pass over the text for each: few large databases beat many small ones by far."""
LONGEST = 3_999
"""Bytes of a byte string that hyperscan is given: it takes expressions of 16,000 characters, four a byte."""


class Seeker:
    """Byte strings, each with the values that it is a spelling of."""

    def __init__(self, owners: dict[tuple[bytes, bool], dict[int, Spelling]]) -> None:
        self.patterns = list(owners)
        self._sizes = [min(len(pattern), LONGEST) for pattern, _ in self.patterns]
        self._long = {n for n, (pattern, _) in enumerate(self.patterns) if len(pattern) > LONGEST}
        self.owners = list(owners.values())
        self._databases = _compile(self.patterns)
        self._scratches = threading.local()

    def scan(self, text: bytes) -> list[tuple[int, int, int]]:
        """(pattern, start, end) of all that is found."""
        found: list[tuple[int, int, int]] = []
        if not self._databases or not text:
            return found
        sizes = self._sizes

        def report(pattern: int, _from: int, end: int, _flags: int, _context: object) -> None:
            found.append((pattern, end - sizes[pattern], end))

        for database, scratch in zip(self._databases, self._scratch(), strict=True):
            database.scan(text, match_event_handler=report, scratch=scratch)
        return [*self._whole(text, found)] if self._long else found

    def _whole(self, text: bytes, found: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
        """What was found; of byte strings longer than LONGEST where all of one is."""
        for number, start, end in found:
            if number in self._long:
                pattern, folded = self.patterns[number]
                end = start + len(pattern)
                stands = text[start:end]
                if (stands.lower() if folded else stands) != pattern:
                    continue
            yield number, start, end

    def _scratch(self) -> list[hyperscan.Scratch]:
        """This thread's own: hyperscan refuses two scans at once in one."""
        kept = self._scratches.__dict__
        if "scratch" not in kept:
            kept["scratch"] = [hyperscan.Scratch(database) for database in self._databases]
        return kept["scratch"]


def _compile(patterns: list[tuple[bytes, bool]]) -> list[hyperscan.Database]:
    """Databases of about equal size; two compiled at once: 80 µs a pattern are minutes.

    Byte strings with a NUL have one of their own, as expressions: the binding takes a literal to end there.
    """

    def one(part: Sequence[int], literal: bool) -> hyperscan.Database:
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        texts = [patterns[i][0][:LONGEST] for i in part]
        database.compile(
            expressions=texts if literal else [b"".join(b"\\x%02x" % c for c in text) for text in texts],
            ids=list(part),
            elements=len(part),
            flags=[hyperscan.HS_FLAG_CASELESS if patterns[i][1] else 0 for i in part],
            literal=literal,
        )
        return database

    with_nul = [i for i, (text, _) in enumerate(patterns) if b"\0" in text]
    plain = sorted(set(range(len(patterns))) - set(with_nul))
    with ThreadPoolExecutor(2) as pool:
        parts = [
            (part, literal) for group, literal in ((plain, True), (with_nul, False)) for part in _parts(group)
        ]
        return list(pool.map(lambda part: one(*part), parts))


def _parts(group: Sequence[int]) -> list[Sequence[int]]:
    count = -(-len(group) // PATTERNS_A_DATABASE)
    return [group[len(group) * n // count : len(group) * (n + 1) // count] for n in range(count)]
