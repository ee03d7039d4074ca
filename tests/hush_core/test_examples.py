"""The examples in docstrings do what they say."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "hush_core").rglob("*.py"))
    if any(">>> " in line and "+SKIP" not in line for line in path.read_text().splitlines())
]


@pytest.mark.parametrize("name", MODULES)
def test_an_example_in_a_docstring_gives_what_it_shows(name):
    done = doctest.testmod(import_module(name))
    assert done.attempted and not done.failed
