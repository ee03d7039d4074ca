"""`hush explain`: by code, by a whole line, by words; no entry is left that no message has."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli import app
from flows.explain import explain, refusals

ROOT = Path(__file__).parents[2]


def said(*words):
    done = CliRunner().invoke(app, ["explain", *words])
    assert done.exit_code == 0, done.output
    return done.output


def test_a_pasted_line_gives_its_own_entry_and_no_other():
    line = "hush: job.yaml: unknown key rouns. Hint: remove it or correct its spelling"
    assert said(line) == said(*line.split()) == said("key") == "\n".join(refusals()["key"].lines()) + "\n"


def test_the_longest_part_of_a_message_decides():
    line = "plan.yaml: is not a mapping of keys. Hint: take the plan.yaml that `hush plan --rehearse` wrote"
    assert [one.code for one in explain([line])] == ["plan-file"]
    assert [one.code for one in explain(["names.txt: is not a mapping of keys"])] == ["yaml"]


def test_words_give_every_entry_that_has_them_and_no_words_give_all():
    assert {one.code for one in explain(["does not"])} == {"path", "range", "server", "version"}
    assert all(code in said() for code in refusals())


def test_an_entry_that_no_message_has_would_be_seen():
    sources = "\n".join(
        path.read_text(encoding="utf-8")
        for room in ("flows", "tasks", "hush_core", "lab")
        for path in (ROOT / room).rglob("*.py")
    )
    assert all(entry.says or entry.theirs for entry in refusals().values())
    left = [part for entry in refusals().values() for part in entry.says if part not in sources]
    assert left == []


@pytest.mark.parametrize("code", refusals())
def test_an_entry_is_two_sentences_one_of_why_and_one_of_what_to_do(code):
    entry = refusals()[code]
    for sentence in (entry.why, entry.do):
        assert sentence.endswith(".") and ". " not in sentence and len(sentence.split()) <= 35
