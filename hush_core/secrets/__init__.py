"""secrets: detectors, one a file, → secrets and edges; propagation of found values; priors; the graph."""

from hush_core.secrets.extraction import Extraction, extract, source_revisions
from hush_core.secrets.graph import SecretGraph
from hush_core.secrets.priors import guess_bits

__all__ = ["Extraction", "SecretGraph", "extract", "guess_bits", "source_revisions"]
