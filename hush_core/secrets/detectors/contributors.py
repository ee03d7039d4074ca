"""Detector `contributors`: what one of the people ever changed, in any repository of the job.

`attribute` says how much of it:

- `file`: every file at a path that one of their commits changed, author, committer or co-author, merges
  included; at paths tied to such a one through equal content (renames, copies); and every file whose content
  such a commit brought in, in any repository.
- `commit`: within those files, the lines that one of their commits added and that stand there still, compared
  without the blanks around them. Lines without a letter or a digit are not compared. A file that ever had a
  version of theirs too large to be read is taken whole, and counted. In history mode also every content that
  one of their commits brought in, whole.
- `blame`: the lines that `git blame` gives to one of their commits at the revision; whoever re-indents a
  line takes it over. One git process a file. A file that git cannot blame is taken whole, and counted.

An exact copy of a chunk that is labelled is labelled too, whoever made it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hush_core.config import ContributorsSecret
from hush_core.corpus import Corpus, History
from hush_core.corpus.git.attribution import (
    added_lines,
    blamed_lines,
    line_spans,
    numbered_spans,
    renamed_onwards,
)
from hush_core.errors import InputError
from hush_core.secrets.detectors.base import Detector, Finding, Span
from hush_core.secrets.detectors.context import DetectorContext


def detect(corpus: Corpus, entry: ContributorsSecret, context: DetectorContext) -> Iterator[Finding]:
    """One secret: what the people wrote, whole or by lines."""
    if entry.attribute == "file":
        yield Finding(files=_touched(corpus, entry))
    elif entry.attribute == "commit":
        yield _by_commit(corpus, entry, context)
    else:
        yield _by_blame(corpus, entry, context)


def _history(corpus: Corpus, tree: int) -> History:
    history = corpus.trees[tree].history
    assert history is not None, "the detector asks for histories"
    return history


def _touched(corpus: Corpus, entry: ContributorsSecret) -> np.ndarray:
    """By path within a repository (renames and copies included), and by content across all of them."""
    blobs: set[bytes] = set()
    files = []
    for t in corpus.repositories:
        paths, made = _history(corpus, t).touched(entry.emails)
        blobs |= made
        files.append(corpus.files_named(paths, t))
    return np.unique(np.concatenate([*files, corpus.files_holding(blobs)]))


def _by_commit(corpus: Corpus, entry: ContributorsSecret, context: DetectorContext) -> Finding:
    lines: set[bytes] = set()
    versions: set[bytes] = set()
    untold = []
    for t in corpus.repositories:
        tree = corpus.trees[t]
        history = _history(corpus, t)
        with corpus.view(t) as view:
            commits = history.commits_of(entry.emails)
            added, large = added_lines(view, history, commits, corpus.max_file_bytes)
        lines |= added
        untold.append(corpus.files_named(history.standing(large), t))
        context.counts["versions_too_large_to_attribute"] += len(large)
        if tree.mode == "history":
            versions |= history.touched(entry.emails)[1]

    def spans() -> Iterator[Span]:
        for blob in np.unique(corpus.blob[_touched(corpus, entry)]).tolist():
            for start, end in line_spans(corpus.contents[blob], lines):
                yield Span(blob, start, end)

    whole = [n for b in versions if (n := corpus.contents.number(b)) is not None]
    return Finding(files=np.concatenate(untold), blobs=whole, spans=spans())


def _by_blame(corpus: Corpus, entry: ContributorsSecret, context: DetectorContext) -> Finding:
    spans: list[Span] = []
    unknown: list[np.ndarray] = []
    for t in corpus.repositories:
        tree = corpus.trees[t]
        if tree.mode == "history":
            raise InputError(
                f"secrets.{entry.id}.attribute",
                f"blame reads one revision, and {tree.source} is read with mode: history",
                "take attribute: commit, or mode: tree",
            )
        history = _history(corpus, t)
        commits = {history.log.commit[c] for c in np.flatnonzero(history.commits_of(entry.emails)).tolist()}
        paths, _ = history.touched(entry.emails)
        files = corpus.files_named(renamed_onwards(history, paths), t)
        with corpus.view(t) as view:
            for done, number in enumerate(files.tolist()):
                if done % 64 == 0:
                    context.progress("blame", done, len(files))
                file = corpus.file(number)
                lines = blamed_lines(view, file.raw, commits)
                if lines is None:
                    unknown.append(files[done : done + 1])
                    continue
                content = corpus.contents[file.blob]
                spans += [Span(file.blob, start, end) for start, end in numbered_spans(content, lines)]
    context.counts["files_not_blamed"] += len(unknown)
    return Finding(files=np.concatenate(unknown) if unknown else (), spans=spans)


DETECTOR = Detector("contributors", ContributorsSecret, detect, history=True)
