"""The first steps of every flow: which text there is, and which of it holds which secret."""

from __future__ import annotations

from hush_core.config import HushConfig
from tasks.extraction import Extracted, extract_secrets
from tasks.scanning import scan_repositories
from tasks.sources import sources


def extracted_of(config: HushConfig) -> Extracted:
    """The tables of a config; on a cluster its repositories are scanned side by side first."""
    inputs = sources(config)
    scan_repositories(inputs, config)
    return extract_secrets(inputs, config)
