"""Memory of a long step: what lives before is not searched for garbage, and what it frees is given back, or kept.

An extraction's threads hold a few MB of text for a short while, beside small findings that stay. glibc keeps freed
blocks for the next, an arena a thread: of celery's history 170 MB more than was in use. A training allocates the
same large blocks at each step. With another C library, memory is left to it.
"""

import ctypes
import gc
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_TRIM, _MMAP, _MMAP_MAX, _ARENAS = -1, -3, -4, -8
"""Numbers of M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX and M_ARENA_MAX (malloc.h)."""
_AT_ONCE = {_ARENAS: 1, _MMAP: 1 << 22, _TRIM: 1 << 23}
"""One arena, and blocks of 4 MiB mapped one by one. Smaller blocks, such as texts, are reused until `give_back`: to
map and clear each takes processor time."""
_KEPT = {_TRIM: -1, _MMAP_MAX: 0}
"""The heap never shrinks, and no block lies outside of it."""
_DEFAULT = {_ARENAS: 0, _MMAP: 1 << 25, _TRIM: 1 << 26, _MMAP_MAX: 1 << 16}
"""The most that glibc comes to by itself (mallopt(3)), as large blocks are allocated again and again."""


@contextmanager
def freed_at_once() -> Iterator[None]:
    """What is freed goes back to the system, smaller blocks with `give_back`; collections of garbage are rare."""
    thresholds = gc.get_threshold()
    with _old_is_no_garbage(), _allocation(_AT_ONCE):
        # millions of small objects and hardly a circle: a tenth of the time went into looking for some
        gc.set_threshold(50_000, 20, 20)
        try:
            yield
        finally:
            gc.set_threshold(*thresholds)


@contextmanager
def kept_for_reuse() -> Iterator[None]:
    """What is freed is kept for the next allocation, and goes back at the end; new garbage is collected as ever."""
    with _old_is_no_garbage(), _allocation(_KEPT):
        yield


def give_back() -> None:
    """What is free goes back to the system, wherever it lies."""
    if library := _glibc():
        library.malloc_trim(0)


@contextmanager
def _old_is_no_garbage() -> Iterator[None]:
    """What lives before is not searched for garbage. Where a caller has seen to that, it stays so afterwards."""
    frozen = gc.get_freeze_count()
    if not frozen:
        gc.freeze()
    try:
        yield
    finally:
        if not frozen:
            gc.unfreeze()


@contextmanager
def _allocation(options: Mapping[int, int]) -> Iterator[None]:
    library = _glibc()
    if library is None:
        yield
        return
    for option, value in options.items():
        library.mallopt(option, value)
    try:
        yield
    finally:
        for option in options:
            library.mallopt(option, _DEFAULT[option])
        give_back()


def _glibc() -> ctypes.CDLL | None:
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "gnu_get_libc_version") else None
