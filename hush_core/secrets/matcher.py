"""Many expressions in one pass: hyperscan's databases, which several threads may ask at once."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import hyperscan


class Matcher:
    """One database. Hyperscan refuses two scans at once in one scratch space, so each thread has its own."""

    def __init__(self, database: hyperscan.Database) -> None:
        self.database, self._thread = database, threading.local()

    @classmethod
    def of(
        cls, expressions: Sequence[bytes], ids: Sequence[int], flags: Sequence[int], *, literal: bool = False
    ) -> Matcher:
        """Compile expressions, each with a number and flags; `literal`: they are the bytes themselves."""
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        columns = {"expressions": list(expressions), "ids": list(ids), "flags": list(flags)}
        database.compile(**columns, elements=len(ids), literal=literal)
        return cls(database)

    def __call__(self, text: bytes) -> list[tuple[int, int]]:
        """(number, end) of all that matches, in no particular order."""
        if not hasattr(self._thread, "scratch"):
            self._thread.scratch = hyperscan.Scratch(self.database)
        found: list[tuple[int, int]] = []
        self.database.scan(
            text,
            match_event_handler=lambda number, _from, end, _flags, _context: found.append((number, end)),
            scratch=self._thread.scratch,
        )
        return found
