"""secrets: detectors, one a file, → secrets and edges; propagation of found values; priors; the graph."""

from hush_core.secrets.detectors.registry import versions as detector_versions
from hush_core.secrets.extraction import Extraction, extract, scan_ahead, scanned_kinds, source_revisions
from hush_core.secrets.graph import SecretGraph
from hush_core.secrets.priors import guess_bits

__all__ = [
    "Extraction", "SecretGraph", "detector_versions", "extract", "guess_bits", "scan_ahead",
    "scanned_kinds", "source_revisions",
]  # fmt: skip
