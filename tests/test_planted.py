"""`make mutants` plants each mistake in the line that it names: the line is there, once, and so are its tests."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MISTAKES = tomllib.loads((ROOT / "tests" / "mutants" / "planted.toml").read_text())["mistake"]


@pytest.mark.parametrize("mistake", MISTAKES, ids=[m["why"][:60] for m in MISTAKES])
def test_the_line_and_the_tests_of_a_planted_mistake_exist(mistake):
    assert (ROOT / mistake["file"]).read_text().count(mistake["right"]) == 1
    assert mistake["right"] != mistake["wrong"] and mistake["tests"]
    for test in mistake["tests"]:
        file, _, name = test.partition("::")
        path = ROOT / file
        assert f"def {name.partition('[')[0]}" in path.read_text()


def test_the_lines_of_mutants_that_change_nothing_exist():
    known = tomllib.loads((ROOT / "tests" / "mutants" / "equivalent.toml").read_text())["mutant"]
    assert not [one["why"] for one in known if one["right"] not in (ROOT / one["file"]).read_text()]
