"""Scanning one repository before the extraction, in whatever process: what `extract` would scan itself.

Only what is kept by content is done ahead, so an extraction after it gives the same tables, and sooner.
"""

from collections.abc import Collection
from pathlib import Path

from hush_core.config import Repository
from hush_core.corpus import ReadOptions, read_corpus
from hush_core.progress import Progress
from hush_core.secrets.detectors.context import DetectorContext
from hush_core.secrets.detectors.registry import detector_of


def scanned_kinds(kinds: Collection[str]) -> list[str]:
    """Those of these kinds whose detectors have something to do ahead."""
    return sorted(kind for kind in set(kinds) if detector_of(kind).scan is not None)


def scan_ahead(
    repository: Repository,
    kinds: Collection[str],
    identity_key: bytes,
    progress: Progress,
    *,
    chunk_bytes: int,
    max_file_bytes: int,
    cache: Path,
    work: Path | None = None,
) -> int:
    """Scan the repository's contents for these kinds and keep what is found in `cache`; how many were new.

    Arguments as of `extract`. The text itself is not kept: the extraction keeps that of all repositories together.

    Raises:
        InputError: an unreadable or unsafe repository, missing objects, or no text.
    """
    context = DetectorContext(identity_key, progress, cache)
    how = ReadOptions(chunk_bytes, max_file_bytes, False, None, identity_key, work)
    with read_corpus((repository,), how, progress) as corpus:
        for kind in scanned_kinds(kinds):
            detector_of(kind).scan(corpus, context)
    return context.counts["blobs_scanned"]
