"""The rehearsal's steps: who stands in, what the rounds start from, what a round costs, one plan played through."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
from prefect import task
from prefect.logging import get_run_logger
from pydantic import BaseModel, ConfigDict

from hush_core.config import LoraConfig, TrainConfig
from hush_core.errors import InputError
from hush_core.files import write_whole
from hush_core.rehearsal import Cost, Measured, Played, cast, play, played_plan, untagged_texts
from hush_core.weights import sampling_rates
from tasks.extraction import Extracted
from tasks.runtime.caching import cached_task, content_key
from tasks.runtime.environment import home
from tasks.runtime.progress import progress_log
from tasks.runtime.store import Ref, Store
from tasks.training import SEED, Model
from tasks.weighing import Weighed

PLAYED_VERSION = 1
TIMED = (8, 3)
"""Rounds that are timed at a small batch and at a large one."""
LARGER = 4
"""How many times as large that is."""


class Roles(BaseModel):
    """The cast by reference (`hush_core.rehearsal.Cast`): tables with one column, example_id."""

    model_config = ConfigDict(frozen=True)

    stand_ins: Ref
    rest: Ref
    validation: Ref
    held_back: Ref
    tagged_share: float
    n_stand_ins: int
    n_rest: int


@cached_task(name="cast", version=1)
def cast_stand_ins(examples: Ref, edges: Ref, n_examples: int, plain: bool) -> Roles:
    """Give the untagged examples their roles; whole files stand in where there is a plain phase."""
    store = Store(home().store)
    places = store.read_frame(examples).select("source", "path")
    files = places.select(pl.concat_str("source", "path", separator="/"))["source"].to_list()
    found = cast(store.read_frame(edges), n_examples=n_examples, plain=plain, files=files, seed=SEED)
    parts = ("stand_ins", "rest", "validation", "held_back")
    refs = {
        part: store.put_frame(pl.DataFrame({"example_id": getattr(found, part)}), kind=part) for part in parts
    }
    get_run_logger().info(
        "rehearsal: %d untagged examples stand in, %d are trained on before, %d are measured on",
        len(found.stand_ins), len(found.rest), len(found.validation) + len(found.held_back),
    )  # fmt: skip
    return Roles(
        **refs, tagged_share=found.tagged_share, n_stand_ins=len(found.stand_ins), n_rest=len(found.rest)
    )


class Stage(BaseModel):
    """What every rehearsal of a job shares: texts, roles, and the model that the rounds begin with."""

    model_config = ConfigDict(frozen=True)

    examples: Ref
    edges: Ref
    n_examples: int
    roles: Roles
    start: Model
    lora: LoraConfig | None

    @classmethod
    def of(cls, extracted: Extracted, roles: Roles, start: Model, lora: LoraConfig | None) -> Stage:
        return cls(
            examples=extracted.examples, edges=extracted.edges, n_examples=extracted.n_examples, roles=roles,
            start=start, lora=lora,
        )  # fmt: skip

    def texts(self, store: Store, ids: Ref) -> list[bytes]:
        """Texts of untagged examples; a tagged one is refused."""
        column = store.read_frame(self.examples)["text"]
        wanted = store.read_frame(ids)["example_id"].to_numpy()
        return untagged_texts(wanted, column, store.read_frame(self.edges))

    def measured(self, store: Store) -> list[Measured]:
        """What losses are taken on, by the share of the corpus that each stands for."""
        share, roles = self.roles.tagged_share, self.roles
        return [
            Measured("untagged", self.texts(store, roles.validation), 1 - share),
            Measured("like the tagged", self.texts(store, roles.held_back), share),
        ]


class Priced(BaseModel):
    """A point that can run: weights by reference, and the noise that certifies every secret."""

    model_config = ConfigDict(frozen=True)

    weights: Ref
    noise_multiplier: float
    distinct: float
    retained: float


@task(name="time-rounds")
def time_rounds(stage: Stage, settings: TrainConfig) -> Cost:
    """What a round costs here, by the clock: a few of them at two batches, on stand-ins."""
    store, timed = Store(home().store), []
    texts = stage.texts(store, stage.roles.stand_ins)
    for batch, rounds in zip((settings.batch, LARGER * settings.batch), TIMED, strict=True):
        stamps: list[float] = []
        plan = played_plan(
            sampling_rates(_ones(len(texts)), min(batch, len(texts))), len(texts), noise_multiplier=1.0,
            rounds=rounds, expected_batch=min(batch, len(texts)), clip_norm=settings.clip_norm,
        )  # fmt: skip
        _rounds(store, stage, plan, texts, settings, lambda *_, s=stamps: s.append(time.perf_counter()))
        timed.append((plan.expected_batch, [b - a for a, b in zip(stamps, stamps[1:], strict=False)]))
    if timed[0][0] == timed[1][0]:
        raise InputError(
            "--minutes",
            f"{len(texts)} stand-ins are too few to time two batches",
            "give --examples, the draws of a run, instead",
        )
    cost = Cost.of(timed)
    get_run_logger().info(
        "a round takes %.3g s, and %.3g ms for each example", cost.per_round, 1e3 * cost.per_example
    )
    return cost


@task(name="rehearse-plan")
def play_point(
    stage: Stage, priced: Priced, settings: TrainConfig, told: Callable[[int, float], bool], *, seed: int
) -> Played:
    """One plan played through on stand-ins. What is known of it from an earlier search is not played again.

    Args:
        settings: of the point; one learning rate. told: (step, loss) → whether to stop.
    """
    store = Store(home().store)
    key = content_key("play", PLAYED_VERSION, stage, priced.weights, priced.noise_multiplier, _essence(settings), seed)
    kept = store.work_dir("rehearsals") / f"{key}.json"
    if (known := _known(kept)) is not None:
        return _told_again(known, told)
    texts = stage.texts(store, stage.roles.stand_ins)
    weights = store.read_frame(priced.weights)["weight"].to_numpy()
    plan = played_plan(
        sampling_rates(weights, settings.batch), len(texts), noise_multiplier=priced.noise_multiplier,
        rounds=settings.rounds, expected_batch=settings.batch, clip_norm=settings.clip_norm, seed=seed,
    )  # fmt: skip
    with store.scratch() as folder:
        done = play(
            plan, texts, stage.measured(store), _model(store, stage), settings, Path(folder), seed=seed, told=told
        )  # fmt: skip
    if not done.stopped:
        body = {"loss": done.loss, "parts": done.parts, "curve": done.curve}
        write_whole(kept, json.dumps(body).encode())
    return done


def _known(file: Path) -> Played | None:
    if not file.is_file():
        return None
    body = json.loads(file.read_bytes())
    curve = tuple((int(step), float(loss)) for step, loss in body["curve"])
    return Played(body["loss"], body["parts"], curve, stopped=False)


def _told_again(known: Played, told: Callable[[int, float], bool]) -> Played:
    """As if it were played now: it may be stopped on the way this time."""
    last = known.curve[-1][0] if known.loss is not None else None
    for place, (step, loss) in enumerate(known.curve):
        if step != last and told(step, loss):
            return Played(None, {}, known.curve[: place + 1], stopped=True)
    return known


def _rounds(store: Store, stage: Stage, plan, texts, settings, progress) -> None:
    from hush_core.training import fit_private

    quiet = settings.model_copy(update={"checkpoint_every": plan.rounds, "early_stopping": None})
    with store.scratch() as folder:
        fit_private(
            plan, texts, _model(store, stage), quiet.model_copy(update={"evaluate_every": None}), Path(folder), progress
        )


def _model(store: Store, stage: Stage):
    from hush_core.training import adapted, load_model

    return adapted(load_model(store.path(stage.start.files, verify=True)), stage.lora, seed=SEED)
