"""A comparison in the tracker while it runs: one run, on which each finished training is a step.

with shown(experiment, key, total) as progress:       # a flow; key: the same for the same comparison
    progress.done(failed=False)                        # one training more has ended
    publish(..., run_id=progress.run_id)               # what is recorded goes to the same run

A tracker that is away costs nothing but the picture: the log says so once, and the comparison continues.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tasks.runtime.tracking import experiment_of, opened_run, tracker

COMPARISON = "hush.comparison"
"""The tag of a tracker's run with the key of the comparison that it shows."""
RUN_NAME = "comparison"
_log = logging.getLogger("prefect.hush.compare")


@dataclass
class ComparisonProgress:
    """How many trainings of a comparison have ended. run_id: the tracker's run; None where it did not answer."""

    run_id: str | None
    total: int
    ended: int = 0
    failed: int = 0

    def done(self, *, failed: bool = False) -> None:
        """One training more has ended, or one rival more has failed."""
        self.ended += 1
        self.failed += failed
        if self.run_id is None:
            return
        try:
            for name, value in (("trainings_ended", self.ended), ("trainings_failed", self.failed)):
                tracker().log_metric(self.run_id, name, value, step=self.ended)
        except Exception as error:  # whatever a server or its client says: the comparison must not hear it
            _log.warning("progress is not shown in the tracker (%s)", type(error).__name__)
            self.run_id = None

    def close(self, status: str) -> None:
        """The run is over without a result."""
        if self.run_id is not None:
            try:
                tracker().set_terminated(self.run_id, status)
            except Exception as error:
                _log.warning("the tracker's run stays open (%s)", type(error).__name__)


@contextmanager
def shown(experiment: str, key: str, total: int) -> Iterator[ComparisonProgress]:
    """The run of a comparison, opened again where an earlier attempt left it without a result; closed where this
    one ends without."""
    progress = ComparisonProgress(_begun(experiment, key, total), total)
    try:
        yield progress
    except KeyboardInterrupt:
        progress.close("KILLED")
        raise
    except BaseException:
        progress.close("FAILED")
        raise


def _begun(experiment: str, key: str, total: int) -> str | None:
    try:
        client = tracker()
        place = experiment_of(client, experiment)
        known = client.search_runs(
            [place], f"tags.`{COMPARISON}` = '{key}' and attributes.status != 'FINISHED'"
        )
        found, tags = known[0].info.run_id if known else None, {COMPARISON: key}
        run_id = opened_run(client, place, found, RUN_NAME, **tags)
        client.log_metric(run_id, "trainings", total)
        return run_id
    except Exception as error:
        _log.warning("progress is not shown in the tracker (%s)", type(error).__name__)
        return None
