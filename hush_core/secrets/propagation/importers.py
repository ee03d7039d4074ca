"""Propagator `imports`: files that import a tagged file hold its secret, as deep as the entry says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from hush_core.config import HushConfig
from hush_core.corpus import Corpus
from hush_core.secrets.detectors.base import DetectedSecret, Labels
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.labels import LabelTable
from hush_core.secrets.propagation.imports import ImportGraph
from hush_core.secrets.propagation.seeds import seeds

REASON = "propagated:import"


def importers(
    corpus: Corpus,
    config: HushConfig,
    found: Sequence[DetectedSecret],
    labels: LabelTable,
    context: DetectorContext,
) -> Iterator[tuple[int, Labels]]:
    """The importers within each repository that holds a tagged file; in history mode among all versions."""
    asking = [one for one in seeds(corpus, config, found, labels) if one.spread.imports]
    counts: Counter[str] = Counter()
    for tree in range(len(corpus.trees)):
        files = np.flatnonzero(corpus.tree == tree)
        here = [(one, np.flatnonzero(np.isin(files, one.files))) for one in asking]
        if not any(len(targets) for _, targets in here):
            continue
        context.progress("propagate", tree, len(corpus.trees))
        graph = ImportGraph([_source(corpus, number) for number in files.tolist()])
        for one, targets in here:
            reached = graph.importers(targets.tolist(), one.spread.imports)
            if reached:
                yield one.found, Labels(files=files[list(reached)], reason=REASON)
        counts.update(graph.counts)
    if asking:
        context.propagation["imports"] = {"unresolved": 0, "unparsed": 0} | dict(sorted(counts.items()))


def _source(corpus: Corpus, number: int) -> tuple[str, str, bytes]:
    file = corpus.file(number)
    return file.raw.decode("utf-8", "surrogateescape"), file.language, corpus.contents[file.blob]
