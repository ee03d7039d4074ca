"""Detector `removed`: text that was in files which are gone; what is left of it in copies is labelled.

A file counts if its path matches and no file is there at the revision. All versions of it are read, from
any commit that the revision reaches. Files with the same content, and chunks with the same bytes, hold the
secret; in history mode the removed versions themselves do.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hush_core.config import RemovedSecret
from hush_core.corpus import Corpus, match_path
from hush_core.corpus.git.history_log import FILE
from hush_core.secrets.detectors.base import Detector, Finding
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.detectors.globs import Globs


def globs_of(entry: RemovedSecret) -> Globs:
    """Those of the entry, compiled."""
    return Globs(entry.paths, f"secrets.{entry.id}.paths")


def detect(corpus: Corpus, entry: RemovedSecret, context: DetectorContext) -> Iterator[Finding]:
    """One secret: every version of every removed file."""
    globs = globs_of(entry)
    blobs: list[int] = []
    for t in corpus.repositories:
        tree = corpus.trees[t]
        assert tree.history is not None, "the detector asks for histories"
        log = tree.history.log
        gone = np.array([p not in tree.present and globs.match(match_path(p)) for p in log.paths], dtype=bool)
        context.counts["removed_files"] += int(gone.sum())
        was_there = gone[log.change_path] & (log.change_kind == FILE)
        numbers = np.unique(log.change_blob[was_there]).tolist()
        blobs += corpus.fetch(t, (log.blobs[b] for b in numbers))
    yield Finding(blobs=blobs)


DETECTOR = Detector(
    "removed", RemovedSecret, detect, history=True, check=lambda config, entry: globs_of(entry)
)
