"""What a rule finds on a line by that line alone, kept for the next version of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

MOST = 512
"""Bytes of the longest line of which it is kept: 4 MB a rule at most."""
KEPT = 1 << 13
Found = TypeVar("Found")


def by_line(look: Callable[[bytes], Iterable[Found]], line: bytes) -> Iterable[Found]:
    """`look(line)`, which depends on nothing else."""
    return kept(look, line) if len(line) <= MOST else look(line)


@lru_cache(4 * KEPT)
def kept(look: Callable[[bytes], Iterable[Found]], line: bytes) -> tuple[Found, ...]:
    return tuple(look(line))
