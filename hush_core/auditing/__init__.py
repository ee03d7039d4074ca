"""Attacks on the trained model, to be read beside its certificate."""

from hush_core.auditing.exposure import exposure, redacted_exposure

__all__ = ["exposure", "redacted_exposure"]
