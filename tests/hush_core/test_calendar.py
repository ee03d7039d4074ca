"""A schedule between two days is a number of runs."""

from pathlib import Path

import pytest

from hush_core.config import Changes
from hush_core.config import parse_config as parsed
from hush_core.config.calendar import runs_between
from hush_core.errors import InputError

JOB = {
    "version": 1, "repos": [{"path": "."}], "train": {"rounds": 1000, "batch": 8},
    "secrets": [{"id": "a", "kind": "path", "globs": ["a/**"], "level": 1e-3}],
}  # fmt: skip
YEAR = {"since": "2027-01-01", "until": "2027-12-31", "cron": "0 2 * * *"}


def parse_config(job):
    return parsed(job, where="job.yaml", folder=Path("."))


@pytest.mark.parametrize(
    "since, until, cron, runs",
    [
        ("2027-01-01", "2027-12-31", "0 2 * * *", 365),
        ("2028-01-01", "2028-12-31", "0 2 * * *", 366),
        ("2027-01-01", "2027-12-31", "30 3 * * 0", 52),
        ("2027-03-01", "2027-03-01", "0 0 * * *", 1),  # midnight of the first day
        ("2027-03-01", "2027-03-01", "59 23 * * *", 1),  # the last minute of the last
        ("2027-03-01", "2027-03-02", "*/15 * * * *", 192),
    ],
)
def test_so_many_runs_are_counted(since, until, cron, runs):
    assert runs_between(since, until, cron) == runs


@pytest.mark.parametrize(
    "changed, says",
    [
        ({"until": "soon"}, "until is no day"),
        ({"until": "2026-12-31"}, "starts no run from"),
        ({"cron": "99 99 * * *"}, "cron is not a schedule"),
        ({"cron": "0 2 * *"}, "five fields"),
        ({"cron": "* * * * *"}, "more than 100,000 runs"),
        ({"runs": 7}, "runs is not the 365 of the schedule"),
        ({"cron": "0 2 */2 * 1"}, "read differently"),
        ({"since": None}, "since is missing"),
    ],
)
def test_what_is_no_schedule_is_refused_in_one_line(changed, says):
    with pytest.raises(InputError, match=says):
        parse_config({**JOB, "promise": {**YEAR, **changed}})


def test_a_promise_by_days_is_that_of_as_many_runs():
    by_days = parse_config({**JOB, "promise": YEAR})
    by_number = parse_config({**JOB, "promise": {"runs": 365}})
    assert by_days.runs == 365 and by_days.mechanism == by_number.mechanism
    changed = Changes(rounds=500).applied_to(by_days)  # which reads it again
    assert changed.runs == 365 and changed.promise == by_days.promise


def test_later_runs_have_their_own_rounds_and_what_is_said_in_rounds_shrinks_with_them():
    train = {
        **JOB["train"],
        "start": "champion",
        "later_rounds": 20,
        "warmup_rounds": 100,
        "evaluate_every": 500,
    }
    config = parse_config({**JOB, "public": ["b/**"], "promise": {"runs": 5}, "train": train})
    first, later = config.after(0).train, config.after(3).train
    assert (first.rounds, first.warmup_rounds, first.evaluate_every) == (1000, 100, 500)
    assert (later.rounds, later.warmup_rounds, later.evaluate_every) == (20, 2, 10)
    assert config.rounds_in_all == 1080 and config.after(3).train.batch == 8
    anew = parse_config({**JOB, "promise": {"runs": 5}})
    fewer = parse_config(
        {**JOB, "public": ["b/**"], "promise": {"runs": 5}, "train": {**train, "later_rounds": 10}}
    )
    assert fewer.mechanism != config.mechanism, "another number of later rounds is another promise"
    assert anew.after(3) == anew and anew.rounds_in_all == 5000 and anew.mechanism != config.mechanism


@pytest.mark.parametrize(
    "train, promise, says",
    [
        ({"start": "champion"}, {"runs": 3}, "go together"),
        ({"later_rounds": 3}, {"runs": 3}, "go together"),
        ({"start": "champion", "later_rounds": 3}, None, "promise"),
    ],
)
def test_a_start_that_no_promise_bounds_is_refused(train, promise, says):
    job = {**JOB, "train": {**JOB["train"], **train}} | ({"promise": promise} if promise else {})
    with pytest.raises(InputError, match=says):
        parse_config(job)


def test_no_value_is_redacted_on_top_of_a_model_that_may_know_it():
    secrets = [{"id": "c", "kind": "credentials", "level": 1e-3, "protect": "redact"}]
    train = {**JOB["train"], "start": "champion", "later_rounds": 20}
    with pytest.raises(InputError, match="secrets.c: protect: redact"):
        parse_config({**JOB, "secrets": secrets, "promise": {"runs": 5}, "train": train})
