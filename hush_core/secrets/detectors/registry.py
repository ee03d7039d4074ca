"""The detectors, by kind: hush's own, and those of installed packages."""

from __future__ import annotations

from importlib import import_module

from hush_core.config.secrets import ENTRIES, further_detector
from hush_core.secrets.code import code_version
from hush_core.secrets.detectors.base import Detector

OWN: dict[str, Detector] = {kind: import_module(f"{__package__}.{kind}").DETECTOR for kind in ENTRIES}
"""Each in the file that is named after its kind."""


def detector_of(kind: str) -> Detector:
    """The detector for a kind that the config has accepted."""
    return OWN[kind] if kind in OWN else further_detector(kind)


def versions(kinds: set[str]) -> str:
    """Of hush's own code and of these kinds' detectors out of other packages, as one line: part of the cache
    key of an extraction."""
    others = (f"{kind} {detector_of(kind).version}" for kind in sorted(kinds - OWN.keys()))
    return ", ".join((code_version(), *others))
