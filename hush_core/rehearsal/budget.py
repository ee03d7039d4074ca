"""Equal compute: how many rounds of a batch a budget pays for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel

from hush_core.config.section import MOST_ROUNDS


class Cost(BaseModel, frozen=True):
    """Seconds of one round: a share of its own (noise, optimiser) and one for each example drawn."""

    per_round: float
    per_example: float

    @classmethod
    def of(cls, timed: Sequence[tuple[int, Sequence[float]]]) -> Cost:
        """From (batch, seconds of single rounds) at two batches: the line through their medians, falling in none
        of its parts."""
        (low, a), (high, b) = sorted((batch, float(np.median(seconds))) for batch, seconds in timed)
        example = max((b - a) / (high - low), 1e-12)
        return cls(per_round=max(a - example * low, 0.0), per_example=example)


class Budget(BaseModel, frozen=True):
    """What a run may cost: `examples` drawn in all rounds, in expectation, or `seconds` of training.

    Untagged examples that a round mixes in count like those it draws.
    """

    examples: float | None = None
    seconds: float | None = None
    cost: Cost | None = None
    """Of a round; needed with seconds."""

    def rounds(self, batch: int) -> int:
        """The most rounds of `batch` examples that it pays for, at least 1."""
        if self.examples is not None:
            paid = self.examples / batch
        else:
            paid = self.seconds / (self.cost.per_round + self.cost.per_example * batch)
        return int(min(max(1, round(paid)), MOST_ROUNDS))
