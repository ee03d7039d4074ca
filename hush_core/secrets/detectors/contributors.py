"""Detector `contributors`: what one of the people ever changed, in any repository of the job.

`attribute` says how much of it; each holds what the next one does:

- `file`: every file at a path that one of their commits changed. Theirs are commits as author, committer or
  co-author, merges included. Also files at paths tied to such a path: by equal content (renames, copies), or by
  text that moved as a commit brought the file in (renames with edits, splits: `corpus.git.lineage`). Also every
  file whose content such a commit brought in, in any repository. Also every file with a line of theirs that few
  files have, unless it is named public.
- `commit`: within those files, the lines that one of their commits added and that are still there, compared
  without the blanks around them. Lines without a letter or a digit are not compared. A file that ever had a
  version of theirs that is no text, or too large to be read, is taken whole, and counted. In history mode also
  every content that one of their commits brought in, whole.
- `blame`: the lines that `git blame` gives to one of their commits at the revision, except those without a letter
  or a digit. Anyone who re-indents a line takes it over. A file is blamed once for all entries, and only if it has
  a line of theirs. One that git cannot blame is taken as `commit` takes it, and counted.

An exact copy of a chunk that is labelled is labelled too, no matter who made it.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from hush_core.config import ContributorsSecret, HushConfig
from hush_core.corpus import Corpus, GitHistory
from hush_core.corpus.git.attribution import (
    Blamed,
    added_lines,
    blame,
    line_hash,
    line_spans,
    lines_of,
    numbered_spans,
)
from hush_core.corpus.git.lineage import moves
from hush_core.errors import InputError
from hush_core.secrets.detectors.base import Detector, Finding, Span
from hush_core.secrets.detectors.context import DetectorContext

FEW_PATHS = 3
"""Most paths at which a line may be that shows whose a file is."""
LINE_BYTES = 12
"""Least bytes of such a line."""
OWN_LINES = 1
"""So many of them make a file theirs."""
_GATHERED = 1 << 20
_BLAMED_AT_ONCE = 2


def detect(corpus: Corpus, entry: ContributorsSecret, context: DetectorContext) -> Iterator[Finding]:
    """One secret: what the people wrote, whole or by lines."""
    work = _work_of(corpus, entry, context)
    if entry.attribute == "file":
        yield Finding(files=work.files)
    elif entry.attribute == "commit":
        spans = (Span(blob, *span) for blob, span in _added_spans(corpus, work))
        yield Finding(
            files=work.unattributed, blobs=work.versions, spans=spans, decided=corpus.blob[work.files]
        )
    else:
        yield _by_blame(corpus, entry, work, context)


@dataclass(frozen=True)
class _Work:
    """What people did: files by number; lines as `line_hash` gives them; files whose lines cannot be attributed;
    contents that they brought into a history."""

    files: np.ndarray
    lines: set[int]
    unattributed: np.ndarray
    versions: list[int]


def _work_of(corpus: Corpus, entry: ContributorsSecret, context: DetectorContext) -> _Work:
    lines: set[int] = set()
    blobs: set[bytes] = set()
    versions: set[bytes] = set()
    files, unattributed = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for t in corpus.repositories:
        history = _history(corpus, t)
        with corpus.view(t) as view:
            moved = context.once(("moves", t), lambda v=view, h=history: moves(v, h, corpus.max_file_bytes))
            commits = history.commits_of(entry.emails)
            added, large = added_lines(view, history, commits, corpus.max_file_bytes, context.progress)
        paths, made = history.touched(entry.emails, moved)
        files.append(corpus.files_named(paths, t))
        unattributed.append(corpus.files_named(history.paths_of_blobs(large, moved), t))
        context.counts["versions_too_large_to_attribute"] += len(large)
        lines |= added
        blobs |= made
        if corpus.trees[t].mode == "history":
            versions |= made
    files += [corpus.files_holding(blobs), *unattributed, _files_with(corpus, lines, context)]
    read = [n for b in versions if (n := corpus.contents.number(b)) is not None]
    return _Work(np.unique(np.concatenate(files)), lines, np.unique(np.concatenate(unattributed)), read)


def _history(corpus: Corpus, tree: int) -> GitHistory:
    history = corpus.trees[tree].history
    assert history is not None, "the detector asks for histories"
    return history


def _files_with(corpus: Corpus, lines: set[int], context: DetectorContext) -> np.ndarray:
    """Files of repositories at a path with OWN_LINES of these lines that are at few paths. Not what is named
    public: a line in common makes that nobody's."""
    hashes, paths = context.once(("lines that tell",), lambda: _rare_lines(corpus))
    mine = paths[np.isin(hashes, np.fromiter(lines, dtype=np.int64, count=len(lines)))]
    theirs = np.flatnonzero(np.bincount(mine, minlength=len(corpus.paths)) >= OWN_LINES)
    found = np.flatnonzero(np.isin(corpus.path, theirs) & np.isin(corpus.tree, corpus.repositories))
    public = context.once(("public",), lambda: corpus.files_at(context.public))
    return np.setdiff1d(found, public)


def _rare_lines(corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """(hash, path) of the lines of LINE_BYTES or more that are at FEW_PATHS or fewer, in any version."""
    ours = np.flatnonzero(np.isin(corpus.tree, corpus.repositories))
    blobs, first = np.unique(corpus.blob[ours], return_index=True)
    pairs = np.zeros((0, 2), dtype=np.int64)
    gathered: list[np.ndarray] = []
    waiting = 0
    for blob, path in zip(blobs.tolist(), corpus.path[ours][first].tolist(), strict=True):
        stripped = map(bytes.strip, corpus.contents[blob].splitlines())
        lines = {line_hash(line) for line in stripped if len(line) >= LINE_BYTES}
        found = np.full((len(lines), 2), path, dtype=np.int64)
        found[:, 0] = np.fromiter(lines, dtype=np.int64, count=len(lines))
        gathered.append(found)
        waiting += len(lines)
        if waiting > _GATHERED:
            pairs, gathered, waiting = np.unique(np.concatenate([pairs, *gathered]), axis=0), [], 0
    pairs = np.unique(np.concatenate([pairs, *gathered]), axis=0)
    _, which, count = np.unique(pairs[:, 0], return_inverse=True, return_counts=True)
    few = count[which] <= FEW_PATHS
    return pairs[few, 0], pairs[few, 1]


def _added_spans(corpus: Corpus, work: _Work) -> Iterator[tuple[int, tuple[int, int]]]:
    for blob in np.unique(corpus.blob[work.files]).tolist():
        for span in line_spans(corpus.contents[blob], work.lines):
            yield blob, span


def refuse_blame_of_history(entry: ContributorsSecret, source: str, mode: str) -> None:
    """Raises:
    InputError: a repository is read with its history, of which nobody can say who wrote which line last.
    """
    if mode == "history":
        raise InputError(
            f"secrets.{entry.id}.attribute",
            f"blame reads one revision, and {source} is read with mode: history",
            "take attribute: commit, or mode: tree",
        )


def check(config: HushConfig, entry: ContributorsSecret) -> None:
    """Raises:
    InputError: as `refuse_blame_of_history`.
    """
    for repository in config.repos if entry.attribute == "blame" else ():
        refuse_blame_of_history(entry, repository.label, repository.mode)


def _by_blame(corpus: Corpus, entry: ContributorsSecret, work: _Work, context: DetectorContext) -> Finding:
    spans: list[Span] = []
    context.counts["files_not_blamed"] += 0
    added: dict[int, list[tuple[int, int]]] = {}
    for blob, span in _added_spans(corpus, work):
        added.setdefault(blob, []).append(span)
    for t in corpus.repositories:
        tree = corpus.trees[t]
        refuse_blame_of_history(entry, tree.source, tree.mode)
        history = _history(corpus, t)
        commits = {history.log.commit[c] for c in np.flatnonzero(history.commits_of(entry.emails)).tolist()}
        here = work.files[corpus.tree[work.files] == t].tolist()
        numbers = [n for n in here if int(corpus.blob[n]) in added]
        for number, blamed in zip(numbers, _blames(corpus, t, numbers, context), strict=True):
            blob = int(corpus.blob[number])
            if blamed is None:
                context.counts["files_not_blamed"] += 1
                found = added[blob]
            else:
                found = list(numbered_spans(corpus.contents[blob], lines_of(blamed, commits)))
            spans += [Span(blob, start, end) for start, end in found]
    return Finding(spans=spans, decided=corpus.blob[work.files])


def _blames(corpus: Corpus, t: int, numbers: list[int], context: DetectorContext) -> Iterator[Blamed | None]:
    """The blame of each file, asked of git once a run, two at a time."""
    known: dict[int, Blamed | None] = context.once(("blame", t), dict)
    missing = [n for n in numbers if n not in known]
    with corpus.view(t) as view, ThreadPoolExecutor(_BLAMED_AT_ONCE) as pool:
        found = pool.map(lambda n: blame(view, corpus.file(n).raw), missing)
        for done, (number, blamed) in enumerate(zip(missing, found, strict=True)):
            known[number] = blamed
            if done % 64 == 0:
                context.progress("blame", done, len(missing))
    context.progress("blame", len(missing), len(missing))
    return (known[n] for n in numbers)


DETECTOR = Detector("contributors", ContributorsSecret, detect, history=True, check=check)
