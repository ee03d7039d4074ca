"""A promise of three runs, over commits: each counted in by the next, the fourth refused before it trains.

A real repository, store and tracker.
"""

from pathlib import Path

import polars as pl
import pytest
from jobs import Job
from many_runs import branches, config_of, drawn, run_all

from flows.verify import verify_target
from hush_core.certificate.recheck import posterior_of_runs
from hush_core.errors import VerificationError

pytestmark = pytest.mark.slow

RUNS = 3


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What each run reported, in order."""
    job = Job(tmp_path_factory.mktemp("promise"), seed=29)
    branches(job, ("b0", "b1", "b2", "b3"))

    def config(name, rev, runs=RUNS, high="1.0e-3"):
        return config_of(job, name, rev, promise=f"{{runs: {runs}}}", high=high)

    order = [
        (config("first", "b0"), False),
        (config("first", "b0"), False),
        (config("second", "b1"), True),
        (config("second", "b1"), False),
        (config("higher", "b2", high="2.0e-3"), False),
        (config("third", "b2"), False),
        (config("fourth", "b3"), False),
        (config("third", "b2"), False),
        (config("more", "b3", runs=9), False),
    ]
    finished = run_all(job, order)
    finished.append(job.hush("runs", "--add", finished[5]["certificate_dir"]))
    return finished


def test_the_bounds_of_all_runs_are_those_of_an_independent_computation_and_within_every_target(told):
    finished = [told[0], told[3], told[5]]
    runs = []
    for number, run in enumerate(finished):
        runs.append(drawn(Path(run["certificate_dir"])))
        bounds = pl.read_parquet(f"{run['certificate_dir']}/bounds.parquet")
        assert bounds["earlier_runs"].to_list() == [number] * bounds.height
        for row in run["rows"]:
            exact = posterior_of_runs([earlier[row["name"]] for earlier in runs], prior=row["prior"]).value
            assert exact * (1 - 1e-4) <= row["all_runs"] <= exact * 1.02
            assert row["bound"] <= row["all_runs"] <= row["target"]
    last = finished[-1]["rows"]
    assert max(row["all_runs"] / row["target"] for row in last) > 0.95, "noise is wasted"


def test_the_report_says_which_run_it_is_and_what_all_came_to(told):
    for run, number in ((0, 1), (3, 2), (5, 3)):
        worst = max(row["all_runs"] / row["target"] for row in told[run]["rows"])
        says = f"{number} of 3 that keep every target together; worst bound of all together {worst:.3g} of"
        assert says in " ".join(told[run]["screen"].split())
        assert ("all runs" in told[run]["screen"]) == (number > 1)


def test_no_other_method_is_compared_with_what_this_one_left_it(told):
    assert all(told[run]["noise_by_method"] == {} for run in (0, 3, 5))


def test_each_certificate_carries_on_the_one_before(told):
    first, second, third = (Path(told[n]["certificate_dir"]) for n in (0, 3, 5))
    for after, before in ((second, first), (third, second), (third, first)):
        assert verify_target(str(after), after=str(before)).chain.startswith("every run that")
    with pytest.raises(VerificationError, match="is not counted"):
        verify_target(str(first), after=str(second))


def test_each_run_by_itself_stays_far_below_its_target(told):
    """One of three: the σ of one run alone would be smaller."""
    assert max(row["bound"] / row["target"] for row in told[0]["rows"]) < 0.5


def test_the_runs_of_the_home_are_listed_and_one_that_is_known_is_not_counted_twice(told):
    assert "0 runs are counted from now on, 3 were already" in told[9]
    assert told[9].count(" this") == 3 and "another" not in told[9]


def test_a_run_that_is_read_from_the_cache_is_no_run(told):
    assert told[1]["reused"] and told[1]["rows"] == told[0]["rows"]
    assert told[7]["reused"] and told[7]["rows"] == told[5]["rows"], "even after the promise is spent"


def test_a_run_that_failed_is_counted_once_and_goes_on_with_its_own_plan(told):
    assert told[2] == "failed"
    assert not told[3]["reused"] and {row["earlier_runs"] for row in told[3]["rows"]} == {1}


def test_another_target_in_between_is_refused_with_a_mend(told):
    assert "promise.runs" in told[4] and "promised another prior or target" in told[4] and "alpha" in told[4]


def test_more_runs_than_were_promised_are_refused_where_the_others_left_nothing(told):
    assert "promise.runs" in told[8] and "leave nothing of the target of" in told[8]


def test_a_run_warns_of_the_end_of_its_promise_while_it_can_be_changed(told):
    ending = [[w for w in told[n]["warnings"] if "promised runs left" in w] for n in (0, 3, 5)]
    assert not ending[0] and ending[1][0].startswith("1 of 3") and ending[2][0].startswith("0 of 3")


def test_the_run_after_the_last_is_refused_before_it_trains(told):
    assert "3 runs of this store have released what was promised for 3" in told[6]
