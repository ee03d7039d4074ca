"""Paths and dotted names as imports have them: composed, joined, by their endings."""

import posixpath
import unicodedata
from collections.abc import Iterator

MAX_PARTS = 32
"""A path or a dotted name is looked up by at most so many of its last parts: deep paths stay linear."""


def text(name: bytes) -> str:
    """Bytes as a name: UTF-8, composed; other bytes survive as surrogates."""
    return composed(name.decode("utf-8", "surrogateescape"))


def composed(name: str) -> str:
    """Unicode in composed form, so that a path in decomposed form (macOS) still matches."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def joined(folder: str, relative: str) -> str | None:
    """`relative` as seen from `folder`, without `.` and `..`; None where it leaves the repository.

    >>> joined("a/b", "../c.h"), joined("a", "../.."), joined("a", "..")
    ('a/c.h', None, '')
    """
    path = posixpath.normpath(posixpath.join("/" + folder, relative.lstrip("/")))[1:]
    depth = folder.count("/") + 1 if folder else 0
    for part in relative.split("/"):
        if part == "..":
            depth -= 1
            if depth < 0:
                return None
        elif part not in ("", "."):
            depth += 1
    return path


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def within(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name


def above(folder: str) -> Iterator[str]:
    """The folder itself, then each folder above it, down to "" (at most MAX_PARTS and the root)."""
    for _ in range(MAX_PARTS):
        if not folder:
            break
        yield folder
        folder = folder_of(folder)
    yield ""


def endings(path: str, separator: str = "/") -> Iterator[str]:
    """The last one, two, … parts of a path, the whole included.

    >>> list(endings("a/b/c"))
    ['c', 'b/c', 'a/b/c']
    """
    end = len(path)
    for _ in range(MAX_PARTS):
        end = path.rfind(separator, 0, end)
        if end < 0:
            yield path
            return
        yield path[end + 1 :]
