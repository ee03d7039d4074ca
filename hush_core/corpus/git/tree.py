"""The files of one commit: what can be scanned and trained on, and a count of all that cannot."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hush_core.corpus.blob_store import BlobStore
from hush_core.corpus.git.blobs import Skipped, store_blobs
from hush_core.corpus.git.clean_view import CleanView
from hush_core.corpus.git.history import GitHistory
from hush_core.corpus.paths import Paths

OWNERS = (b"CODEOWNERS", b".github/CODEOWNERS", b"docs/CODEOWNERS", b".gitlab/CODEOWNERS")
"""Where hosts look for CODEOWNERS; read also where they are not trained on."""


class File(NamedTuple):
    """One file: its name in bytes, for people (`path`) and for globs (`match_path`), and its content's number."""

    raw: bytes
    path: str
    match_path: str
    blob: int
    language: str


@dataclass(frozen=True)
class Tree:
    """The readable files of one repository, in columns; `contents` holds each distinct content once.

    path, blob: int32 by file, numbers in `paths` and in `contents`. A file of history is a distinct
    (path, blob) pair: every content at every path where it ever was.
    """

    source: str
    commit: str
    paths: Paths = field(repr=False)
    contents: BlobStore = field(repr=False)
    path: np.ndarray = field(repr=False)
    blob: np.ndarray = field(repr=False)
    skipped: Counter[str]
    owners: tuple[bytes, ...] = field(default=(), repr=False)
    """The contents of the revision's CODEOWNERS files."""
    present: frozenset[bytes] = field(default=frozenset(), repr=False)
    """The paths of all files of the revision, skipped or not."""
    origin: Path = Path()
    mode: str = "tree"
    history: GitHistory | None = field(default=None, repr=False)
    facts: Mapping[str, object] = field(default_factory=dict)
    """Further counts for the coverage report."""
    unit: np.ndarray | None = field(default=None, repr=False)
    """Of a table: int32 by file, whose it is, a number in `units`; None where the files are nobody's."""
    units: tuple[str, ...] = field(default=(), repr=False)
    completions: np.ndarray | None = field(default=None, repr=False)
    """Of a table with `loss_on: completions`: (k, 3) int64, file, start and end of what is learned; sorted."""


class Entry(NamedTuple):
    """One line of `ls-tree`; `size` is 0 for a submodule."""

    mode: str
    kind: str
    blob: bytes
    size: int
    path: bytes

    @property
    def is_file(self) -> bool:
        """Whether it is one that may hold text: no submodule and no symbolic link."""
        return self.kind == "blob" and self.mode != "120000"


def read_tree(view: CleanView, source: str, max_file_bytes: int, contents: BlobStore, paths: Paths) -> Tree:
    """Read all files of the view's commit into `contents`.

    Raises:
        InputError: an object is missing or damaged (a partial clone).
    """
    skipped = Skipped()
    wanted: dict[bytes, int] = {}
    present = {}
    for entry in tree_entries(view):
        if not entry.is_file:
            skipped.note("symlink" if entry.kind == "blob" else "submodule", entry.path)
            continue
        present[entry.path] = entry.blob
        if entry.size > max_file_bytes:
            skipped.note("too_large", entry.path)
        else:
            wanted[entry.blob] = entry.size
    found = [(path, blob) for path, blob in present.items() if blob in wanted]
    return tree_with(view, source, found, wanted, present, contents, paths, skipped)


def tree_with(
    view: CleanView,
    source: str,
    found: Iterable[tuple[bytes, bytes]],
    wanted: Mapping[bytes, int],
    present: Mapping[bytes, bytes],
    contents: BlobStore,
    paths: Paths,
    skipped: Skipped,
) -> Tree:
    """Bring the `wanted` blobs (with their sizes) into `contents`; the tree of the readable files found.

    Args:
        found: (path, blob) of every file. present: path → blob in the revision itself.
    """
    reasons = store_blobs(view, wanted, contents)
    numbers = {b: contents.number(b) for b in wanted}
    path_column, blob_column = array("i"), array("i")
    for path, blob in found:
        number = numbers[blob]
        if number is None:
            skipped.note(reasons[blob], path)
        else:
            path_column.append(paths.add(path))
            blob_column.append(number)
    return Tree(
        source,
        view.commit,
        paths,
        contents,
        np.array(path_column, dtype=np.int32),
        np.array(blob_column, dtype=np.int32),
        skipped,
        owners=tuple(view.small(present[name], name) for name in OWNERS if name in present),
        present=frozenset(present),
        origin=view.path,
    )


def tree_entries(view: CleanView) -> Iterator[Entry]:
    """Every entry of the commit's tree; several entries of one path are kept apart by git's own order."""
    listing = view.run("ls-tree", "-r", "-z", "-l", "--full-tree", view.commit)
    for entry in listing.split(b"\0"):
        if not entry:
            continue
        meta, _, path = entry.partition(b"\t")
        mode, kind, blob, size = meta.split()
        if kind == b"blob" and not size.isdigit():
            lost = (e.split() for e in listing.split(b"\0") if b"BAD\t" in e)
            raise view.damaged({words[2] for words in lost} | {blob})
        yield Entry(mode.decode(), kind.decode(), blob, int(size) if size.isdigit() else 0, path)
