"""A comparison in the tracker and in files: its progress while it runs, then a table, a picture, and a run with a
child for every rival and seed.

A tracker that is away costs nothing but the picture of the progress: the log says so once, and the comparison
continues.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pydantic import BaseModel

from hush_core import figures
from hush_core.config import HushConfig
from hush_core.corpus.prompted import text_columns
from hush_core.rivals import CONFIDENCE, Verdict
from tasks.publish_plan import frame
from tasks.runtime.caching import cached_task
from tasks.runtime.steps import step
from tasks.runtime.store import Ref, open_store
from tasks.runtime.tracking import ChildRun, experiment_of, log_run, opened_run, staged, tracker

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


FILES = ("comparison.csv", "runs.csv", "comparison.png")


class RivalRun(BaseModel, frozen=True):
    """One rival at one seed: counts that the graph decides, and losses on text that no secret names; no bound
    covers `extracted`, and time and memory of a round (docs/mechanisms.md)."""

    rival: str
    seed: int
    loss: float | None
    """Bits on the text that every rival held out."""
    noise_multiplier: float | None
    """None: no certified round."""
    effective_noise: float | None
    """σC/B, of each number of the released mean."""
    rounds: int
    kept: int
    """Examples whose text training may see."""
    worst_bound_to_target: float
    extracted: int
    """Secrets whose value the attack found first among its alternatives."""
    seconds_a_round: float | None
    peak_memory: int | None

    def metrics(self, unit: str) -> dict[str, float]:
        """Those that are known, for the tracker."""
        known = self.model_dump(exclude={"rival", "seed", "loss"}) | {
            f"bits_per_{unit.replace(' ', '_')}_held_out": self.loss
        }
        return {name: float(value) for name, value in known.items() if value is not None}


class RivalRow(BaseModel, frozen=True):
    """One rival over all seeds, or the reason why it has none."""

    rival: str
    runs: tuple[RivalRun, ...] = ()
    loss: float | None = None
    half_width: float | None = None
    """Of Student's interval over seeds; None of a single one."""
    perplexity: float | None = None
    why: str = ""

    @property
    def losses(self) -> list[float]:
        return [run.loss for run in self.runs if run.loss is not None]


class PublishedComparison(BaseModel, frozen=True):
    """Where it lies."""

    folder: str
    run_url: str | None


@cached_task(name="common text", version=1)
def common_texts(tables: list[Ref]) -> Ref:
    """The texts that are in every one of these tables, in the order of the first."""
    store = open_store()
    first, *others = (text_columns(store.read_frame(table)) for table in tables)
    for other in others:
        first = first.join(other.select("text").unique(), on="text", how="semi", maintain_order="left")
    return store.put_frame(first, kind="texts_common")


def table_of(rows: list[RivalRow], verdict: Verdict) -> pl.DataFrame:
    """One row a rival, in the order in which they were asked for."""
    kinds = {
        "rival": pl.String, "loss": pl.Float64, "half_width": pl.Float64, "perplexity": pl.Float64,
        "seeds": pl.UInt32, "noise_multiplier": pl.Float64, "effective_noise": pl.Float64, "kept": pl.UInt32,
        "worst_bound_to_target": pl.Float64, "extracted": pl.UInt32, "seconds_a_round": pl.Float64,
        "peak_memory": pl.UInt64, "chosen": pl.Boolean, "alike": pl.Boolean, "why": pl.String,
    }  # fmt: skip
    found = []
    for row in rows:
        cells = row.runs[0].model_dump() if row.runs else {}
        timed = [run.seconds_a_round for run in row.runs if run.seconds_a_round is not None]
        taken = [run.peak_memory for run in row.runs if run.peak_memory is not None]
        cells |= {"seconds_a_round": min(timed, default=None), "peak_memory": max(taken, default=None)}
        cells |= row.model_dump(include={"rival", "loss", "half_width", "perplexity", "why"})
        cells |= {"seeds": len(row.runs), "extracted": max((run.extracted for run in row.runs), default=None)}
        cells |= {"chosen": row.rival == verdict.chosen, "alike": row.rival in verdict.alike}
        found.append({name: cells.get(name) for name in kinds})
    return pl.DataFrame(found, schema=kinds)


@step(name="publish-comparison")
def publish_comparison(
    config: HushConfig,
    rows: list[RivalRow],
    verdict: Verdict,
    unit: str,
    folder: str,
    run_id: str | None = None,
) -> PublishedComparison:
    """Write table and picture to `folder`, and log them with every run to the tracker: below `run_id`, which showed
    the progress, where there is one. Registers nothing."""
    out = Path(folder)
    table, runs = table_of(rows, verdict), [run for row in rows for run in row.runs]
    with staged(out) as work:
        table.write_csv(work / FILES[0])
        frame(runs).write_csv(work / FILES[1])
        figures.rivals(table, work / FILES[2], unit=unit)
    children = [
        ChildRun(f"{run.rival} {run.seed}", {"rival": run.rival, "seed": run.seed}, run.metrics(unit))
        for run in runs
    ]
    url = log_run(
        experiment=config.tracking.experiment,
        run_name=RUN_NAME,
        params={
            "rivals": ", ".join(row.rival for row in rows), "chosen": verdict.chosen, "why": verdict.why,
            "method": config.method, "rounds": config.train.rounds, "expected_batch": config.train.batch,
            "clip_norm": config.train.clip_norm,
        },
        metrics={"rivals": len(rows), "failed": sum(not row.runs for row in rows), "confidence": CONFIDENCE},
        files=[out / name for name in FILES],
        children=children,
        run_id=run_id,
    )  # fmt: skip
    return PublishedComparison(folder=str(out), run_url=url)
