"""Where the text of a file came from when a commit brought the file in: renamed with edits, split, merged, copied.

Git keeps no renames, and guesses them (`-M`): with less than half of the text in common it sees none. Here a new
file is tied to every file of the commit that lost text to it, if that is a tenth of either, and to every one with
half of its text. So each rename that git sees is seen, and many more: it errs to more authors.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from hush_core.corpus.git.blobs import read_blobs, sizes_in_pack_order
from hush_core.corpus.git.clean_view import CleanView
from hush_core.corpus.git.history import GitHistory, Moves
from hush_core.corpus.git.history_log import EMPTY, FILE

SHARE = 0.1
"""Least part of what a file lost, or of the new one, that must be the other's, in bytes. Git asks for half."""
COPIED = 0.5
"""Least part of the new file that another file must hold to keep it."""
ENOUGH_PIECES = 4
"""So many lines in common tie whatever the share, if few files of the commit have them."""
ENOUGH_BYTES = 12
FEW_FILES = 8
READ_BYTES = 1 << 24

_PIECES = re.compile(rb"\S[^\n]{0,63}")
"""Lines without the blanks before them, long ones in parts of 64 bytes."""


def moves(view: CleanView, history: GitHistory, max_bytes: int) -> Moves:
    """Paths (numbers in the log) from which, and to which, a commit moved text as it brought a file in.

    Blobs above `max_bytes` are read as well, but none above READ_BYTES: a file removed by a commit is tied to all
    that it brought in where either is larger.
    """
    log = history.log
    jobs = list(_jobs(history))
    asked = [b for sources, targets in jobs for _, *blobs in (*sources, *targets) for b in blobs if b >= 0]
    sizes = sizes_in_pack_order(view, {log.blobs[b] for b in asked})
    most = max(max_bytes, READ_BYTES)
    small = {b for b in asked if sizes[log.blobs[b]] <= most}
    stream = read_blobs(view, (log.blobs[b] for b in asked if b in small))
    ties: set[tuple[int, int]] = set()
    for sources, targets in jobs:
        taken: list[Source] = []
        for path, before, after in sources:
            left = _pieces(next(stream)[1]) if before in small else None
            kept = _pieces(next(stream)[1]) if after in small else None if after >= 0 else {}
            taken.append((path, left, kept))
        given = [(path, _pieces(next(stream)[1]) if after in small else None) for path, after in targets]
        ties |= _ties(taken, given)
    for _ in stream:
        raise view.damaged()
    pairs = np.array(sorted(ties), dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _jobs(history: GitHistory) -> Iterator[tuple[list[tuple[int, int, int]], list[tuple[int, int]]]]:
    """By commit (sources: path, blob before, blob after or -1; targets: path, blob) where there are both."""
    log = history.log
    empty = {n for n, blob in enumerate(log.blobs) if blob in EMPTY}
    before: dict[int, list[int]] = defaultdict(list)
    for change, blob in zip(log.before_change.tolist(), log.before_blob.tolist(), strict=True):
        if blob not in empty:
            before[change].append(blob)
    new = (log.change_kind == FILE) & ~np.isin(np.arange(len(log.change_kind)), log.before_change)
    with_new = np.zeros(history.commits, dtype=bool)
    with_new[log.change_commit[new]] = True
    chosen = np.flatnonzero(with_new[log.change_commit])
    chosen = chosen[np.argsort(log.change_commit[chosen], kind="stable")]
    borders = np.flatnonzero(np.diff(log.change_commit[chosen])) + 1
    for changes in np.split(chosen, borders):
        sources, targets = [], []
        for change in changes.tolist():
            path, blob = int(log.change_path[change]), int(log.change_blob[change])
            file = int(log.change_kind[change]) == FILE
            if new[change] and blob not in empty:
                targets.append((path, blob))
            sources += [(path, b, blob if file else -1) for b in set(before[change])]
        if sources and targets:
            yield sources, targets


Pieces = dict[int, tuple[int, int]]
"""Hash of a line, or part of a long one → (its bytes, all bytes of its copies)."""
Source = tuple[int, Pieces | None, Pieces | None]
"""Path; what it held, and what it holds now (None: too large to be read)."""
Target = tuple[int, Pieces | None]


def _pieces(content: bytes) -> Pieces:
    counts = Counter(_PIECES.findall(content))
    return {hash(piece.rstrip()): (len(piece), len(piece) * n) for piece, n in counts.items()}


def _ties(sources: list[Source], targets: list[Target]) -> set[tuple[int, int]]:
    """Source and target paths of one commit that share text."""
    ties = set()
    holders: dict[int, list[int]] = defaultdict(list)
    for n, (_, have) in enumerate(targets):
        for piece in have or ():
            holders[piece].append(n)
    totals = [sum(size for _, size in (have or {}).values()) for _, have in targets]
    for path, left, kept in sources:
        if kept == {}:
            ties |= {(path, target) for target, have in targets if left is None or have is None}
        if left is None or kept is None:
            continue
        lost, moved, copied, rare = 0, Counter(), Counter(), Counter()
        for piece, (one, all_) in left.items():
            gone = piece not in kept
            lost += all_ * gone
            found = holders.get(piece, ())
            for n in found:
                size = min(all_, (targets[n][1] or {})[piece][1])
                copied[n] += size
                moved[n] += size * gone
                rare[n] += gone and one >= ENOUGH_BYTES and len(found) <= FEW_FILES
        for n, size in copied.items():
            part = moved[n] and moved[n] >= SHARE * min(lost, totals[n])
            if part or size >= COPIED * totals[n] or rare[n] >= ENOUGH_PIECES:
                ties.add((path, targets[n][0]))
    return ties
