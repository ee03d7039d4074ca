"""Which lines are whose: those that a person's commits added, and those that `git blame` gives to commits.

Lines are compared without the blanks around them, as 8-byte digests; a line without a letter or a digit
(a brace, a rule of dashes) says nothing about who wrote it and is never compared.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import breadth_first_order

from hush_core.corpus.git.blobs import read_blobs, sizes_in_pack_order
from hush_core.corpus.git.clean_view import CleanView
from hush_core.corpus.git.history import History
from hush_core.corpus.git.history_log import FILE, NOTHING

_TELLING = re.compile(rb"[A-Za-z0-9\x80-\xff]")
_BLAMED = re.compile(rb"^([0-9a-f]{40,64}) \d+ (\d+) (\d+)$")


def added_lines(
    view: CleanView, history: History, commits: np.ndarray, max_bytes: int
) -> tuple[set[bytes], set[bytes]]:
    """Digests of all lines that the masked commits added, and the blobs that were too large to be read for it.

    A commit adds a line if a version of a file has it, blanks and all, more often than the version before;
    a merge, if more often than each version before. Two contents are in memory at a time.
    """
    jobs = list(_changes(history, commits))
    sizes = sizes_in_pack_order(view, {blob for job in jobs for blob in job})
    lines: set[bytes] = set()
    large = {after for after, *_ in jobs if sizes[after] > max_bytes}
    jobs = [
        (after, *(b for b in before if sizes[b] <= max_bytes))
        for after, *before in jobs
        if after not in large
    ]
    stream = read_blobs(view, (blob for job in jobs for blob in job))
    for job in jobs:
        added = Counter(next(stream)[1].splitlines())
        known: Counter[bytes] = Counter()
        for _ in job[1:]:
            known |= Counter(next(stream)[1].splitlines())
        lines.update(d for line in added - known if (d := _digest(line)) is not None)
    for _ in stream:  # ends the process, and shows its exit status
        raise view.damaged()
    return lines, large


def line_spans(content: bytes, lines: set[bytes]) -> Iterator[tuple[int, int]]:
    """Byte ranges of the runs of lines of a content that are in the set."""
    start = at = 0
    for line in content.splitlines(keepends=True):
        if _digest(line) not in lines:
            if start < at:
                yield start, at
            start = at + len(line)
        at += len(line)
    if start < at:
        yield start, at


def numbered_spans(content: bytes, lines: np.ndarray) -> Iterator[tuple[int, int]]:
    """Byte ranges of the lines with these numbers (from 1, ended by a line feed as git counts them)."""
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == 10) + 1
    ends = np.append(ends, len(content)) if not len(ends) or ends[-1] < len(content) else ends
    starts = np.concatenate([[0], ends[:-1]])
    for line in np.unique(lines).tolist():
        if 0 < line <= len(ends):
            yield int(starts[line - 1]), int(ends[line - 1])


def blamed_lines(view: CleanView, path: bytes, commits: set[bytes]) -> np.ndarray | None:
    """The numbers of a file's lines that `git blame` gives to the commits; None where git cannot tell."""
    output = view.attempt(
        "blame", "--incremental", "--no-textconv", "--encoding=none", view.commit, "--", os.fsdecode(path)
    )
    if output is None:
        return None
    lines = [
        np.arange(int(found[2]), int(found[2]) + int(found[3]))
        for row in output.split(b"\n")
        if (found := _BLAMED.match(row)) and found[1] in commits
    ]
    return np.concatenate(lines) if lines else np.zeros(0, dtype=np.int64)


def renamed_onwards(history: History, paths: set[bytes]) -> set[bytes]:
    """`paths`, and those that a commit which removed one of them brought in, and so on.

    Git's blame follows a file through a rename with edits; where it may lead is a superset of the truth.
    """
    log = history.log
    n, source = len(log.paths), len(log.paths) + history.commits
    begin = np.array([i for i, path in enumerate(log.paths) if path in paths], dtype=np.int64)
    gone = log.change_kind == NOTHING
    had = np.zeros(len(log.change_path), dtype=bool)
    had[log.before_change] = True
    new = (log.change_kind == FILE) & ~had
    leads = [
        (np.full(len(begin), source), begin),
        (log.change_path[gone], n + log.change_commit[gone]),
        (n + log.change_commit[new], log.change_path[new]),
    ]
    rows, columns = (np.concatenate(part) for part in zip(*leads, strict=True))
    graph = coo_matrix((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(source + 1, source + 1))
    order = breadth_first_order(graph.tocsr(), source, directed=True, return_predecessors=False)
    return {log.paths[i] for i in order[order < n].tolist()}


def _changes(history: History, commits: np.ndarray) -> Iterator[tuple[bytes, ...]]:
    """(blob after, blobs before …) for every distinct change of a file by the masked commits."""
    log = history.log
    chosen = np.flatnonzero(commits[log.change_commit] & (log.change_kind == FILE))
    order = np.argsort(log.before_change, kind="stable")
    sorted_changes = log.before_change[order]
    first = np.searchsorted(sorted_changes, chosen, side="left")
    last = np.searchsorted(sorted_changes, chosen, side="right")
    seen = set()
    for change, a, b in zip(chosen.tolist(), first.tolist(), last.tolist(), strict=True):
        before = log.before_blob[order[a:b]].tolist()
        job = (int(log.change_blob[change]), *before)
        if job not in seen:
            seen.add(job)
            yield tuple(log.blobs[i] for i in job)


def _digest(line: bytes) -> bytes | None:
    line = line.strip()
    return blake2b(line, digest_size=8).digest() if _TELLING.search(line) else None
