"""The rehearsal's steps: choose stand-ins, time a round, rehearse one plan.

And what all of it leaves: the table of its points, their losses on the way, the picture, and the plan to run."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from pydantic import BaseModel

from hush_core import figures
from hush_core.config import Changes, HushConfig, LoraConfig, TrainConfig, write_plan
from hush_core.corpus.prompted import text_frame, texts_of
from hush_core.errors import InputError
from hush_core.files import write_whole
from hush_core.rehearsal import Search
from hush_core.rehearsal.budget import Cost
from hush_core.rehearsal.rehearse import STEPS, MeasuredTexts, OnLoss, Rehearsed, losses, rehearse
from hush_core.rehearsal.stand_ins import rehearsal_plan, rehearsal_roles, timed_plan, untagged_texts
from hush_core.weights import sampling_rates, text_order
from tasks.models import SEED, Model
from tasks.publish_plan import NoiseOfRuns, frame
from tasks.runtime.caching import cached_task, content_key
from tasks.runtime.steps import run_logger, step
from tasks.runtime.store import Ref, Store, open_store
from tasks.runtime.tracking import log_run, staged

if TYPE_CHECKING:
    from hush_core.training import LanguageModel

REHEARSAL_VERSION = 1
TIMED = ((1, 8), (4, 3))
"""Rounds are timed at so many times the config's batch, so many of them."""


class RoleTexts(BaseModel, frozen=True):
    """The roles (`hush_core.rehearsal.Roles`) as tables of untagged texts."""

    stand_ins: Ref
    rest: Ref
    validation: Ref
    held_back: Ref
    tagged_share: float
    n_stand_ins: int


@cached_task(name="assign_stand_ins", version=2)
def assign_stand_ins(examples: Ref, edges: Ref, n_examples: int, plain: bool) -> RoleTexts:
    """Give the untagged examples their roles; stand-ins are whole files where there is a plain phase. Raises
    InputError: too few examples are untagged."""
    store = open_store()
    graph, table = store.read_frame(edges), store.read_frame(examples)
    files = table.select(file=pl.concat_str("source", "path", separator="/"))["file"].to_list()
    texts = texts_of(table)
    order = text_order(texts)
    found = rehearsal_roles(graph, n_examples=n_examples, plain=plain, files=files, order=order, seed=SEED)

    def keep(role: str) -> Ref:
        return store.put_frame(
            text_frame(untagged_texts(getattr(found, role), texts, graph)), kind=f"rehearsal_{role}"
        )

    run_logger().info(
        "%d untagged examples stand in, %d are trained on before, %d are measured on",
        len(found.stand_ins), len(found.rest), len(found.validation) + len(found.held_back),
    )  # fmt: skip
    return RoleTexts(
        **{role: keep(role) for role in ("stand_ins", "rest", "validation", "held_back")},
        tagged_share=found.tagged_share, n_stand_ins=len(found.stand_ins),
    )  # fmt: skip


class Setup(BaseModel, frozen=True):
    """What every rehearsal of a job shares: the roles, and the model that the rounds begin with."""

    roles: RoleTexts
    start: Model
    lora: LoraConfig | None

    def model(self) -> LanguageModel:
        from hush_core.training import adapted

        return adapted(self.start.load(), self.lora, seed=SEED)


class CalibratedPoint(BaseModel, frozen=True):
    """A point that can run: its weights, and the noise that certifies every secret."""

    weights: Ref
    noise_multiplier: float
    distinct: float
    """How many examples the rounds draw at least once, in expectation."""
    retained: float
    """Σw over the examples that may be drawn."""


@step(name="time-rounds")
def time_rounds(setup: Setup, settings: TrainConfig) -> Cost:
    """What a round costs on this machine: a few of them at two batches, on stand-ins. Raises InputError: too few
    stand-ins for two batches."""
    from hush_core.training import OtherTexts, fit_private

    store, timed = open_store(), []
    texts = _texts(store, setup.roles.stand_ins)
    quiet = settings.model_copy(update={"early_stopping": None, "evaluate_every": None, "keep": "last"})
    quiet = quiet.model_copy(update={"untagged_batch": 0})
    for factor, rounds in TIMED:
        stamps: list[float] = []
        plan = timed_plan(len(texts), factor * settings.batch, rounds)
        with store.scratch() as folder:
            fit_private(
                plan, texts, setup.model(), quiet, Path(folder),
                lambda *_, s=stamps: s.append(time.perf_counter()), others=OtherTexts(untagged=texts),
            )  # fmt: skip
        timed.append((plan.expected_batch, [b - a for a, b in pairwise(stamps)]))
    if timed[0][0] == timed[1][0]:
        hint = "give --examples, the draws of a run, instead"
        raise InputError("--minutes", f"{len(texts)} stand-ins are too few to time two batches", hint)
    cost = Cost.of(timed)
    run_logger().info(
        "a round takes %.3g s, and %.3g ms for each example", cost.per_round, 1e3 * cost.per_example
    )
    return cost


def _kept(store: Store, setup: Setup, point: CalibratedPoint, settings: TrainConfig, seed: int) -> Path:
    sigma, essential = point.noise_multiplier, settings.essential()
    key = content_key("rehearse", REHEARSAL_VERSION, setup, point.weights, sigma, essential, seed)
    return store.work_dir("rehearsals") / f"{key}.json"


def loss_of(setup: Setup, point: CalibratedPoint, settings: TrainConfig, seed: int) -> float | None:
    """The loss of one plan, rehearsed where it was not yet."""
    kept = _kept(open_store(), setup, point, settings, seed)
    if kept.is_file():
        return json.loads(kept.read_bytes())["loss"]
    return rehearse_point(setup, point, settings, lambda *_: False, seed).loss


@step(name="start-loss")
def start_loss(setup: Setup) -> float:
    """What the rehearsed rounds begin with comes to, on the texts that plans are compared on."""
    store = open_store()
    return losses(setup.model(), _measured(store, setup.roles))[0]


@step(name="rehearse-plan")
def rehearse_point(
    setup: Setup, point: CalibratedPoint, settings: TrainConfig, on_loss: OnLoss, seed: int
) -> Rehearsed:
    """One plan rehearsed on stand-ins; what an earlier search has rehearsed to its end is not rehearsed again.

    Args:
        settings: of the point; one learning rate.
        on_loss: (step, loss) → whether to stop.
        seed: of all draws.
    """
    store = open_store()
    kept = _kept(store, setup, point, settings, seed)
    if kept.is_file():
        return _repeat_kept(kept, on_loss)
    texts = _texts(store, setup.roles.stand_ins)
    with store.scratch() as folder:
        done = rehearse(
            rehearsal_plan(
                sampling_rates(store.read_frame(point.weights)["weight"].to_numpy(), settings.batch),
                len(texts), noise_multiplier=point.noise_multiplier, rounds=settings.rounds,
                expected_batch=settings.batch, clip_norm=settings.clip_norm, seed=seed,
            ),
            texts, _measured(store, setup.roles),
            setup.model(), settings, Path(folder), seed=seed, untagged=_texts(store, setup.roles.rest),
            on_loss=on_loss,
        )  # fmt: skip
    if not done.stopped:
        body = {"loss": done.loss, "parts": done.parts, "curve": done.curve}
        write_whole(kept, json.dumps(body).encode())
    return done


def _measured(store: Store, roles: RoleTexts) -> Sequence:
    """What losses are taken on, by the share of the corpus that each represents."""
    return [
        MeasuredTexts("untagged", _texts(store, roles.validation), 1 - roles.tagged_share),
        MeasuredTexts("like the tagged", _texts(store, roles.held_back), roles.tagged_share),
    ]


def _texts(store: Store, table: Ref) -> list[bytes]:
    return texts_of(store.read_frame(table))


def _repeat_kept(kept: Path, on_loss: OnLoss) -> Rehearsed:
    """A rehearsal that is known, as if it ran now: it may be stopped on the way this time."""
    body = json.loads(kept.read_bytes())
    curve = tuple((int(step), float(loss)) for step, loss in body["curve"])
    for place, (at, loss) in enumerate(curve):
        if at < STEPS and on_loss(at, loss):
            return Rehearsed(None, {}, curve[: place + 1], stopped=True)
    return Rehearsed(body["loss"], body["parts"], curve, stopped=False)


PLAN = "plan.yaml"
TABLE, CURVES, PICTURE = "rehearsal.csv", "rehearsal_curves.csv", "rehearsal.png"
RUNS, RUNS_PICTURE = "rehearsal_runs.csv", "rehearsal_runs.png"


class LossOfRuns(NoiseOfRuns):
    """And the predicted loss of the first of them; None where it could not be rehearsed."""

    loss_from_start: float | None
    loss_from_previous: float | None


class PublishedRehearsal(BaseModel, frozen=True):
    """Where it lies. `plan` is the file for `hush run --plan`; None where no point could be rehearsed."""

    folder: str
    plan: str | None
    run_url: str | None
    config: str = ""
    """The name of the file that was rehearsed."""


def table_of(search: Search) -> pl.DataFrame:
    """One row a point, in the order in which they were tried."""
    rows, best = [], search.recommended()
    for one in search.tried():
        sigma, point = one.facts.get("noise_multiplier"), one.point
        rows.append({
            "number": one.number, "state": one.state, "loss": one.mean, "times_rehearsed": 1 + len(one.again),
            "losses": " ".join(f"{x:.5f}" for x in (one.loss, *one.again) if x is not None),
            **point.model_dump(exclude={"method"}),
            "noise_multiplier_needed": sigma,
            "noise_per_step": sigma * point.clip_norm / point.batch if sigma else None,
            "distinct": one.facts.get("distinct"),
            "weight_retained": one.facts.get("retained"),
            **{f"loss_{name.replace(' ', '_')}": x for name, x in one.facts.get("parts", {}).items()},
            "note": one.facts.get("note", ""),
            "own": point == search.space.own,
            "recommended": best is not None and one.number == best.number,
        })  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None)


@step(name="publish-rehearsal")
def publish_rehearsal(
    config: HushConfig,
    search: Search,
    by_runs: list[LossOfRuns],
    unit: str,
    out: Path,
    config_file: str,
    taken: Changes | None,
) -> PublishedRehearsal:
    """Write the files to `out`, and log them to the tracker. None of them says anything of a tagged example."""
    table, best = table_of(search), search.recommended()
    points = [(one.number, step / STEPS, loss) for one in search.tried() for step, loss in one.curve]
    kinds = {"number": pl.Int64, "share": pl.Float64, "loss": pl.Float64}
    curves = pl.DataFrame(points, schema=kinds, orient="row")
    params, metrics = {"method": config.method, "without_secret": config.weights.without_secret}, {}
    with staged(out) as work:
        table.write_csv(work / TABLE)
        curves.write_csv(work / CURVES)
        drawn = table.with_columns(pl.col("loss", "noise_per_step").cast(pl.Float64))
        figures.rehearsed(drawn, curves, work / PICTURE, unit=unit)
        if by_runs:
            runs = frame(by_runs)
            runs.write_csv(work / RUNS)
            figures.loss_by_runs(runs, work / RUNS_PICTURE, unit=unit)
        if best is not None:
            params |= best.point.model_dump(exclude_none=True)
            metrics = {"predicted_loss": best.mean, "noise_multiplier": best.facts["noise_multiplier"]}
            write_plan(
                work / PLAN,
                taken or best.point,
                f"rehearsed for {Path(config_file).name}: hush run {Path(config_file).name} --plan {PLAN}",
                f"predicted: {best.mean:.4f} bits per {unit}, σ = {metrics['noise_multiplier']:.4g}",
            )
    if best is None:
        (out / PLAN).unlink(missing_ok=True)  # an earlier rehearsal's
    files = [out / name for name in (TABLE, CURVES, PICTURE, PLAN, RUNS, RUNS_PICTURE)]
    url = log_run(
        experiment=config.tracking.experiment,
        run_name="rehearsal",
        params=params,
        metrics=metrics,
        files=files,
    )
    plan = None if best is None else str(out / PLAN)
    return PublishedRehearsal(folder=str(out), plan=plan, run_url=url, config=Path(config_file).name)
