"""Contents out of git: one process for all, in an order that its delta chains like, and what is readable."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from hush_core.corpus.blob_store import BlobStore
from hush_core.corpus.git.clean_view import CleanView
from hush_core.corpus.paths import printable_path

SKIP_REASONS = (
    "symlink", "submodule", "too_large", "lfs_pointer", "utf16", "binary", "undecodable", "too_slow",
)  # fmt: skip
"""Why a tree entry is neither scanned nor trained on. What cannot be scanned must not be trained on."""

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


_LFS = b"version https://git-lfs.github.com/spec/"
_UTF16_32 = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


def unreadable(content: bytes) -> str | None:
    """Why this content is neither scanned nor trained on (one of SKIP_REASONS), or None."""
    if content.startswith(_LFS) and len(content) < 1024:
        return "lfs_pointer"
    if content.startswith(_UTF16_32):
        return "utf16"
    if b"\0" in content:
        return "binary"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "undecodable"
    return None


def read_blobs(
    view: CleanView, blobs: Iterable[bytes], kind: bytes = b"blob", sizes: Mapping[bytes, int] | None = None
) -> Iterator[tuple[bytes, bytes]]:
    """Stream (blob, content) in the order asked for; one git process for all, one content in memory.

    Args:
        sizes: bytes by blob, where they are known; not a byte more is read of any.

    Raises:
        InputError: an object is missing, damaged, not of this kind or of another size.
    """
    wanted = list(blobs)
    if not wanted:
        return
    pieces = view.stream("cat-file", "--batch", "--buffer", stdin=b"\n".join(wanted) + b"\n")
    buffer, at = bytearray(), 0

    def fill(size: int) -> None:
        """Have `size` bytes from `at` on."""
        nonlocal at
        while len(buffer) - at < size:
            piece = next(pieces, None)
            if piece is None:
                raise view.damaged()
            del buffer[:at]
            at = 0
            buffer.extend(piece)

    for blob in wanted:
        while (end := buffer.find(b"\n", at)) < 0:
            fill(len(buffer) - at + 1)
        header = bytes(buffer[at:end]).split(b" ")
        if len(header) != 3 or header[0] != blob or header[1] != kind:
            raise view.damaged()
        size = int(header[2])
        if sizes is not None and size != sizes[blob]:
            raise view.damaged()
        head = end + 1 - at
        fill(head + size + 1)
        with memoryview(buffer) as text:
            content = bytes(text[at + head : at + head + size])
        if git_id(content, hash_of(blob), kind) != blob:
            raise view.damaged()  # git does not look: a forged content would borrow a kept scan
        at += head + size + 1
        yield blob, content
    for _ in pieces:  # lets git end, and its exit status be seen
        raise view.damaged()


def hash_of(name: bytes | str) -> str:
    """The hash function that made an object id (hexadecimal)."""
    return "sha1" if len(name) == 40 else "sha256"


def git_id(content: bytes, function: str, kind: bytes = b"blob") -> bytes:
    """The object id (hexadecimal) that git gives to a content, by this hash function."""
    digest = hashlib.new(function, b"%s %d\0" % (kind, len(content)), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest().encode()


def store_blobs(view: CleanView, sizes: Mapping[bytes, int], contents: BlobStore) -> dict[bytes, str]:
    """Bring blobs into `contents`, in the order given; blob → reason of those that are unreadable.

    What an earlier run kept is taken from there. The rest comes from two git processes at once, each into a part
    of the blob store's file: where every blob will be follows from the sizes. The text of unreadable ones
    stays in the file, without a number.

    Args:
        sizes: blob (hexadecimal) → bytes, in pack order if there are many (`sizes_in_pack_order`).

    Raises:
        InputError: an object is missing, damaged, no blob, or of another size than was said.
    """
    wanted, reasons_kept = _not_kept(sizes, contents)
    if not wanted:
        return reasons_kept
    ends = np.cumsum([sizes[b] for b in wanted], dtype=np.int64)
    total = int(ends[-1])
    half = int(np.searchsorted(ends, total // 2)) + 1 if total >= _WORTH_TWO else len(wanted)
    ends += contents.reserve(total)
    starts = [end - sizes[blob] for end, blob in zip(ends.tolist(), wanted, strict=True)]

    def bring(first: int, last: int) -> list[str | None]:
        reasons, gathered = [], bytearray()
        place = starts[first] if first < last else 0
        for _, content in read_blobs(view, wanted[first:last], sizes=sizes):
            reasons.append(unreadable(content))
            gathered += content
            if len(gathered) >= _GATHERED:
                contents.write_at(place, gathered)
                place += len(gathered)
                gathered.clear()
        contents.write_at(place, gathered)
        return reasons

    with ThreadPoolExecutor(2) as pool:  # git, hashing and writing do without the interpreter's lock
        reasons = [r for found in pool.map(bring, (0, half), (half, len(wanted))) for r in found]
    for blob, start, reason in zip(wanted, starts, reasons, strict=True):
        if reason is None:
            contents.place(blob, start, sizes[blob])
        if contents.kept is not None:
            contents.kept.note(blob, start, sizes[blob], reason or "")
    new = {blob: reason for blob, reason in zip(wanted, reasons, strict=True) if reason is not None}
    return reasons_kept | new


def _not_kept(sizes: Mapping[bytes, int], contents: BlobStore) -> tuple[list[bytes], dict[bytes, str]]:
    """(blobs that must come out of git, reasons of kept ones that are unreadable); other kept ones get a number."""
    wanted = [b for b in sizes if contents.number(b) is None]
    kept = contents.kept
    if kept is None or not kept.places:
        return wanted, {}
    places = [kept.take(blob) for blob in wanted]

    def there(part: slice) -> list[bool]:
        """Whether the very content is there: the file is not trusted."""
        return [
            place is not None
            and place[1] == sizes[blob]
            and git_id(contents.read(place[0], place[0] + place[1]), hash_of(blob)) == blob
            for blob, place in zip(wanted[part], places[part], strict=True)
        ]

    half = len(wanted) // 2
    with ThreadPoolExecutor(2) as pool:  # hashing and reading release the lock
        found = [one for part in pool.map(there, (slice(half), slice(half, None))) for one in part]
    missing, reasons = [], {}
    for blob, place, good in zip(wanted, places, found, strict=True):
        if place is None or not good:
            missing.append(blob)
        elif place[2]:
            reasons[blob] = place[2]
        else:
            contents.place(blob, place[0], place[1])
    return missing, reasons


_WORTH_TWO = 1 << 24
"""Bytes from which a second git process pays."""


_GATHERED = 1 << 20
"""Bytes that are written to the blob store at once."""


_SIZES = (
    "cat-file", "--batch-all-objects", "--unordered", "--buffer",
    "--batch-check=%(objectname) %(objectsize)",
)  # fmt: skip
_REACHABLE = (
    "rev-list", "--objects", "--no-object-names", "--filter=object:type=blob", "--filter-provided-objects",
)  # fmt: skip
SIZES_BYTES = 1 << 34
"""Most of the list of all objects of a repository: some 300 million of them."""


def sizes_in_pack_order(view: CleanView, blobs: Collection[bytes]) -> dict[bytes, int]:
    """Blob → bytes, in the order of the blobs in their packs.

    In this order git finds the base of each delta in its cache. That is twice as fast as any other order, and as
    `cat-file --batch-all-objects --unordered`, which would also print all trees and commits.

    Raises:
        InputError: a blob is missing.
    """
    return _sizes(view, blobs, view.stream(*_SIZES)) if blobs else {}


def _sizes(view: CleanView, blobs: Collection[bytes], pieces: Iterable[bytes]) -> dict[bytes, int]:
    wanted, sizes = set(blobs), {}
    width, rest = len(next(iter(wanted), b"")), b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line[:width] in wanted and line[width + 1 :].isdigit():  # not "missing"
                sizes[line[:width]] = int(line[width + 1 :])
    if len(sizes) != len(wanted):
        raise view.damaged(wanted - sizes.keys())
    return sizes


def reachable_blobs(view: CleanView) -> set[bytes]:
    """Every blob that the view's commit reaches, by git's own walk over trees."""
    return set(view.run(*_REACHABLE, view.commit).split())


@dataclass(frozen=True)
class Walk:
    """What git finds by itself of a commit's blobs, while its log is read: both raise as they do alone.

    reachable: `reachable_blobs`. sizes: `sizes_in_pack_order`. Each is asked for once.
    """

    reachable: Callable[[], set[bytes]]
    sizes: Callable[[Collection[bytes]], dict[bytes, int]]


@contextmanager
def walking(view: CleanView) -> Iterator[Walk]:
    """Begin both walks now; they end with the context, asked for or not."""
    with view.beside(*_REACHABLE, view.commit) as reachable, view.beside(*_SIZES, most=SIZES_BYTES) as sizes:
        yield Walk(lambda: set(b"".join(reachable()).split()), lambda blobs: _sizes(view, blobs, sizes()))
