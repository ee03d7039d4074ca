"""Contents out of git: one process for all, in an order that its delta chains like, and what is readable."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from hush_core.corpus.clean_view import CleanView

SKIP_REASONS = (
    "symlink",
    "submodule",
    "too_large",
    "lfs_pointer",
    "utf16",
    "binary",
    "undecodable",
)
"""Why a tree entry is neither scanned nor trained on. What cannot be scanned must not be trained on."""

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


def read_blobs(view: CleanView, blobs: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Stream (blob, content) in the order asked for; one git process for all, one content in memory.

    Raises:
        InputError: an object is missing, damaged or no blob.
    """
    wanted = list(blobs)
    if not wanted:
        return
    pieces = view.stream("cat-file", "--batch", "--buffer", stdin=b"\n".join(wanted) + b"\n")
    buffer = bytearray()

    def fill(n: int) -> None:
        while len(buffer) < n:
            piece = next(pieces, None)
            if piece is None:
                raise view.damaged()
            buffer.extend(piece)

    for blob in wanted:
        while (end := buffer.find(b"\n")) < 0:
            fill(len(buffer) + 1)
        header = bytes(buffer[:end]).split(b" ")
        if len(header) != 3 or header[0] != blob or header[1] != b"blob":
            raise view.damaged()
        size = int(header[2])
        fill(end + 1 + size + 1)
        yield blob, bytes(buffer[end + 1 : end + 1 + size])
        del buffer[: end + 2 + size]
    for _ in pieces:  # lets git end, and its exit status be seen
        raise view.damaged()


def sizes_in_pack_order(view: CleanView, blobs: Collection[bytes]) -> dict[bytes, int]:
    """Blob → bytes, in the order in which the blobs lie in their packs.

    Asked for in this order, git finds the base of each delta in its cache: twice as fast as any other order,
    and as `cat-file --batch-all-objects --unordered`, which would write out all trees and commits as well.

    Raises:
        InputError: a blob is missing.
    """
    wanted, sizes = set(blobs), {}
    if not wanted:
        return {}
    check = "--batch-check=%(objectname) %(objectsize)"
    pieces = view.stream("cat-file", "--batch-all-objects", "--unordered", "--buffer", check)
    width, rest = len(next(iter(wanted))), b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line[:width] in wanted:
                sizes[line[:width]] = int(line[width + 1 :])
    if len(sizes) != len(wanted):
        raise view.damaged()
    return sizes


def reachable_blobs(view: CleanView) -> set[bytes]:
    """Every blob that the view's commit reaches, by git's own walk over trees."""
    listing = view.run(
        "rev-list",
        "--objects",
        "--no-object-names",
        "--filter=object:type=blob",
        "--filter-provided-objects",
        view.commit,
    )
    return set(listing.split())
