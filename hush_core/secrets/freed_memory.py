"""What an extraction frees goes back to the system at once.

Its threads hold a few MB of text for a short while, beside small findings that stay. The C library keeps freed
blocks for the next, an arena a thread: of celery's history 170 MB more than was in use.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

TRIM_BATCHES = 8
"""After so many batches of texts what lies free between others goes back, too: 50 MB after celery's search."""
_TRIM, _MMAP, _ARENAS = -1, -3, -8
"""glibc's numbers of M_TRIM_THRESHOLD, M_MMAP_THRESHOLD and M_ARENA_MAX."""
_BYTES = 1 << 18


@contextmanager
def freed_at_once() -> Iterator[None]:
    """One arena, and blocks of _BYTES mapped one by one; afterwards the most that glibc comes to by itself, as a
    training allocates large blocks again and again. Nothing with another C library."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        yield
        return
    try:
        for option, value in ((_ARENAS, 1), (_MMAP, _BYTES), (_TRIM, _BYTES)):
            library.mallopt(option, value)
        yield
    finally:
        for option, value in ((_ARENAS, 0), (_MMAP, 1 << 25), (_TRIM, 1 << 26)):
            library.mallopt(option, value)
        give_back()


def give_back() -> None:
    """What is free goes back to the system, wherever it lies."""
    if hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)
