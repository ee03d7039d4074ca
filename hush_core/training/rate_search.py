"""Choose a learning rate without releasing anything: the private run, rehearsed on public text.

A sweep over the protected examples would release every run of it, and each costs as much of the promise as
the one that is kept. The rehearsal has the plan's own noise and clipping, and protected examples take no
part in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hush_core.config import TrainConfig
from hush_core.errors import InputError
from hush_core.progress import Progress
from hush_core.training.job import OtherTexts
from hush_core.training.language_model import LanguageModel
from hush_core.training.run import fit_private

if TYPE_CHECKING:
    from hush_core.plan import ProtectionPlan

FEWEST_PUBLIC = 40
"""Public texts below which none is kept out of training to measure on."""
POINTS = 20
"""Of a rehearsal's curve, unless the config says how often to evaluate."""


@dataclass(frozen=True)
class RateTrial:
    """One learning rate rehearsed: losses in bits on public text that it did not train on."""

    learning_rate: float
    loss: float | None
    """At the end; None where the run diverged."""
    curve: tuple[tuple[int, float], ...]
    """(rounds released, loss)."""


def try_rate(
    plan: ProtectionPlan,
    public: Sequence[bytes],
    held_out: Sequence[bytes],
    model: LanguageModel,
    settings: TrainConfig,
    work_dir: Path,
    progress: Progress | None = None,
) -> RateTrial:
    """Train `model` in place on public text as the private run would be trained on the protected examples.

    Args:
        plan: its rounds, clip norm and noise-to-batch ratio σC/B are kept; sampling is uniform over `public`.
        public, held_out: disjoint PUBLIC texts, to train on and to measure.
        progress: called as progress("rehearsal at RATE", rounds done, rounds).
        settings: with ONE learning rate; early stopping is left out, so that rates compare at equal rounds.

    Raises:
        InputError: no public text.
    """
    if not public or not held_out:
        raise InputError(
            "train.learning_rate",
            "several rates need at least 40 public examples",
            "name more under `public:`, or give one rate",
        )
    every = settings.evaluate_every or max(1, plan.rounds // POINTS)
    alike = settings.model_copy(
        update={"evaluate_every": every, "early_stopping": None, "untagged_batch": 0, "keep": "last"}
    )
    stage = f"rehearsal at {settings.learning_rate:g}"
    report = progress and (lambda _, done, rounds: progress(stage, done, rounds))
    public_plan = plan.for_public(len(public))
    others = OtherTexts(public=held_out, untagged=public)
    fitted = fit_private(public_plan, public, model, alike, work_dir, report, others=others)
    loss = fitted.model.evaluate(held_out, max_examples=len(held_out))
    return RateTrial(
        learning_rate=float(settings.learning_rate),  # type: ignore[arg-type]
        loss=loss if math.isfinite(loss) else None,
        curve=learning_curve(fitted.log),
    )


def learning_curve(log: Sequence[dict]) -> tuple[tuple[int, float], ...]:
    """(rounds released, loss on public text in bits), where it was measured and is finite."""
    points = ((row["round"] + 1, row.get("public_loss", math.nan)) for row in log)
    return tuple((rounds, loss) for rounds, loss in points if math.isfinite(loss))


def best_rate(trials: Sequence[RateTrial]) -> float:
    """The learning rate with the lowest final loss; the lower one of equals.

    Raises:
        InputError: every rate diverged.
    """
    ended = [(one.loss, one.learning_rate) for one in trials if one.loss is not None]
    if not ended:
        raise InputError("train.learning_rate", "every rate diverged in its rehearsal", "name lower ones")
    return min(ended)[1]


def split_public(texts: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Public texts to train on, and a twentieth (20 to 400) to measure on; fewer than 40 all train."""
    if len(texts) < FEWEST_PUBLIC:
        return list(texts), []
    step = len(texts) // min(400, max(20, len(texts) // 20))
    return [t for i, t in enumerate(texts) if i % step], [t for i, t in enumerate(texts) if i % step == 0][
        :400
    ]
