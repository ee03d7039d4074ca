"""The detectors, by kind: hush's own, and those of installed packages."""

from __future__ import annotations

from hush_core.config.secrets import further_detector
from hush_core.secrets.code import code_version
from hush_core.secrets.detectors import (
    codeowners,
    contributors,
    credentials,
    literals,
    patterns,
    rare_words,
    removed,
    units,
)
from hush_core.secrets.detectors import path as paths
from hush_core.secrets.detectors.base import Detector

OWN = {
    detector.kind: detector
    for detector in (
        paths.DETECTOR,
        codeowners.DETECTOR,
        contributors.DETECTOR,
        credentials.DETECTOR,
        literals.DETECTOR,
        patterns.DETECTOR,
        rare_words.DETECTOR,
        removed.DETECTOR,
        units.DETECTOR,
    )
}


def detector_of(kind: str) -> Detector:
    """The detector for a kind that the config has accepted."""
    return OWN[kind] if kind in OWN else further_detector(kind)


def versions(kinds: set[str]) -> str:
    """Of hush's own code and of these kinds' detectors out of other packages, as one line: part of the cache
    key of an extraction."""
    others = (f"{kind} {detector_of(kind).version}" for kind in sorted(kinds - OWN.keys()))
    return ", ".join((code_version(), *others))
