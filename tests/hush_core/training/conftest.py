"""What a private round releases, as it happens."""

import pytest

from hush_core.training import PrivateModule


@pytest.fixture
def releases(monkeypatch):
    """What went into each release before the noise, and came out of it."""
    seen = []
    release = PrivateModule._release

    def spy(self, total):
        before = total.clone()
        mean = release(self, total)
        seen.append((before, mean.clone()))
        return mean

    monkeypatch.setattr(PrivateModule, "_release", spy)
    return seen
