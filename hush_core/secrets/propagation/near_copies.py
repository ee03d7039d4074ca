"""Propagator `copies`: what copies a passage of a tagged file, edited or not, holds its secret.

Exact copies of chunks are labelled without it (`LabelTable.held`). This finds a function that was pasted, with new
indentation, with edits, at another offset.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from hush_core.config import HushConfig
from hush_core.corpus import Corpus
from hush_core.corpus.git.tree import tree_entries
from hush_core.secrets.detectors.base import DetectedSecret, Labels, Span
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.labels import LabelTable
from hush_core.secrets.propagation.copy_index import CopyIndex
from hush_core.secrets.propagation.seeds import Seeds, seeds

REASON = "propagated:near_copy"


def near_copies(
    corpus: Corpus,
    config: HushConfig,
    found: Sequence[DetectedSecret],
    labels: LabelTable,
    context: DetectorContext,
) -> Iterator[tuple[int, Labels]]:
    """The copied regions in all contents. Where a secret is lines, their blocks in each content are searched for,
    but not in the contents where they were found, or that the detector went through."""
    asking = [one for one in seeds(corpus, config, found, labels) if one.spread.copies]
    if not asking:
        return
    lines = {one.found: labels.lines_of(one.found) for one in asking}
    own = {
        one.found: frozenset(one.blobs.tolist())
        | frozenset(lines[one.found][0].tolist())
        | frozenset(labels.decided_of(one.found).tolist())
        for one in asking
    }
    tagged_blobs = np.unique(np.fromiter((b for blobs in own.values() for b in blobs), dtype=np.int64))
    index = CopyIndex.build(
        _documents(corpus, asking, lines),
        (corpus.contents[blob] for blob in _untagged(corpus, tagged_blobs).tolist()),
    )
    spans: dict[int, list[Span]] = {one.found: [] for one in asking}
    blobs = corpus.read.tolist()
    for done, blob in enumerate(blobs):
        if done % 512 == 0:
            context.progress("propagate", done, len(blobs))
        for copy in index.find(corpus.contents[blob]):
            if blob not in own[copy.index]:
                spans[copy.index].append(Span(blob, copy.start, copy.end, REASON))
    for number, where in spans.items():
        if where:
            yield number, Labels(spans=where, reason=REASON)
    context.propagation["copies"] = _counts(asking, index)


Lines = tuple[np.ndarray, np.ndarray, np.ndarray]


def _documents(
    corpus: Corpus, asking: Sequence[Seeds], lines: Mapping[int, Lines]
) -> Iterator[tuple[int, bytes]]:
    """(secret, text) of all that is tagged: whole contents, and of others the tagged lines."""
    for one in asking:
        for blob in one.blobs.tolist():
            yield one.found, corpus.contents[blob]
        parts: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for blob, start, end in zip(*(column.tolist() for column in lines[one.found]), strict=True):
            parts[blob].append((start, end))
        for blob, places in sorted(parts.items()):
            content = corpus.contents[blob]
            yield one.found, b"\n".join(content[start:end] for start, end in sorted(places))


def _untagged(corpus: Corpus, tagged_blobs: np.ndarray) -> np.ndarray:
    """One content a path where nothing is tagged, each once; where there are versions, the revision's own."""
    group = corpus.tree.astype(np.int64) * len(corpus.paths) + corpus.path
    spared = np.unique(group[np.isin(corpus.blob, tagged_blobs)])
    chosen: dict[int, int] = {}
    newest = {
        tree: {entry.path: entry.blob for entry in _entries(corpus, tree)}
        for tree, one in enumerate(corpus.trees)
        if one.mode == "history"
    }
    for number in np.flatnonzero(~np.isin(group, spared)).tolist():
        blob, present = int(corpus.blob[number]), newest.get(int(corpus.tree[number]))
        if present is not None:
            standing = present.get(corpus.paths.raw[int(corpus.path[number])])
            known = corpus.contents.number(standing) if standing is not None else None
            blob = blob if known is None else known
        chosen[int(group[number])] = blob  # of a path that is gone: the last in the order of files
    return np.unique(np.fromiter(chosen.values(), dtype=np.int64))


def _entries(corpus: Corpus, tree: int) -> list:
    with corpus.view(tree) as view:
        return [entry for entry in tree_entries(view) if entry.kind == "blob"]


def _counts(asking: Sequence[Seeds], index: CopyIndex) -> dict[str, dict[str, int]]:
    """By entry; what was dropped or too short are holes."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one in asking:
        counts[one.entry].update(
            fingerprints=index.kept.get(one.found, 0),
            dropped_common=index.dropped_common.get(one.found, 0),
            too_short=index.too_short.get(one.found, 0),
        )
    return {entry: dict(count) for entry, count in counts.items()}
