"""The propagators of an entry with `spread`: near copies and importers.

Each begins with the files that a detector gave to a secret, not with what the others added. A file that imports a
tagged one is no reason to look for copies of the importer.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hush_core.config import FileSecret, HushConfig, Spread
from hush_core.corpus import Corpus
from hush_core.corpus.git.tree import tree_entries
from hush_core.secrets.detectors.base import DetectedSecret, Labels, Span
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.labels import LabelTable
from hush_core.secrets.propagation.copy_index import COMMON, CopyIndex
from hush_core.secrets.propagation.imports import ImportGraph
from hush_core.secrets.propagation.winnowing import WHITESPACE, WINDOW, K

MIN_BYTES = K + WINDOW - 1
"""A content with fewer, whitespace aside, is anybody's: that it is elsewhere says nothing."""
NEAR_COPY, IMPORT = "propagated:near_copy", "propagated:import"


@dataclass(frozen=True)
class Seeds:
    """What the detector gave to one secret whole, ascending; nothing that a propagator added.

    found: the secret's number. entry: its entry's id. files: by number, and the files elsewhere with exactly
    such a content, unless that is short, or is in more than COMMON other files. blobs: the contents of the
    files as the detector gave them, and those that it gave as such, which need not be in a file.
    """

    found: int
    entry: str
    spread: Spread
    files: np.ndarray = field(repr=False)
    blobs: np.ndarray = field(repr=False)


def seeds(
    corpus: Corpus, config: HushConfig, found: Sequence[DetectedSecret], labels: LabelTable
) -> list[Seeds]:
    """Every secret of a kind that spreads, in the order of their numbers."""
    chosen = []
    for number, one in enumerate(found):
        entry = config.secrets[one.entry]
        if isinstance(entry, FileSecret):
            files = np.unique(labels.files_of(number, detected=True))
            blobs = np.union1d(corpus.blob[files], labels.blobs_of(number, detected=True)).astype(np.int64)
            everywhere = _everywhere(corpus, files, blobs)
            chosen.append(Seeds(number, entry.id, entry.spread, everywhere, blobs))
    return chosen


def _everywhere(corpus: Corpus, files: np.ndarray, blobs: np.ndarray) -> np.ndarray:
    """The files, and those elsewhere that hold one of the contents."""
    elsewhere = np.setdiff1d(np.flatnonzero(np.isin(corpus.blob, blobs)), files)
    contents, times = np.unique(corpus.blob[elsewhere], return_counts=True)
    distinctive = [
        blob
        for blob in contents[times <= COMMON].tolist()
        if len(corpus.contents[blob].translate(None, WHITESPACE)) >= MIN_BYTES
    ]
    return np.union1d(files, elsewhere[np.isin(corpus.blob[elsewhere], distinctive)]).astype(np.int64)


def near_copies(
    corpus: Corpus,
    config: HushConfig,
    found: Sequence[DetectedSecret],
    labels: LabelTable,
    context: DetectorContext,
) -> Iterator[tuple[int, Labels]]:
    """The regions, in all contents, that copy a passage of a tagged file: a function that was pasted, with new
    indentation, with edits, at another offset. (`LabelTable.held` labels exact copies of chunks.) Where a secret is
    lines, their blocks in each content are searched for, but not in the contents where they were found, or that the
    detector went through."""
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
                spans[copy.index].append(Span(blob, copy.start, copy.end, NEAR_COPY))
    for number, where in spans.items():
        if where:
            yield number, Labels(spans=where, reason=NEAR_COPY)
    counts: dict[str, Counter[str]] = defaultdict(Counter)  # what was dropped or too short are holes
    for one in asking:
        counts[one.entry].update(
            fingerprints=index.kept.get(one.found, 0),
            dropped_common=index.dropped_common.get(one.found, 0),
            too_short=index.too_short.get(one.found, 0),
        )
    context.propagation["copies"] = {entry: dict(count) for entry, count in counts.items()}


def _documents(
    corpus: Corpus, asking: Sequence[Seeds], lines: Mapping[int, tuple[np.ndarray, np.ndarray, np.ndarray]]
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
    group = corpus.tree.astype(np.int64) * len(corpus.paths) + corpus.path  # of all versions of a path
    spared = np.unique(group[np.isin(corpus.blob, tagged_blobs)])
    chosen: dict[int, int] = {}
    newest: dict[int, dict[bytes, bytes]] = {}
    for tree, one in enumerate(corpus.trees):
        if one.mode == "history":
            with corpus.view(tree) as view:
                newest[tree] = {
                    entry.path: entry.blob for entry in tree_entries(view) if entry.kind == "blob"
                }
    for number in np.flatnonzero(~np.isin(group, spared)).tolist():
        blob, present = int(corpus.blob[number]), newest.get(int(corpus.tree[number]))
        if present is not None:
            standing = present.get(corpus.paths.raw[int(corpus.path[number])])
            known = corpus.contents.number(standing) if standing is not None else None
            blob = blob if known is None else known
        chosen[int(group[number])] = blob  # of a path that is gone: the last in the order of files
    return np.unique(np.fromiter(chosen.values(), dtype=np.int64))


def importers(
    corpus: Corpus,
    config: HushConfig,
    found: Sequence[DetectedSecret],
    labels: LabelTable,
    context: DetectorContext,
) -> Iterator[tuple[int, Labels]]:
    """Files that import a tagged one, as deep as the entry says, within each repository that holds one; in history
    mode among all versions."""
    asking = [one for one in seeds(corpus, config, found, labels) if one.spread.imports]
    counts: Counter[str] = Counter()
    for tree in range(len(corpus.trees)):
        files = np.flatnonzero(corpus.tree == tree)
        here = [(one, np.flatnonzero(np.isin(files, one.files))) for one in asking]
        if not any(len(targets) for _, targets in here):
            continue
        context.progress("propagate", tree, len(corpus.trees))
        graph = ImportGraph([
            (file.raw.decode("utf-8", "surrogateescape"), file.language, corpus.contents[file.blob])
            for file in map(corpus.file, files.tolist())
        ])  # fmt: skip
        for one, targets in here:
            if reached := graph.importers(targets.tolist(), one.spread.imports):
                yield one.found, Labels(files=files[list(reached)], reason=IMPORT)
        counts.update(graph.counts)
    if asking:
        context.propagation["imports"] = {"unresolved": 0, "cut": 0} | dict(sorted(counts.items()))
