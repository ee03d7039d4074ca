"""Why a filter takes a value away: noted for `hush secrets --why`, and free of charge for everything else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Rejected(NamedTuple):
    """reason: what the filter takes the value for. value: bytes that are compared with a line, and never shown."""

    reason: str
    value: bytes


_NOTED: list[list[Rejected]] = []


def rejected(reason: str, value: bytes) -> None:
    """Called by a filter that takes `value` away; its result is "nothing found"."""
    if _NOTED:
        _NOTED[-1].append(Rejected(reason, value))


@contextmanager
def noted() -> Iterator[list[Rejected]]:
    """What filters take away meanwhile; for one thread of one process that explains."""
    _NOTED.append([])
    try:
        yield _NOTED[-1]
    finally:
        _NOTED.pop()
