"""How many runs a schedule starts between two days."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any

from cronsim import CronSim, CronSimError

MOST_RUNS = 100_000


def runs_between(since: Any, until: Any, cron: Any) -> int:
    """How often `cron` (five fields) fires from the first minute of `since` to the last of `until`.

    >>> runs_between("2027-01-01", "2027-12-31", "0 2 * * *")
    365

    Raises:
        ValueError: a day is none, the schedule is none or has another number of fields, or it starts no run or more
            than MOST_RUNS.
    """
    first, last = _day("since", since), _day("until", until)
    if not isinstance(cron, str) or len(cron.split()) != 5:
        raise ValueError('cron is not a schedule of five fields; write one such as "0 2 * * *"')
    _, _, day, _, weekday = cron.split()
    if "*" not in (day, weekday):
        raise ValueError(
            "cron names days of the month and of the week, which schedulers read differently; name one"
        )
    end = datetime.combine(last, time.max)
    try:
        # it looks for what comes after the moment given
        fires = CronSim(cron, datetime.combine(first, time.min) - timedelta(minutes=1))
        runs = 0
        while runs <= MOST_RUNS and next(fires, end) < end:
            runs += 1
    except CronSimError:
        raise ValueError('cron is not a schedule; write one such as "0 2 * * *"') from None
    if not 1 <= runs <= MOST_RUNS:
        count = "no run" if not runs else f"more than {MOST_RUNS:,} runs"
        raise ValueError(f"cron starts {count} from {first} to {last}; mend the days or the schedule")
    return runs


def _day(key: str, given: Any) -> date:
    if isinstance(given, date) and not isinstance(given, datetime):
        return given
    try:
        return date.fromisoformat(given)
    except (TypeError, ValueError):
        raise ValueError(f"{key} is no day; write one such as 2027-12-31") from None
