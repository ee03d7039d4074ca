"""Propagator `identifiers`: files that mention a rare name that a tagged file defines hold its secret."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from hush_core.config import HushConfig
from hush_core.corpus import Corpus
from hush_core.secrets.detectors.base import DetectedSecret, Labels
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.labels import LabelTable
from hush_core.secrets.propagation.identifiers import Mentions, definitions
from hush_core.secrets.propagation.seeds import seeds

REASON = "propagated:identifier"


def mentioners(
    corpus: Corpus,
    config: HushConfig,
    found: Sequence[DetectedSecret],
    labels: LabelTable,
    context: DetectorContext,
) -> Iterator[tuple[int, Labels]]:
    """The files, in all repositories, that mention a name; the versions of one file count as one.

    A tagged content that is in no file has no language, and defines nothing here.
    """
    asking = [one for one in seeds(corpus, config, found, labels) if one.spread.identifiers]
    if not asking:
        return
    names: dict[int, frozenset[bytes]] = {}
    read: dict[tuple[str, int], frozenset[bytes]] = {}
    for one in asking:
        keys = {_language_and_content(corpus, number) for number in one.files.tolist()}
        for key in keys - read.keys():
            read[key] = frozenset(definitions(key[0], corpus.contents[key[1]]))
        names[one.found] = frozenset().union(*(read[key] for key in keys))
    mentions = Mentions(frozenset().union(*names.values()), max(one.spread.identifiers for one in asking))
    group = _one_number_a_path(corpus)
    order = np.argsort(group, kind="stable")
    for done, number in enumerate(order.tolist()):
        if done % 512 == 0:
            context.progress("propagate", done, len(order))
        mentions.read(int(group[number]), corpus.contents[int(corpus.blob[number])])
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one in asking:
        rest = np.setdiff1d(np.arange(len(corpus)), one.files)
        whole = set(group[one.files].tolist()) - set(group[rest].tolist())
        spread = mentions.spread(names[one.found], whole, one.spread.identifiers)
        counts[one.entry].update(rare=spread.rare, common=spread.common)
        if spread.files:
            yield one.found, Labels(files=np.flatnonzero(np.isin(group, list(spread.files))), reason=REASON)
    context.propagation["identifiers"] = {entry: dict(count) for entry, count in counts.items()}


def _language_and_content(corpus: Corpus, number: int) -> tuple[str, int]:
    file = corpus.file(number)
    tsx = file.language == "typescript" and file.raw.endswith(b".tsx")
    return "tsx" if tsx else file.language, file.blob


def _one_number_a_path(corpus: Corpus) -> np.ndarray:
    """A number by file, the same for all versions of a repository's path."""
    return corpus.tree.astype(np.int64) * len(corpus.paths) + corpus.path
