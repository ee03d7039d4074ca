"""What a run decides from public numbers alone: the learning rate of a round, and when to stop; and one attempt at
a run, which keeps, measures and stops by these.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hush_core.config import EarlyStopping, TrainConfig
from hush_core.errors import InputError
from hush_core.progress import Progress, Watch
from hush_core.training.averaging import KeptWeights, loss_that_decides
from hush_core.training.job import OtherTexts
from hush_core.training.language_model import LanguageModel
from hush_core.training.ranks import Ranks


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


@dataclass
class Attempt:
    """What one attempt keeps beside the module: releases so far, the log, the learning curve."""

    settings: TrainConfig
    released: int
    rounds: int
    log: list[dict[str, Any]]
    model: LanguageModel
    others: OtherTexts
    kept: KeptWeights
    ranks: Ranks
    progress: Progress | None
    watch: Watch | None = None
    stopped: bool = False

    def __post_init__(self) -> None:
        self.stopped = should_stop(self.log, self.settings.early_stopping)

    def rate(self, release: int) -> float:
        return learning_rate_at(release, self.settings, self.rounds)

    def applied(self, save: Callable[[], None]) -> None:
        """After an optimiser step: note it, evaluate, keep a checkpoint, on the first rank."""
        settings = self.settings
        row: dict[str, Any] = {"round": self.released, "learning_rate": self.rate(self.released)}
        self.released += 1
        self.kept.add(row["round"])
        every, last = settings.evaluate_every, settings.keep == "best" and self.released == self.rounds
        if every and (self.released % every == 0 or last):
            self._evaluate(row)
        self.log.append(row)
        self.stopped = self.ranks.share(should_stop(self.log, settings.early_stopping))
        if not self.ranks.first:
            return
        if self.released % settings.checkpoint_every == 0 and self.released < self.rounds:
            save()
        if self.progress is not None:
            self.progress("train", self.released, self.rounds)
        if self.watch is not None:
            self.watch(row)

    def _evaluate(self, row: dict[str, Any]) -> None:
        """Measure what would be kept, on the first rank, and keep it on all where it is the best."""
        with self.kept.in_place():
            for key, texts in (
                ("public_loss", self.others.public),
                ("validation_loss", self.others.validation),
            ):
                if texts and self.ranks.first:
                    row[key] = self.model.evaluate(texts, max_examples=len(texts))
            loss = self.ranks.share(loss_that_decides(row))
            if loss is not None and self.kept.is_best(loss):
                self.kept.note_best(loss)
