"""Which plans are tried: a grid around what the config says, each at the same promise and the same compute."""

from typing import Any, Protocol

from pydantic import BaseModel

from hush_core.config import Changes, HushConfig
from hush_core.rehearsal.budget import Budget
from hush_core.weights import step_for

C = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
NOISE = (0.25, 0.35, 0.5, 0.71, 1.0, 1.41, 2.0, 4.0)
BATCH = (0.125, 0.25, 0.5, 1, 2, 4, 8)
CLIP_NORM = (0.1, 0.3, 1, 3, 10)
LEARNING_RATE = (0.1, 0.2, 0.5, 1, 2, 5, 10)
"""NOISE, BATCH, CLIP_NORM and LEARNING_RATE are multiples of the config's own value; C is relative to c_max."""
WARM_UP = (0.0, 0.1)
"""Shares of the rounds."""
SCHEDULES = ("constant", "linear", "cosine")
AVERAGES = ("none", "ema", "tail")
ADAMS = ("adamw", "adamw_bc")
MIXED = (0, 0.5, 1, 2)
"""Untagged examples in a round, in multiples of the config's batch; with `without_secret: plain` only."""
FEWEST_ROUNDS = 8


class Chooser(Protocol):
    """What picks a place in a row of values: an Optuna trial."""

    def suggest_int(self, name: str, low: int, high: int) -> int: ...

    def suggest_categorical(self, name: str, choices: Any) -> Any: ...


class Space(BaseModel, frozen=True):
    """Rows of values, each in order; a point has one of each, and the rounds that the budget pays for."""

    own: Changes
    """The config as it stands, with the rounds that the budget gives its batch: the first point that is tried."""
    scale: str
    """What decides how much is kept: `c` or `noise_multiplier`."""
    ordered: dict[str, tuple[float, ...]]
    named: dict[str, tuple[str, ...]]
    warm_up: tuple[float, ...]
    budget: Budget

    def suggest(self, trial: Chooser) -> Changes:
        """The point that a trial represents."""
        places = {key: trial.suggest_int(key, 0, len(row) - 1) for key, row in self.ordered.items()}
        values: dict[str, Any] = {key: self.ordered[key][place] for key, place in places.items()}
        values |= {key: trial.suggest_categorical(key, row) for key, row in self.named.items()}
        warm = self.warm_up[trial.suggest_int("warm_up", 0, len(self.warm_up) - 1)]
        return self.point(values, warm)

    def point(self, values: dict[str, Any], warm: float) -> Changes:
        """Values with the rounds that they leave the budget."""
        whole = {key: int(value) if key in _COUNTS else value for key, value in values.items()}
        rounds = self.budget.rounds(whole["batch"] + whole.get("untagged_batch", 0))
        return Changes(rounds=rounds, warmup_rounds=int(warm * rounds), **whole)

    def first(self) -> dict[str, Any]:
        """The config's own point, as a trial's parameters."""
        own = self.own.model_dump()
        chosen: dict[str, Any] = {key: row.index(own[key]) for key, row in self.ordered.items()}
        chosen |= {key: own[key] for key in self.named}
        share = own["warmup_rounds"] / own["rounds"]
        near = min(range(len(self.warm_up)), key=lambda i: abs(self.warm_up[i] - share))
        return chosen | {"warm_up": near}

    def edges_of(self, point: Changes) -> list[str]:
        """In which rows the point is at an end, so that a better one may lie beyond."""
        values = point.model_dump()
        ends = {key: {row[0], row[-1]} for key, row in self.ordered.items() if len(row) > 1}
        ends = {key: both - _NATURAL.get(key, set()) for key, both in ends.items()}
        return [key for key, both in ends.items() if values[key] in both]


_COUNTS = {"batch", "untagged_batch"}
_NATURAL: dict[str, set[float]] = {"c": {1.0}, "untagged_batch": {0.0}}
"""Ends beyond which there is nothing."""


def space_of(
    config: HushConfig, budget: Budget, *, sweep: tuple[float, ...] = (), largest_batch: int | None = None
) -> Space:
    """The grid for a config.

    Args:
        budget: what each point may cost.
        sweep: values of c (or of σ, where the config gives σ) in place of the usual ones.
        largest_batch: no batch above it is tried (the pool of stand-ins could not give it).
    """
    config = config.with_chosen(step_for(config))
    train, weights = config.train, config.weights
    rates = train.learning_rate if isinstance(train.learning_rate, tuple) else (train.learning_rate,)
    scale = "c" if weights.noise_multiplier is None else "noise_multiplier"
    own_scale = weights.c if weights.noise_multiplier is None else weights.noise_multiplier
    usual = C if scale == "c" else tuple(_round(own_scale * f) for f in NOISE)
    least = max(FEWEST_ROUNDS, train.evaluate_every or 0)
    batches = {max(1, round(train.batch * f)) for f in BATCH} | {train.batch}
    batches = {
        b for b in batches if b == train.batch or (budget.rounds(b) >= least and b <= (largest_batch or b))
    }
    ordered: dict[str, set[float]] = {
        scale: {own_scale, *(sweep or usual)},
        "batch": {float(b) for b in batches},
        "clip_norm": {train.clip_norm, *(_round(train.clip_norm * f) for f in CLIP_NORM)},
        "learning_rate": {*rates, *(_round(rate * f) for rate in rates for f in LEARNING_RATE)},
    }
    named = {
        "schedule": tuple(dict.fromkeys((train.schedule, *SCHEDULES))),
        "average": tuple(dict.fromkeys((train.average, *AVERAGES))),
        "optimizer": ADAMS if train.optimizer in ADAMS else (train.optimizer,),
    }
    if weights.without_secret == "plain":
        mixed = {train.untagged_batch, *(round(train.batch * f) for f in MIXED)}
        ordered["untagged_batch"] = {float(n) for n in mixed}
    own_rounds = budget.rounds(train.batch + train.untagged_batch)
    warm = round(train.warmup_rounds / train.rounds, 4)
    warm_up = tuple(sorted({warm, *WARM_UP}))
    own = {
        scale: own_scale, "batch": train.batch, "clip_norm": train.clip_norm,
        "learning_rate": sorted(rates)[len(rates) // 2], **{key: getattr(train, key) for key in named},
    }  # fmt: skip
    if "untagged_batch" in ordered:
        own["untagged_batch"] = train.untagged_batch
    return Space(
        own=Changes(rounds=own_rounds, warmup_rounds=int(warm * own_rounds), **own),
        scale=scale,
        ordered={key: tuple(sorted(row)) for key, row in ordered.items()},
        named=named,
        warm_up=warm_up,
        budget=budget,
    )


def _round(value: float) -> float:
    """Three digits: values that people can read, and equal ones are equal."""
    return float(f"{value:.3g}")
