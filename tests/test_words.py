"""Docstrings, comments and messages are written in plain words and short sentences, as the pages are
(test_docs.py)."""

import tomllib
from pathlib import Path

import pytest
from code_words import FOLDERS, wrong_in
from words import MOST_WORDS, wrong

ROOT = Path(__file__).resolve().parents[1]
LEFT = ROOT / "tests" / "words_left.txt"
LONG = " ".join(["word"] * (MOST_WORDS + 1))


def test_files_of_code_are_written_in_plain_words_and_short_sentences():
    """But for those listed, which are still to be rewritten. The list may only shrink: a clean file leaves it."""
    left = set(LEFT.read_text().splitlines())
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    found = {path.relative_to(ROOT).as_posix(): wrong_in(path.read_text(encoding="utf-8")) for path in paths}
    assert {path: wrongs for path, wrongs in found.items() if wrongs and path not in left} == {}
    assert sorted(path for path in left if not found.get(path)) == [], "clean or gone: take them off the list"


def test_what_hush_explain_prints_is_written_in_plain_words_and_short_sentences():
    entries = tomllib.loads((ROOT / "flows" / "refusals.toml").read_text()).values()
    assert [one for entry in entries for key in ("why", "do") for one in wrong(entry[key])] == []


@pytest.mark.parametrize(
    "source",
    [
        '"""Whoever."""',
        'class A:\n    x: int\n    """Whoever."""',
        "x = 1  # whoever",
        'def f():\n    raise ValueError("give it to whoever asks")',
        'def f(x):\n    raise ValueError(f"{x} goes to whoever asks")',
        f'"""{LONG}."""',
        f'"""Sum.\n\nArgs:\n    x (float): {LONG}.\n"""',
        "# " + LONG.replace("word " * 9, "word\n# ", 1) + "word " * 9,
        f'log.info("the {LONG}")',
    ],
)
def test_a_word_of_the_dialect_and_a_long_sentence_would_be_seen(source):
    assert len(wrong_in(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        f'"""Sum.\n\n>>> whoever  # {LONG}\n{LONG}\n\nThe end."""',
        f'"""Columns.\n\n    id      whoever {LONG}\n"""',
        '"""The column `whoever`."""',
        'whoever = "whoever"',
        f'SQL = "SELECT whoever FROM {LONG}"',
        f"# First line\nx = 1  # {LONG[:80]}\n# {LONG[:80]}",
    ],
)
def test_examples_tables_names_and_queries_are_not_read(source):
    assert wrong_in(source) == []
