"""For how many runs the targets are to hold."""

from datetime import date
from typing import Annotated, Any

from pydantic import Field, model_validator

from hush_core.config.calendar import MOST_RUNS, UTC, runs_between
from hush_core.config.section import Section


class PromiseConfig(Section):
    """How many runs the targets are to hold for (docs/retraining.md): a number, or a schedule between two days."""

    runs: Annotated[int, Field(ge=1, le=MOST_RUNS)]
    """Every target holds over this many runs of one HUSH_HOME together; one more is refused before it trains.
    A schedule (`since`, `until`, `cron`) counts them, in place of this key."""
    since: date | None = None
    """First day of a schedule; with `until` and `cron` in place of `runs`."""
    until: date | None = None
    """Last day of the schedule."""
    cron: str | None = None
    """Five fields: when runs start. Its runs between both days are counted. `hush serve` follows it and
    refuses another `--cron`."""
    timezone: str | None = None
    """Time zone of the days and of `cron`; UTC unless given."""

    @model_validator(mode="before")
    @classmethod
    def _count(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not {"since", "until", "cron", "timezone"} & given.keys():
            return given
        days, zone = {key: given.get(key) for key in ("since", "until", "cron")}, given.get("timezone")
        if all(value is None for value in (*days.values(), zone)):
            return given
        if missing := [key for key, value in days.items() if value is None]:
            raise ValueError(f"{missing[0]} is missing; a schedule needs since, until and cron, or give runs")
        runs = runs_between(**days, timezone=UTC if zone is None else zone)
        if given.get("runs", runs) != runs:
            raise ValueError(f"runs is not the {runs} of the schedule; keep one of the two")
        return {**given, "runs": runs, "timezone": zone or UTC}

    @property
    def schedule(self) -> tuple[str | None, str | None]:
        """(cron, time zone) that the runs are counted by; None where a number is promised."""
        return self.cron, self.timezone
