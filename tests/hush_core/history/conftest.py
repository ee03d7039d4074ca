"""The store of a home of the test's own."""

import pytest

from tasks.runtime.environment import home
from tasks.runtime.store import Store


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("HUSH_HOME", str(tmp_path))
    home().create()
    return Store(home().store)
