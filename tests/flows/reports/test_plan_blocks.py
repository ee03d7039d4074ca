"""What a plan prints of its best point: the command that takes it, no column of nothing, no list of nothing."""

import pytest

from flows.reports.lines import markdown
from flows.reports.plan import blocks
from flows.reports.plan_report import PlanReport
from tasks.publish_plan import CostlySecret, PlanRow, Published
from tasks.weighing import Relaxation

COSTLY = CostlySecret(name="team", posterior=1e-3, examples=9, load=1.0, lost=8.0, lost_examples=2)


def row(method="best", **more):
    numbers = dict.fromkeys(("weight_retained", "protected_retained", "examples_kept"), 0.5)
    given = {"c": 0.1, "noise_asked": None, "noise_multiplier": 2.0, "drowned": False, "note": "", **more}
    return PlanRow(method=method, distinct=40, largest_batch=99, gap=0.0, **numbers, **given)


def shown(rows, *, lost=0, **more):
    published = Published(folder="/f", run_url=None, costly=[COSTLY], lost_outright=lost, lost_partly=0)
    facts = {
        "secrets": 1, "examples": 90, "method": "best", "best_point": 0, "rule": "the most weight", "other": None,
        "relaxations": [], "runs": 1, "noise_by_runs": [], "expected_batch": 8, "rounds": 20, "noise_share": 0.1,
        "widest_share": 0.1, "without_secret": "noise", "remedies": [], "next_run": "", "as_asked": [], "notes": [],
    }  # fmt: skip
    return markdown(blocks(PlanReport(**{**facts, "rows": rows, "published": published, **more})))


@pytest.mark.parametrize(
    ("point", "more", "command"),
    [
        ({}, {}, "`hush run` takes it"),
        ({}, {"swept": True}, "`hush run --c 0.1` takes it"),
        ({"noise_asked": 2.0}, {"swept": True}, "`hush run --noise 2` takes it"),
        ({}, {"set_c": 0.3}, "`hush run` takes weights.c = 0.3 of the config"),
    ],
)
def test_a_plan_names_the_command_that_takes_its_point(point, more, command):
    assert command in shown([row(**point)], **more)


def test_a_plan_of_another_mechanism_names_no_c_and_no_rule_about_it():
    text = shown([row()], mechanism="dp_sgd")
    assert "take: **mechanism dp_sgd: noise multiplier" in text
    assert "weights.c" not in text and "rule:" not in text


def test_the_papers_column_is_there_only_where_it_has_rows():
    assert "by the paper's kl" not in shown([row()])
    both = shown([row(), row("kl", noise_multiplier=30.0)])
    assert "by the paper's kl" in both and "30 at 50.0%" in both


def test_nothing_is_listed_as_lost_or_bought_where_it_is_nothing():
    entry = {
        "entry": "team",
        "secrets": 1,
        "posterior": 1e-3,
        "target": 1e-2,
        "at_most": 5.0,
        "distinct": False,
    }
    bought = [Relaxation(**entry, gain=gain, noise_multiplier=2.0) for gain in (0.2, 1.0)]
    text = shown([row()], relaxations=bought)
    assert "for the sake of" not in text and "may weigh" not in text
    assert text.count("raising r") == 1 and "keeps 1 more example, at" in text
    assert "2 examples never drawn" in shown([row()], lost=2) and "may weigh" in shown([row()], lost=2)
