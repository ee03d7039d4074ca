"""What a run decides from public numbers alone: the learning rate of a round, and when to stop."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hush_core.config import EarlyStopping, TrainConfig
from hush_core.errors import InputError
from hush_core.training.averaging import loss_that_decides


def learning_rate_at(round: int, settings: TrainConfig, rounds: int) -> float:
    """The learning rate of one release (0, 1, …, rounds − 1): linear warm-up, then the schedule.

    It depends on the number of the release alone, so that a resumed run continues where the first one ended.

    Raises:
        InputError: the config names several rates and none was chosen.
    """
    top = settings.learning_rate
    if not isinstance(top, float | int):
        raise InputError(
            "train.learning_rate", "names several rates", "choose one in a rehearsal (rehearse) first"
        )
    warm = settings.warmup_rounds
    if round < warm:
        return top * (round + 1) / warm
    done = (round - warm) / max(1, rounds - warm)
    if settings.schedule == "linear":
        return top * (1 - done)
    if settings.schedule == "cosine":
        return top * (1 + math.cos(math.pi * done)) / 2
    return top


def should_stop(log: Sequence[Mapping[str, Any]], rule: EarlyStopping | None) -> bool:
    """Whether `patience` evaluations in a row brought no loss below the best before by more than min_delta.

    `log` holds one row a round; those with `validation_loss` or `public_loss` were evaluated. The losses are of
    untagged or PUBLIC text: the decision is a function of releases and of such text, and no bound changes.
    """
    if rule is None:
        return False
    best, since = math.inf, 0
    for row in log:
        loss = loss_that_decides(row)
        if loss is None:
            continue
        if loss < best - rule.min_delta:
            best, since = loss, 0
        else:
            since += 1
    return since >= rule.patience
