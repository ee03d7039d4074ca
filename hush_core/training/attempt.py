"""One attempt at a run: how many releases it has come to, its log, and when it keeps, measures or stops."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hush_core.config import TrainConfig
from hush_core.progress import Progress, Watch
from hush_core.training.averaging import KeptWeights, loss_that_decides
from hush_core.training.job import OtherTexts
from hush_core.training.language_model import LanguageModel
from hush_core.training.ranks import Ranks
from hush_core.training.schedule import learning_rate_at, should_stop


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
