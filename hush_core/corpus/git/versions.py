"""Every version of every file that a revision's history reaches (`mode: history`).

A file is a distinct (path, blob) pair. Merge-only content and removed files are among them. Commit messages
are read for addresses only and are never trained on.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hush_core.corpus.blob_store import BlobStore
from hush_core.corpus.git.blobs import Skipped, Walk
from hush_core.corpus.git.clean_view import CleanView
from hush_core.corpus.git.history import GitHistory
from hush_core.corpus.git.history_log import FILE, SUBMODULE, SYMLINK
from hush_core.corpus.git.tree import Tree, tree_entries, tree_with
from hush_core.corpus.paths import Paths
from hush_core.errors import InputError

SQUASHED_SHARE = 0.5
SQUASHED_FILES = 20
"""A commit that brings in half of all files, and this many, hides who wrote them and what was before."""


def read_versions(
    view: CleanView,
    source: str,
    max_file_bytes: int,
    history: GitHistory,
    walk: Walk,
    contents: BlobStore,
    paths: Paths,
) -> Tree:
    """Read all contents that the view's commit reaches, each once, at all paths where it ever was.

    Args:
        walk: begun before the history is read (`walking`), so that git does both at the same time.

    Raises:
        InputError: an object is missing, or git's log and its walk over trees disagree.
    """
    pairs, skipped = _pairs(history, _ages(view, history))
    log = history.log
    files = {log.blobs[b] for b in pairs[:, 1].tolist()}
    reachable = walk.reachable()
    links = {log.blobs[b] for b in log.change_blob[log.change_kind == SYMLINK].tolist()}
    if not reachable <= files | links:
        raise InputError(
            str(view.path),
            f"has {len(reachable - files - links)} objects that its log does not show (damaged trees?)",
            "run git fsck --full, and give a repository that passes it",
        )
    sizes = walk.sizes(files)
    wanted = {b: size for b, size in sizes.items() if size <= max_file_bytes}
    found = []
    for p, b in pairs.tolist():
        if log.blobs[b] in wanted:
            found.append((log.paths[p], log.blobs[b]))
        else:
            skipped.note("too_large", log.paths[p])
    present = {e.path: e.blob for e in tree_entries(view) if e.is_file}
    tree = tree_with(view, source, found, wanted, present, contents, paths, skipped)
    facts = {"blobs_reachable": len(reachable), "blobs_covered": len(reachable & (files | links))}
    return replace(tree, mode="history", history=history, facts=facts)


def warnings_of(history: GitHistory) -> list[str]:
    """What the history cannot tell: it was cut off, or one commit brought most of it in."""
    warnings = []
    if history.cut:
        warnings.append("shallow clone: what came before the cut is neither read nor known")
    log = history.log
    counts = np.bincount(log.change_commit[log.change_kind == FILE], minlength=max(1, history.commits))
    largest, paths = int(counts.max()), len(log.paths)
    if largest >= SQUASHED_FILES and largest > SQUASHED_SHARE * paths:
        warnings.append(
            f"squashed history: one commit brings in {largest} of {paths} files; who wrote them, and what "
            "was there before, cannot be known"
        )
    return warnings


def _ages(view: CleanView, history: GitHistory) -> np.ndarray:
    """By commit of the log, its place from the oldest to the newest.

    Git's order depends on dates and parents alone, and not on how much of the log was kept from an earlier run.
    """
    newest_first = view.run("rev-list", view.commit).split()
    place = {commit: len(newest_first) - n for n, commit in enumerate(newest_first)}
    return np.array([place[commit] for commit in history.log.commit], dtype=np.int64)


def _pairs(history: GitHistory, age: np.ndarray) -> tuple[np.ndarray, Skipped]:
    """The distinct (path, blob) pairs of regular files, by path and by first commit; the others counted.

    Not by object id, which is a hash of the content. Another value would give the versions, and so the examples
    without a secret, another order (`docs/secrets.md`, what is public).
    """
    log = history.log
    columns = np.stack([log.change_path, log.change_blob, log.change_kind, age[log.change_commit]], axis=1)
    columns = columns[np.lexsort((columns[:, 3], columns[:, 2], columns[:, 1], columns[:, 0]))]
    first = np.ones(len(columns), dtype=bool)
    first[1:] = (columns[1:, :3] != columns[:-1, :3]).any(axis=1)
    rows = columns[first]
    skipped = Skipped()
    for kind, reason in ((SYMLINK, "symlink"), (SUBMODULE, "submodule")):
        for number in rows[rows[:, 2] == kind][:, 0].tolist():
            skipped.note(reason, log.paths[number])
    rows = rows[rows[:, 2] == FILE]
    rank = np.argsort(sorted(range(len(log.paths)), key=log.paths.__getitem__))
    return rows[np.lexsort((rows[:, 3], rank[rows[:, 0]]))][:, :2], skipped
