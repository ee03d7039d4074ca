"""`hush explain`: by code, by a whole line, by words; no entry is left that no message has."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli import app
from flows.explain import explain, refusals
from hush_core.errors import InputError

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


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("too weak", ["too-weak"]),
        ("promise.runs: 3 runs of this store have released what was promised for 3. Hint: raise", ["spent"]),
        ("promise.runs: the earlier runs leave nothing of the target of risk", ["spent"]),
        ("hopeless", ["hopeless"]),
        (
            "!     HOPELESS: σ/B = 1.37, so the noise of all rounds is 208 times as long",
            ["hopeless", "noise"],
        ),
        (
            "creds: 2 credentials too weak to protect, and 9 examples left out",
            ["too-weak", "example", "ways"],
        ),
        ("│ entry ┃ secrets ┃ in no example ┃ recognised elsewhere ┃", ["elsewhere", "example"]),
        ("every bound was recomputed; a second route confirmed 3", ["bound", "second-route"]),
        ("drowned", ["hopeless"]),
        ("audit: not refuted; 1 of 2 attacks could have refuted it", ["audit-outcome"]),
        ("of 7 attacked 0 extracted, 0 ranked first", ["exposure"]),
        ("worst_all_runs_to_target", ["version-tags"]),
        ("near target", ["state", "bound"]),
    ],
)
def test_a_pasted_line_of_a_report_gives_the_terms_in_it_in_their_order(line, codes):
    assert [one.code for one in explain([line])] == codes


def test_a_term_inside_another_word_is_none():
    with pytest.raises(InputError, match="has no entry"):
        explain(["poorly unbound counterexamples"])


def test_an_entry_that_no_message_has_would_be_seen():
    sources = "\n".join(
        path.read_text(encoding="utf-8")
        for room in ("flows", "tasks", "hush_core", "lab")
        for path in (ROOT / room).rglob("*.py")
    )
    assert all(entry.parts for entry in refusals().values())
    left = [p for entry in refusals().values() for p in (*entry.says, *entry.terms) if p not in sources]
    assert left == []


@pytest.mark.parametrize("code", refusals())
def test_an_entry_is_two_sentences_one_of_why_and_one_of_what_to_do(code):
    entry = refusals()[code]
    for sentence in (entry.why, entry.do):
        assert sentence.endswith(".") and ". " not in sentence and len(sentence.split()) <= 35
