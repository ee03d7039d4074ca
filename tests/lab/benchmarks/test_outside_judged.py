"""benchmarks/outside_judged.py: exact intervals, shares as counted by hand, and a page that says what is kept."""

import csv
import json
import sys
from pathlib import Path

import pytest
from scipy.stats import binom

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "lab" / "benchmarks"))

import outside_judged  # noqa: E402
from outside_judged import DRAWN, RESULTS, VERDICTS, clopper_pearson, join, shares, table  # noqa: E402


@pytest.fixture(scope="module")
def kept():
    with (RESULTS / "outside_judged.csv").open(newline="") as file:
        return list(csv.DictReader(file)), json.loads((RESULTS / "outside_judged.json").read_text())


@pytest.mark.parametrize(("hits", "of"), [(1, 7), (31, 150), (45, 60), (149, 150)])
def test_an_interval_leaves_two_and_a_half_percent_on_either_side(hits, of):
    low, high = clopper_pearson(hits, of)
    assert binom.sf(hits - 1, of, low) == pytest.approx(0.025)
    assert binom.cdf(hits, of, high) == pytest.approx(0.025)


def test_an_interval_of_none_and_of_all():
    assert clopper_pearson(0, 10) == pytest.approx((0, 1 - 0.025**0.1))
    assert clopper_pearson(10, 10) == pytest.approx((0.025**0.1, 1))


def test_shares_are_those_of_the_tool_and_the_seed():
    def row(verdict, hush="", other=""):
        return {"hush": hush, "betterleaks": other, "verdict": verdict, "kind": "made up"}

    rows = [row("credential", "hold-out second"), row("public", "hold-out"), row("none", "hold-out", "second"),
            row("unclear", "hold-out"), row("credential", "", "second"), row("none", "second")]  # fmt: skip
    facts = {"megabytes": {"hold-out": 4.0, "both": 8.0}, "lines": {"hush": {"hold-out": 40, "both": 60}}}
    said = shares(rows, facts, "hush", "hold-out")
    assert (said["read"], said["rate"]) == (4, 10)
    assert [said[name][0] for name in ("credential", "strict", "mild")] == [0.25, 0.75, 0.5]
    assert said["rest"] == {("public", "made up"): 1, ("none", "made up"): 1, ("unclear", "made up"): 1}
    assert shares(rows, facts, "hush", "both")["read"] == 5


def test_a_line_that_two_tools_report_was_drawn_more_often_and_counts_for_less():
    both = {"hush": "all", "betterleaks": "all", "verdict": "credential", "kind": "made up"}
    alone = both | {"betterleaks": "", "verdict": "none"}
    frames = {"hush": 2 * DRAWN["hush"], "betterleaks": DRAWN["betterleaks"]}
    facts = {"megabytes": {"all": 1.0}, "lines": {tool: {"all": n} for tool, n in frames.items()}}
    said = shares([both, both, alone], facts, "hush", "all")
    assert said["credential"][0] == pytest.approx(2 / (2 + 2))  # chances of 1, 1 and a half
    assert said["credential"][1:] == pytest.approx(clopper_pearson(4 / 3, 16 / 6))


def test_verdicts_are_joined_by_number_and_others_than_the_four_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(outside_judged, "RESULTS", tmp_path)
    (tmp_path / "key.json").write_text(
        json.dumps({"facts": {"lines": 2}, "rows": [{"line": 7}, {"line": 9}]})
    )
    (tmp_path / "verdicts.txt").write_text("1 public a digest\n0 credential key, test\n")
    join(tmp_path)
    kept = (tmp_path / "outside_judged.csv").read_text()
    assert kept == 'line,verdict,kind\n7,credential,"key, test"\n9,public,a digest\n'
    (tmp_path / "verdicts.txt").write_text("1 maybe\n0 credential key\n")
    with pytest.raises(SystemExit, match="no such verdict: .'maybe'"):
        join(tmp_path)


def test_what_is_kept_is_the_whole_sample_and_holds_no_text(kept):
    rows, facts = kept
    drawn = {tool: DRAWN[tool] for tool in facts["lines"]}
    assert set(rows[0]) == {"host", "commit", "path", "line", "marked", *drawn, "verdict", "kind"}
    assert {tool: sum(bool(row[tool]) for row in rows) for tool in drawn} == drawn
    assert {row["verdict"] for row in rows} == set(VERDICTS)
    assert all(len(row["commit"]) == 40 and int(row["line"]) and row["path"] for row in rows)
    assert all(facts["lines"][tool]["both"] >= count for tool, count in drawn.items())


def test_the_page_says_what_was_judged(kept):
    page = (ROOT / "lab" / "docs" / "finding_secrets.md").read_text()
    said = [line for line in table(*kept).splitlines() if line.startswith("| ")]
    assert len(said) == 1 + 3 * len(kept[1]["lines"])
    assert [line for line in said if line not in page] == []
