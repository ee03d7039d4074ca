"""A file as chunks of a fixed number of bytes: one chunk is one training example."""

from __future__ import annotations

from collections.abc import Iterator


def chunk_ranges(size: int, chunk_bytes: int) -> Iterator[tuple[int, int]]:
    """The byte ranges [start, end) that tile a file of `size` bytes; only the last may be shorter."""
    for start in range(0, size, chunk_bytes):
        yield start, min(start + chunk_bytes, size)


def overlapped(start: int, end: int, chunk_bytes: int) -> range:
    """The indices of the chunks that share at least one byte with [start, end).

    Secrets are found on whole files and labelled by overlap: a scan chunk by chunk misses those that
    stand across a border (`docs/design/extraction.md`, finding 7).

    >>> list(overlapped(15, 17, 16)), list(overlapped(16, 32, 16))
    ([0, 1], [1])
    """
    if end <= start:
        return range(0)
    return range(start // chunk_bytes, (end - 1) // chunk_bytes + 1)
