"""A schedule between two days is a number of runs."""

import asyncio
from datetime import date, datetime, time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from prefect.server.schemas.schedules import CronSchedule

from hush_core.config import Changes
from hush_core.config import parse_config as parsed
from hush_core.config.calendar import runs_between, schedule_of
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


NIGHTS = [
    ("Europe/Berlin", "2027-03-27", "2027-03-29"),
    ("Europe/Berlin", "2027-10-30", "2027-11-01"),
    ("America/New_York", "2027-03-13", "2027-03-15"),
    ("America/New_York", "2027-11-06", "2027-11-08"),
    ("Australia/Lord_Howe", "2027-04-03", "2027-04-05"),  # by half an hour
    ("Australia/Lord_Howe", "2027-10-02", "2027-10-04"),
]
"""Two a year: the hour from two to three is left out, or comes twice."""


def prefect_starts(zone, since, until, cron):
    """How many runs Prefect's own schedule has."""
    schedule = CronSchedule(cron=cron, timezone=zone)
    start = datetime.combine(date.fromisoformat(since), time.min, ZoneInfo(zone))
    end = datetime.combine(date.fromisoformat(until), time.max, ZoneInfo(zone))
    return len(asyncio.run(schedule.get_dates(500, start=start, end=end)))


@pytest.mark.parametrize("zone, since, until", NIGHTS)
@pytest.mark.parametrize("cron", ["0 2 * * *", "30 2 * * *", "59 2 * * *", "0 3 * * *", "30 1 * * *"])
def test_a_nightly_run_is_one_run_in_the_nights_when_clocks_are_changed(zone, since, until, cron):
    assert runs_between(since, until, cron, zone) == 3 == prefect_starts(zone, since, until, cron)


@pytest.mark.parametrize("zone, since, until", NIGHTS)
@pytest.mark.parametrize("cron", ["0 * * * *", "*/30 * * * *", "0 */2 * * *", "*/20 2 * * *", "15 1-3 * * *"])
def test_no_fewer_runs_are_counted_than_prefect_starts_in_such_nights(zone, since, until, cron):
    counted, started = runs_between(since, until, cron, zone), prefect_starts(zone, since, until, cron)
    assert started <= counted <= started + 3


def test_a_promise_is_counted_by_the_clocks_of_its_zone():
    """A day of 25 hours in Berlin, by a schedule of each hour; without the zone 24."""
    day = {"since": "2027-10-31", "until": "2027-10-31", "cron": "0 * * * *"}
    assert parse_config({**JOB, "promise": day}).runs == 24
    zoned = parse_config({**JOB, "promise": {**day, "timezone": "Europe/Berlin"}})
    assert zoned.runs == 25 and zoned.promise.schedule == ("0 * * * *", "Europe/Berlin")
    assert parse_config({**JOB, "promise": day}).promise.schedule == ("0 * * * *", "UTC")
    assert parse_config({**JOB, "promise": {"runs": 3}}).promise.schedule == (None, None)


def test_a_schedule_follows_from_the_promise_or_is_the_same():
    names, promised = ("--cron", "--timezone"), ("0 2 * * *", "Europe/Berlin")
    assert schedule_of(promised, (None, None), names) == promised
    assert schedule_of(promised, ("0  2 * * *", None), names) == ("0  2 * * *", "Europe/Berlin")
    assert schedule_of((None, None), (None, None), names) == ("0 2 * * *", "UTC")
    assert schedule_of((None, None), ("0 3 * * *", "Asia/Tokyo"), names) == ("0 3 * * *", "Asia/Tokyo")
    for asked, says in (
        (("0 3 * * *", None), "--cron.*promise.cron"),
        ((None, "UTC"), "--timezone.*promise.timezone"),
    ):
        with pytest.raises(InputError, match=says):
            schedule_of(promised, asked, names)


def test_a_promise_by_days_is_that_of_as_many_runs():
    by_days = parse_config({**JOB, "promise": YEAR})
    by_number = parse_config({**JOB, "promise": {"runs": 365}})
    assert by_days.runs == 365 and by_days.settings_digest == by_number.settings_digest
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
    assert fewer.settings_digest != config.settings_digest, (
        "another number of later rounds is another promise"
    )
    assert (
        anew.after(3) == anew
        and anew.rounds_in_all == 5000
        and anew.settings_digest != config.settings_digest
    )
