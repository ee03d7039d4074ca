"""How many runs a schedule starts between two days, and whether two schedules are one.

When clocks change, readers of cron differ: Prefect starts a run in each hour of the wall clock, mostly also in a
skipped one; cron itself runs repeated hours twice. A nightly run is one run in all of them. Elsewhere the larger
number counts: a run too many leaves noise unused, one too few would be refused.
"""

from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from hush_core.errors import InputError

MOST_RUNS = 100_000
NIGHTLY, UTC = "0 2 * * *", "UTC"


def runs_between(since: Any, until: Any, cron: Any, timezone: Any = UTC) -> int:
    """How often `cron` (five fields) fires from the first minute of `since` to the last of `until`, by the clocks
    of `timezone`.

    >>> runs_between("2027-01-01", "2027-12-31", "0 2 * * *", "Europe/Berlin")
    365

    Raises:
        ValueError: a day, the zone or the schedule is invalid, or the schedule starts no run or more than
            MOST_RUNS.
    """
    first, last, zone = _day("since", since), _day("until", until), zone_of(timezone)
    if not isinstance(cron, str) or len(cron.split()) != 5:
        raise ValueError('cron is not a schedule of five fields; write one such as "0 2 * * *"')
    _, _, day, _, weekday = cron.split()
    if "*" not in (day, weekday):
        raise ValueError(
            "cron names days of the month and of the week, which schedulers read differently; name one"
        )
    try:
        runs = max(_fires(cron, first, last, None), _fires(cron, first, last, zone))
    except CronSimError:
        raise ValueError('cron is not a schedule; write one such as "0 2 * * *"') from None
    if not 1 <= runs <= MOST_RUNS:
        count = "no run" if not runs else f"more than {MOST_RUNS:,} runs"
        raise ValueError(f"cron starts {count} from {first} to {last}; correct the days or the schedule")
    return runs


def check_schedule(cron: str) -> None:
    """Raises ValueError where five fields are no schedule, or one that never starts anything."""
    try:
        if len(cron.split()) != 5:
            raise ValueError
        next(CronSim(cron, datetime(2027, 1, 1)))
    except (CronSimError, StopIteration, ValueError):
        raise ValueError('is not a schedule of five fields; write one such as "0 2 * * *"') from None


def zone_of(name: Any) -> ZoneInfo:
    """The time zone; ValueError for an unknown name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, TypeError, OSError):
        raise ValueError("timezone is not a known time zone; write one such as Europe/Berlin") from None


def schedule_of(
    promised: tuple[str | None, str | None], asked: tuple[str | None, str | None], where: tuple[str, str]
) -> tuple[str, str]:
    """(cron, time zone) of a requested schedule. A missing part is that of the promise, else 02:00 every night,
    UTC.

    Args:
        promised: those of the promise, or None. asked: those asked for. where: their names in an error.

    Raises:
        InputError: the promise counts the runs of another schedule.
    """
    found = []
    for key, mine, given, name, usual in zip(
        ("cron", "timezone"), promised, asked, where, (NIGHTLY, UTC), strict=True
    ):
        if mine is not None and given is not None and mine.split() != given.split():
            raise InputError(
                name,
                f"is {given!r}, but the promise counts the runs of promise.{key} = {mine!r}",
                "leave it out, and it follows from the promise; or correct the promise before its first run",
            )
        found.append(next(value for value in (given, mine, usual) if value is not None))
    return found[0], found[1]


def _fires(cron: str, first: date, last: date, zone: tzinfo | None) -> int:
    """At most one more than MOST_RUNS."""
    end = datetime.combine(last, time.max, zone)
    # it looks for what comes after the moment given
    fires = CronSim(cron, datetime.combine(first, time.min, zone) - timedelta(minutes=1))
    runs = 0
    while runs <= MOST_RUNS and next(fires, end) < end:
        runs += 1
    return runs


def _day(key: str, given: Any) -> date:
    if isinstance(given, date) and not isinstance(given, datetime):
        return given
    try:
        return date.fromisoformat(given)
    except (TypeError, ValueError):
        raise ValueError(f"{key} is no day; write one such as 2027-12-31") from None
