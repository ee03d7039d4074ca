"""Files that are neither scanned nor trained on: how many by reason, and which. Names stay in private reports."""

from __future__ import annotations

from collections import Counter

from hush_core.corpus.paths import printable_path

MOST_NAMED = 10_000
"""Of a source; the counts have all."""


class Skipped(Counter[str]):
    """Reason → count, and `names`: (reason, path) of the first MOST_NAMED."""

    names: list[tuple[str, str]]

    def __init__(self, *args: object, **counts: int) -> None:
        super().__init__(*args, **counts)
        self.names = []

    def note(self, reason: str, path: bytes) -> None:
        """Count one file."""
        self[reason] += 1
        if len(self.names) < MOST_NAMED:
            self.names.append((reason, printable_path(path)))
