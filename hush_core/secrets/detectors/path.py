"""Detector `path`: files whose path matches globs in gitignore syntax; the last matching glob wins."""

from __future__ import annotations

from collections.abc import Iterator

from hush_core.config import PathSecret
from hush_core.corpus import Corpus
from hush_core.secrets.detectors.base import Detector, Finding
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.detectors.globs import Globs


def globs_of(entry: PathSecret) -> Globs:
    """Those of the entry, compiled."""
    return Globs(entry.globs, f"secrets.{entry.id}.globs")


def detect(corpus: Corpus, entry: PathSecret, context: DetectorContext) -> Iterator[Finding]:
    """One secret: the files at the globs; in history mode every version that was ever there."""
    yield Finding(files=corpus.files_at(globs_of(entry).match))


DETECTOR = Detector("path", PathSecret, detect, check=lambda config, entry: globs_of(entry))
