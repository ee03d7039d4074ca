"""The files that propagators begin with: those that a detector gave to a secret whose entry has `spread`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hush_core.config import FileSecret, HushConfig, Spread
from hush_core.corpus import Corpus
from hush_core.secrets.detectors.base import DetectedSecret
from hush_core.secrets.labels import LabelTable
from hush_core.secrets.propagation.copy_index import COMMON
from hush_core.secrets.propagation.winnowing import WHITESPACE, WINDOW, K

MIN_BYTES = K + WINDOW - 1
"""A content with fewer, whitespace aside, is anybody's: that it is elsewhere says nothing."""


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
    telling = [
        blob
        for blob in contents[times <= COMMON].tolist()
        if len(corpus.contents[blob].translate(None, WHITESPACE)) >= MIN_BYTES
    ]
    return np.union1d(files, elsewhere[np.isin(corpus.blob[elsewhere], telling)]).astype(np.int64)
