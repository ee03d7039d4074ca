"""What the interpreter and the C library would do between the steps of a training, and need not.

Clipping makes thousands of small objects a micro-batch: every so often Python's collector walks all objects of the
process for them, transformers' and torch's own among them, and finds nothing. And glibc hands large blocks back as
soon as they are freed, to have them zeroed page by page when the next micro-batch asks for them. What both cost:
docs/training.md, "What it costs".
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
"""mallopt's parameters (malloc.h): at how much free memory the heap shrinks, how many blocks lie outside."""
_STEADY = {_TRIM_THRESHOLD: -1, _MMAP_MAX: 0}
"""Never, none."""
_DEFAULT = {_TRIM_THRESHOLD: 1 << 26, _MMAP_MAX: 1 << 16}
"""The heap's limit as glibc sets it by itself once blocks of 32 MiB were freed; the number from mallopt(3)."""


@contextmanager
def steady_memory() -> Iterator[None]:
    """Around a training loop: what lives before it is not searched for garbage, and freed memory is kept for reuse.

    New objects are collected as ever. Afterwards freed memory goes back to the system. Where the C library is not
    glibc, memory is left to it.
    """
    gc.freeze()
    libc = _glibc()
    for parameter, value in _STEADY.items() if libc else ():
        libc.mallopt(parameter, value)
    try:
        yield
    finally:
        gc.unfreeze()
        for parameter, value in _DEFAULT.items() if libc else ():
            libc.mallopt(parameter, value)
        if libc:
            libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "gnu_get_libc_version") else None
