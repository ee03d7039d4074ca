"""What does each way of protecting cost on this data? The same job under the rival mechanisms, at one promise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path

from prefect import flow
from prefect.logging import get_run_logger
from pydantic import BaseModel

from flows.check import check_config
from flows.reports.comparison import ComparisonReport, blocks, build_report
from flows.reports.lines import markdown
from flows.settling import settle
from flows.train import run_job
from hush_core.config import Changes, HushConfig
from hush_core.errors import HushError, InputError, Unavailable
from hush_core.rivals import Rival, mean_and_half_width, rivals_of, verdict_of
from hush_core.weights import taking
from hush_core.weights.choice import Taken
from tasks.leftovers import claim_flow_run
from tasks.models import measure
from tasks.outcome import Outcome
from tasks.publish_comparison import (
    ComparisonProgress,
    RivalRow,
    RivalRun,
    common_texts,
    publish_comparison,
    shown,
)
from tasks.runtime.caching import content_key
from tasks.runtime.environment import home
from tasks.runtime.flow_runs import ChosenRunner, named
from tasks.runtime.progress import STOPPING, suspendable, suspended
from tasks.runtime.runner import own_turn
from tasks.runtime.steps import show_page
from tasks.runtime.store import Ref
from tasks.texts import split_texts

SEEDS = 3
MOST_AT_ONCE = 4


MOST_SEEDS = 1000


class Comparison(BaseModel, frozen=True, extra="forbid"):
    """What to compare: rivals by name (`hush_core.rivals`), and how often each is trained."""

    mechanisms: tuple[str, ...] = ()
    """All kinds, unless some are named."""
    seeds: int = SEEDS
    parallel: int = min(MOST_AT_ONCE, os.cpu_count() or 1)
    """So many train at the same time, each in a process of its own."""

    def check(self) -> None:
        """Raises InputError: a number below 1, or more seeds than MOST_SEEDS."""
        if self.seeds > MOST_SEEDS:
            hint = "give fewer: each trains every mechanism once more"
            raise InputError("--seeds", f"is above {MOST_SEEDS:,}", hint)
        for name in ("seeds", "parallel"):
            if getattr(self, name) < 1:
                hint = "give a positive number"
                raise InputError(f"--{name}", f"must be at least 1, got {getattr(self, name)}", hint)


RivalOutcome = tuple[Outcome, Ref]
"""What a rival came to at one seed, and the text that it held out."""


@flow(name="compare", flow_run_name=named("compare"), validate_parameters=True, task_runner=ChosenRunner())
@suspendable
def compare(
    config_file: str, changes: Changes | None = None, what: Comparison | None = None, out: str | None = None
) -> ComparisonReport:
    """Train every rival, several times, and say which to take. Registers nothing.

    Args:
        config_file: the YAML file, on the machine that runs the flow.
        changes: values that replace those of the file.
        what: which rivals, and how many seeds.
        out: folder for tables and picture; by default one for this config under HUSH_HOME/comparisons.

    Every run is one more release of this data, and later certificates count it. Killed and started again with the
    same arguments, the comparison continues. The tracker shows its progress. A rival that fails is named with its
    reason; the others continue.
    """
    claim_flow_run()
    what = what or Comparison()
    what.check()
    asked = check_config(Path(config_file), changes, command="compare")
    noised: dict[str, Taken] = {entry.id: "noise" for entry in asked.secrets if entry.protect == "auto"}
    # rivals differ in their noise, so there must be some
    config = settle(taking(asked, noised), trains=True).config
    rivals = rivals_of(config, what.mechanisms)
    key = content_key("comparison", 1, config.model_dump_json(), what.mechanisms, what.seeds)
    total = what.seeds * sum(rival.config is not None for rival in rivals)
    with shown(config.tracking.experiment, key, total) as progress:
        with _together(what.parallel) as threads:
            outcomes, why = _train_rivals(threads, rivals, what.seeds, progress)
        rows, unit = _rows(rivals, outcomes, why)
        verdict = verdict_of({row.rival: row.losses for row in rows})
        folder = out or str(home().report_folder("comparisons", Path(config_file)))
        published = publish_comparison(config, rows, verdict, unit, folder, progress.run_id)
    chosen = next((rival.config for rival in rivals if rival.name == verdict.chosen), None)
    report = build_report(config, rows, verdict, chosen, unit, published)
    show_page(markdown(blocks(report)), "hush-comparison", "rivals at one promise")
    return report


@contextmanager
def _together(parallel: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that each do the tasks of one rival after the other; together they do no more than train
    (`own_turn`). No signal reaches them: when the flow is to end, it sets a flag, and they end after their round
    with a checkpoint.

    Not tasks of tasks: Prefect keeps the results of inner ones only when the outer one has ended.
    """
    STOPPING.clear()
    threads = ThreadPoolExecutor(parallel)
    try:
        yield threads
    except BaseException:
        STOPPING.set()
        raise
    finally:
        threads.shutdown(cancel_futures=True)


def _train_rival(config: HushConfig, seed: int) -> RivalOutcome:
    """All steps of one rival at one seed, each reused where it was done before."""
    with own_turn():
        if STOPPING.is_set():
            raise KeyboardInterrupt
        outcome = run_job(config, repetition=seed, methods=(), apart=True)
        texts = split_texts(outcome.extracted.examples, outcome.weighed.weights, outcome.extracted.edges)
        return outcome, texts.held_out


def _train_rivals(
    threads: ThreadPoolExecutor, rivals: list[Rival], seeds: int, progress: ComparisonProgress
) -> tuple[dict[str, list[RivalOutcome]], dict[str, str]]:
    """What each rival came to at each seed, and why one came to nothing. The first seed of all goes before the
    others: a rival that fails there costs no more."""
    log = get_run_logger()
    outcomes: dict[str, list[RivalOutcome]] = {rival.name: [] for rival in rivals if rival.config is not None}
    why = {rival.name: rival.why for rival in rivals if rival.config is None}
    for those in ((0,), range(1, seeds)):
        running: list[tuple[str, Future[RivalOutcome]]] = [
            (rival.name, threads.submit(copy_context().run, _train_rival, rival.config, seed))
            for seed in those
            for rival in rivals
            if rival.name not in why
        ]
        for done, (name, future) in enumerate(running, 1):
            try:
                outcomes[name].append(_result(future))
                progress.done()
            except Unavailable:  # of no rival
                raise
            except Exception as error:
                kind = f"{type(error).__name__}: the log of this run says where"  # its words may quote data
                why[name] = str(error) if isinstance(error, HushError) else kind
                log.warning("%s: %s", name, why[name])
                progress.done(failed=True)
            log.info("compare: %d of %d runs of %s are done", done, len(running), "the first seed" if those == (0,)
                     else "the other seeds")  # fmt: skip
    return {name: found for name, found in outcomes.items() if name not in why}, why


def _result(future: Future[RivalOutcome]) -> RivalOutcome:
    """What a thread came to. Waited for in short turns: a long wait would hold Ctrl-C up until it ended. Raises
    KeyboardInterrupt: the run was suspended meanwhile."""
    while not future.done():
        wait([future], timeout=0.2)
        if suspended():
            raise KeyboardInterrupt
    return future.result()


def _rows(
    rivals: list[Rival], outcomes: dict[str, list[RivalOutcome]], why: dict[str, str]
) -> tuple[list[RivalRow], str]:
    """One row a rival, measured on the text that none of them was trained on; what losses are counted per. Raises
    HushError: none has come to anything."""
    every = [one for found in outcomes.values() for one in found]
    if not every:
        raise HushError("no rival could be trained:\n" + "\n".join(f"  {name}: {why[name]}" for name in why))
    common = common_texts([held_out for _, held_out in every])
    rows = []
    for rival in rivals:
        if rival.name in why:
            rows.append(RivalRow(rival=rival.name, why=why[rival.name]))
            continue
        runs = tuple(
            _run(rival.name, seed, outcome, measure(outcome.trained.model, common))
            for seed, (outcome, _) in enumerate(outcomes[rival.name])
        )
        losses = [run.loss for run in runs if run.loss is not None]
        mean, half = mean_and_half_width(losses) if losses else (None, None)
        perplexity = None if mean is None else 2.0**mean
        rows.append(RivalRow(rival=rival.name, runs=runs, loss=mean, half_width=half, perplexity=perplexity))
    first, _ = every[0]
    return rows, first.trained.model.unit


def _run(rival: str, seed: int, outcome: Outcome, loss: float | None) -> RivalRun:
    calibrated, weighed = outcome.calibrated, outcome.weighed
    return RivalRun(
        rival=rival,
        seed=seed,
        loss=loss,
        noise_multiplier=calibrated.noise_multiplier,
        effective_noise=calibrated.effective_noise,
        rounds=calibrated.rounds,
        kept=round(weighed.kept * weighed.candidates) + weighed.trained_plain,
        worst_bound_to_target=outcome.worst_ratio,
        extracted=outcome.attacked.extracted,
        seconds_a_round=outcome.trained.seconds_a_round,
        peak_memory=outcome.trained.peak_memory,
    )
