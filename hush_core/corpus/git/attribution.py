"""Which lines are whose: those that a person's commits added, and those that `git blame` gives to commits.

Lines are compared without the blanks around them, by a hash; a line without a letter or a digit
(a brace, a rule of dashes) says nothing about who wrote it and is never compared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import count

import numpy as np

from hush_core.corpus.git.blobs import sizes_in_pack_order
from hush_core.corpus.git.clean_view import CleanView
from hush_core.corpus.git.history import GitHistory
from hush_core.corpus.git.history_log import FILE
from hush_core.corpus.git.process import parted
from hush_core.progress import Progress

_LETTER_OR_DIGIT = re.compile(rb"[A-Za-z0-9\x80-\xff]")
_BLAMED = re.compile(rb"^([0-9a-f]{40,64}) \d+ (\d+) (\d+)$")


def added_lines(
    view: CleanView, history: GitHistory, commits: np.ndarray, max_bytes: int, progress: Progress
) -> tuple[set[int], set[bytes]]:
    """Hashes of all lines that the masked commits added, and the blobs that are no text or too large to be read.

    Added is what git's own diff says, with the settings of its blame; in a merge, what is new beside every parent.
    So whatever `git blame` gives to one of the commits is among them. Blame gives a line to a commit only if the
    diff to each parent adds it, or takes it for a line of another path; in that case all of the file is added here.
    """
    log = history.log
    asked, unreadable = _readable_commits(view, history, commits, max_bytes)
    lines: set[int] = set()
    if asked:
        limit, commits_asked = f"core.bigFileThreshold={max_bytes}", (log.commit[c] + b"\n" for c in asked)
        pieces = view.stream("-c", limit, "diff-tree", *_DIFF, stdin=b"".join(commits_asked))
        seen = count()
        for after, added in _hunks(pieces, lambda: progress("history", next(seen), len(asked))):
            if added is None:
                unreadable.add(after)
            else:
                lines.update(line_hash(line) for line in added.splitlines() if has_text(line))
        progress("history", len(asked), len(asked))
    return lines, unreadable


def _readable_commits(
    view: CleanView, history: GitHistory, commits: np.ndarray, max_bytes: int
) -> tuple[list[int], set[bytes]]:
    """The commits to read, and the blobs too large for that, with all changes of merges of such blobs: git would
    hold every version of these."""
    log = history.log
    chosen = np.flatnonzero(commits[log.change_commit] & (log.change_kind == FILE))
    sizes = sizes_in_pack_order(view, {log.blobs[b] for b in set(log.change_blob[chosen].tolist())})
    too_large = np.array([sizes.get(blob, 0) > max_bytes for blob in log.blobs] + [False])
    large = too_large[log.change_blob[chosen]]
    asked = np.flatnonzero(commits)
    if not large.any():
        return asked.tolist(), set()
    merges = set(view.run("rev-list", "--min-parents=2", view.commit, "--").split())
    heavy = {c for c in log.change_commit[chosen[large]].tolist() if log.commit[c] in merges}
    unreadable = log.change_blob[chosen[large | np.isin(log.change_commit[chosen], list(heavy))]]
    return [c for c in asked.tolist() if c not in heavy], {log.blobs[b] for b in unreadable.tolist()}


_DIFF = (
    "--stdin", "--root", "-r", "-c", "-p", "-U0", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv",
    "--ignore-submodules=all", "--diff-algorithm=myers", "--indent-heuristic",
)  # fmt: skip
_COMMIT = re.compile(rb"[0-9a-f]{40,64}")
_INDEX = re.compile(rb"index [0-9a-f,]+\.\.([0-9a-f]{40,64})")


def _hunks(pieces: Iterable[bytes], at_commit: Callable[[], None]) -> Iterator[tuple[bytes, bytes | None]]:
    """(blob after, an added line) for each, as `git diff-tree -c -p -U0` gives them; None for a blob that is no
    text.

    A line of a hunk begins with one sign per parent, so it cannot be mistaken for a header.
    """
    after, parents = b"", 0
    for line in parted(pieces, b"\n"):
        if line.startswith(b"@@"):
            parents = len(line) - len(line.lstrip(b"@")) - 1
        elif line.startswith(b"diff --"):
            parents = 0
        elif parents and line[:1] in b"+- \\":
            if line[:parents] == b"+" * parents:
                yield after, line[parents:]
        elif found := _INDEX.match(line):
            after, parents = found[1], 0
        elif line.startswith(b"Binary files "):
            yield after, None
        elif not line.startswith((b"+++ ", b"--- ")):
            parents = 0
            if _COMMIT.fullmatch(line):
                at_commit()


def line_spans(content: bytes, lines: set[int]) -> Iterator[tuple[int, int]]:
    """Byte ranges of the runs of lines of a content that are in the set."""
    start = at = 0
    for line in content.splitlines(keepends=True):
        if line_hash(line) not in lines:
            if start < at:
                yield start, at
            start = at + len(line)
        at += len(line)
    if start < at:
        yield start, at


def numbered_spans(content: bytes, lines: np.ndarray) -> Iterator[tuple[int, int]]:
    """Byte ranges of the lines with text among these numbers (from 1, ended by a line feed as git counts them)."""
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == 10) + 1
    ends = np.append(ends, len(content)) if not len(ends) or ends[-1] < len(content) else ends
    starts = np.concatenate([[0], ends[:-1]])
    for line in np.unique(lines).tolist():
        if 0 < line <= len(ends):
            start, end = int(starts[line - 1]), int(ends[line - 1])
            if has_text(content[start:end]):
                yield start, end


Blamed = list[tuple[bytes, int, int]]
"""(commit, first line, lines) of one file, from 1."""


def blame(view: CleanView, path: bytes) -> Blamed | None:
    """Whose the lines of a file are by `git blame`, renames included; None where git cannot tell."""
    output = view.attempt(
        "blame", "--incremental", "--no-textconv", "--encoding=none", view.commit, "--", os.fsdecode(path)
    )
    if output is None:
        return None
    found = (_BLAMED.match(row) for row in output.split(b"\n"))
    return [(row[1], int(row[2]), int(row[3])) for row in found if row]


def lines_of(blamed: Blamed, commits: set[bytes]) -> np.ndarray:
    """The numbers of the lines that are of one of the commits."""
    parts = [np.arange(first, first + count) for commit, first, count in blamed if commit in commits]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def line_hash(line: bytes) -> int:
    """What a line is compared by: without the blanks around it; the same within one process alone."""
    return hash(line.strip())


def has_text(line: bytes) -> bool:
    """Whether a line has a letter or a digit."""
    return _LETTER_OR_DIGIT.search(line) is not None
