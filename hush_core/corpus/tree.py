"""The files of one commit: what can be scanned and trained on, and a count of all that cannot."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from hush_core.corpus.clean_view import CleanView
from hush_core.corpus.language import language_of

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


@dataclass(frozen=True)
class File:
    """One file: its name in bytes, for people (`path`) and for globs (`match_path`), and its blob."""

    raw: bytes
    path: str
    match_path: str
    blob: str
    language: str


@dataclass
class Tree:
    """The readable files of a commit in the tree's order, contents once per blob, and what was skipped."""

    source: str
    commit: str
    files: list[File] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict, repr=False)
    skipped: Counter[str] = field(default_factory=Counter)
    paths: dict[bytes, str] = field(default_factory=dict, repr=False)
    """Every blob of the commit by raw path, skipped or not: CODEOWNERS and .mailmap are looked up here."""


def printable_path(raw: bytes) -> str:
    r"""A path as printable Unicode, one-to-one: odd bytes, controls and backslashes become \xNN escapes.

    >>> printable_path(b"caf\xe9\n.py"), printable_path("é.py".encode())
    ('caf\\xe9\\x0a.py', 'é.py')
    """
    text = raw.decode("utf-8", "surrogateescape")
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(
        c
        if c.isprintable() and c != "\\"
        else "".join(f"\\x{b:02x}" for b in c.encode("utf-8", "surrogateescape"))
        for c in text
    )


def match_path(raw: bytes) -> str:
    """A path as globs see it: bytes that are no UTF-8 and control characters stand as U+FFFD.

    `*` and `?` match them so; a raw line break would not be matched by `**` and the file slip through.
    """
    text = raw.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= c <= "\udcff" or c < " " else c for c in text)


def read_tree(view: CleanView, source: str, max_file_bytes: int) -> Tree:
    """Read all files of the view's commit.

    Raises:
        InputError: an object is missing or damaged (a partial clone).
    """
    tree = Tree(source, view.commit)
    wanted: dict[str, list[bytes]] = {}
    for mode, kind, blob, size, path in _entries(view):
        if kind != "blob":
            tree.skipped["submodule"] += 1
            continue
        if mode == "120000":
            tree.skipped["symlink"] += 1
            continue
        tree.paths[path] = blob
        if size > max_file_bytes:
            tree.skipped["too_large"] += 1
        else:
            wanted.setdefault(blob, []).append(path)
    reasons = {}
    for blob, content in read_blobs(view, list(wanted)):
        reasons[blob] = unreadable(content)
        if reasons[blob] is None:
            tree.blobs[blob] = content
    for path, blob in tree.paths.items():
        if blob not in wanted:
            continue
        reason = reasons[blob]
        if reason is not None:
            tree.skipped[reason] += 1
            continue
        shown = printable_path(path)
        tree.files.append(File(path, shown, match_path(path), blob, language_of(shown)))
    return tree


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


def read_blobs(view: CleanView, blobs: list[str]) -> Iterator[tuple[str, bytes]]:
    """Stream (blob, content) in the order asked for; one git process for all."""
    if not blobs:
        return
    pieces = view.stream(
        "cat-file", "--batch", "--buffer", stdin="".join(f"{b}\n" for b in blobs).encode("ascii")
    )
    buffer = bytearray()

    def fill(n: int) -> None:
        while len(buffer) < n:
            piece = next(pieces, None)
            if piece is None:
                raise view.damaged()
            buffer.extend(piece)

    for blob in blobs:
        while (end := buffer.find(b"\n")) < 0:
            fill(len(buffer) + 1)
        header = bytes(buffer[:end]).decode("ascii", "replace").split(" ")
        if len(header) != 3 or header[0] != blob or header[1] != "blob":
            raise view.damaged()
        size = int(header[2])
        fill(end + 1 + size + 1)
        yield blob, bytes(buffer[end + 1 : end + 1 + size])
        del buffer[: end + 2 + size]
    for _ in pieces:  # lets git end, and its exit status be seen
        raise view.damaged()


def _entries(view: CleanView) -> Iterator[tuple[str, str, str, int, bytes]]:
    """(mode, kind, object, size, raw path); several entries of one path are kept apart by git's own order."""
    listing = view.run("ls-tree", "-r", "-z", "-l", "--full-tree", view.commit)
    for entry in listing.split(b"\0"):
        if not entry:
            continue
        meta, _, path = entry.partition(b"\t")
        mode, kind, blob, size = os.fsdecode(meta).split()
        if kind == "blob" and not size.isdigit():
            raise view.damaged()
        yield mode, kind, blob, int(size) if size.isdigit() else 0, path
