"""One cell of a user-level table: a mechanism with its settings, planned and trained by the project's own steps.

Items, rates, noise, what fills an item and the rounds are `hush_core`'s, as `hush run` goes through them. Draws are
fixed by a seed, which a certified plan does not allow: the bounds are left off the plan, its noise stays.
"""

from __future__ import annotations

import hashlib
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from user_level_data import UserData

from hush_core.config import GroupPrivacyMechanism, LoraConfig, TrainConfig, UserWiseMechanism
from hush_core.corpus.records import ItemText
from hush_core.mechanisms import Layout, filling, item_texts, lay_out, plan_of, with_implied_targets
from hush_core.plan import ProtectionPlan
from hush_core.training import adapted, fit_private, load_model
from hush_core.weights import WeightSettings, sampling_rates

NONE = math.inf
"""ε without noise."""
UNNOTICED = 1e-6
"""σ of a run without noise: that of the draw's rounding, as a plan needs one."""
UNCLIPPED = 100.0
"""C of a run without noise: no gradient has such a norm."""


@dataclass(frozen=True)
class Settings:
    """What all cells share. batch: RECORDS a round, in expectation, whatever an item is. context: bytes of a record
    that the model reads."""

    rounds: int
    batch: int
    context: int
    delta: float
    clip_norm: float
    lora: int
    micro_batch: int = 64


@dataclass(frozen=True)
class Cell:
    kind: str
    select: str
    records: int
    epsilon: float
    learning_rate: float
    seed: int
    units: int = 0
    """Of user-wise: so many units a round, whatever they show; 0: by `Settings.batch`."""

    @property
    def planned(self) -> tuple:
        """What the plan depends on."""
        what = self.kind, self.select, self.records, self.epsilon
        return (*what, self.units) if self.units else what


@dataclass(frozen=True, eq=False)
class Planned:
    """plan: without certificates. texts: (n,) by item. items, kept: how many items are drawn from; how many
    records they may hold. records: the records that a round shows in expectation."""

    plan: ProtectionPlan
    texts: list[ItemText]
    items: int
    kept: float
    records: float


def mechanism_of(cell: Cell, delta: float) -> GroupPrivacyMechanism | UserWiseMechanism:
    kind = {"group_privacy": GroupPrivacyMechanism, "user_wise": UserWiseMechanism}[cell.kind]
    promise = {} if cell.epsilon == NONE else {"epsilon": cell.epsilon, "delta": delta}
    return kind(kind=cell.kind, select=cell.select, records=cell.records, **promise)


def planned(
    data: UserData, cell: Cell, settings: Settings, scores: Callable[[str], np.ndarray | None]
) -> Planned:
    """The plan of a cell and the text of its items, at `settings.batch` records a round.

    Args:
        scores: selection → by example the length or perplexity that it ranks by.
    """
    mechanism = mechanism_of(cell, settings.delta)
    laid = lay_out(
        data.edges, data.secrets, n_examples=len(data.texts), mechanism=mechanism,
        settings=WeightSettings(rule="kl", c=None),
    )  # fmt: skip
    weights = laid.weighing.weights
    items = int((weights > 0).sum())
    of_item = 1.0
    if cell.kind == "user_wise":
        of_item = float(np.minimum(np.bincount(data.users), cell.records).mean())
    batch = min(items, cell.units or round(settings.batch / of_item))
    plan = _plan(mechanism, laid, data, batch, settings, cell.epsilon)
    texts: list[ItemText] = list(data.texts)
    if laid.items is not None and laid.items.pools is not None:
        pools = laid.items.pools
        filled = filling(mechanism, weights, pools, scores(cell.select))
        pieces = settings.context if cell.select == "chunks" else None
        texts = item_texts(data.texts, filled, pieces_of=pieces)
    return Planned(plan, texts, items, float(laid.shown.weights.sum()), batch * of_item)


def _plan(
    mechanism: GroupPrivacyMechanism | UserWiseMechanism,
    laid: Layout,
    data: UserData,
    batch: int,
    settings: Settings,
    epsilon: float,
) -> ProtectionPlan:
    if epsilon == NONE:
        rates = sampling_rates(laid.weighing.weights, batch)
        records = mechanism.records_a_round
        empty = data.secrets.clear()
        return ProtectionPlan(
            rates, UNNOTICED, settings.rounds, batch, UNCLIPPED, "best", empty, records=records
        )
    plan = plan_of(
        mechanism, laid.weighing.weights, laid.edges, with_implied_targets(data.secrets, epsilon, settings.delta),
        rounds=settings.rounds, expected_batch=batch, clip_norm=settings.clip_norm,
    )  # fmt: skip
    assert (plan.certificates["bound"] <= plan.certificates["posterior"]).all()
    return replace(plan, certificates=plan.certificates.clear())


def trained(data: UserData, cell: Cell, made: Planned, start: Path, settings: Settings) -> dict:
    """The row of a cell: its noise and, after its rounds, bits per byte of the held-out records.

    chosen_by: on the half of them that learning rates are chosen by; bits: on the other half; by_user: there, each
    user's records weighing as one.
    """
    model = adapted(
        load_model(start), LoraConfig(rank=settings.lora, alpha=2 * settings.lora), seed=cell.seed
    )
    config = TrainConfig(
        rounds=settings.rounds, batch=made.plan.expected_batch, learning_rate=cell.learning_rate,
        micro_batch=settings.micro_batch, checkpoint_every=settings.rounds,
    )  # fmt: skip
    began = time.process_time()
    key = hashlib.sha256(f"{cell.planned} {cell.seed}".encode()).digest()
    with tempfile.TemporaryDirectory() as folder:
        fitted = fit_private(made.plan, made.texts, model, config, Path(folder) / "run", rehearsal=key)
    seconds = time.process_time() - began
    half = len(data.held_out) // 2
    choosing, judging = data.held_out[:half], data.held_out[half:]
    plan, private = made.plan, cell.epsilon != NONE
    return {
        **asdict(cell), "data": data.name, "epsilon": cell.epsilon if private else None,
        "sigma": plan.noise_multiplier if private else None, "items": made.items, "kept": made.kept,
        "batch": plan.expected_batch, "records_a_round": made.records,
        "noise": plan.noise_multiplier * plan.clip_norm / plan.expected_batch if private else 0.0,
        "chosen_by": fitted.model.evaluate(choosing, max_examples=half),
        "bits": fitted.model.evaluate(judging, max_examples=len(judging)),
        "by_user": by_user(fitted.model.evaluate, judging, data.held_out_users[half:]),
        "cpu_seconds": seconds,
    }  # fmt: skip


def by_user(evaluate: Callable[..., float], texts: list[bytes], users: np.ndarray, most: int = 3) -> float:
    """The loss where no user has more than `most` of the texts: those who write much decide less."""
    seen: dict[int, int] = {}
    taken = []
    for text, user in zip(texts, users.tolist(), strict=True):
        seen[user] = seen.get(user, 0) + 1
        if seen[user] <= most:
            taken.append(text)
    return evaluate(taken, max_examples=len(taken))
