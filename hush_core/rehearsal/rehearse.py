"""One plan rehearsed on untagged text: the same steps as the certified run, with a fixed seed.

The loop is `fit_private` itself, so clipping, noise, optimiser, schedule and averaging are the run's own. The seed
fixes batches and noise. So plans are compared on the same draws, and a killed rehearsal has the same result when it
is repeated.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hush_core.config import TrainConfig
from hush_core.plan import ProtectionPlan
from hush_core.training import LanguageModel, OtherTexts, fit_private

STEPS = 8
"""Losses on the way, evenly spread over the rounds; the last is the prediction."""
OnLoss = Callable[[int, float], bool]
"""(step 1 … STEPS, loss) → whether to stop here."""


@dataclass(frozen=True)
class MeasuredTexts:
    """Untagged texts that a loss is taken on, and how much of the prediction it is."""

    name: str
    texts: Sequence[bytes]
    share: float


@dataclass(frozen=True)
class Rehearsed:
    """What a rehearsal came to; losses in bits per unit of the model."""

    loss: float | None
    """Predicted loss of the model that the run would keep; None where it diverged or was stopped on the way."""
    parts: dict[str, float]
    """By kind of text."""
    curve: tuple[tuple[int, float], ...]
    """(step of STEPS, loss)."""
    stopped: bool
    """Whether `on_loss` asked for it."""


class _Stopped(Exception):
    """Stopped on the way."""


def rehearse(
    plan: ProtectionPlan,
    stand_ins: Sequence[bytes],
    measured: Sequence[MeasuredTexts],
    model: LanguageModel,
    settings: TrainConfig,
    work_dir: Path,
    *,
    seed: int,
    untagged: Sequence[bytes] = (),
    on_loss: OnLoss | None = None,
) -> Rehearsed:
    """Train `model` in place as the run would be, on stand-ins.

    Args:
        plan: of the stand-ins (`rehearsal_plan`), with no certificates. stand_ins: one text a rate.
        measured: what losses are taken on; shares add up to 1, kinds without a text are left out.
        settings: with one learning rate; what belongs to one run alone (checkpoints, its curve on public text,
            early stopping) is left out.
        work_dir: empty; of no use afterwards.
        untagged: what `untagged_batch` takes from.
        on_loss: called with each loss on the way, of the iterate even where an average is kept; what it returns may
            end the rehearsal.
    """
    alike = settings.model_copy(update={"checkpoint_every": plan.rounds, "early_stopping": None})
    if settings.keep == "last":
        alike = alike.model_copy(update={"evaluate_every": None})
    due = _steps(plan.rounds)
    curve: list[tuple[int, float]] = []

    def look(_: str, done: int, __: int) -> None:
        for step in due.get(done, ()):
            loss, _parts = losses(model, measured)
            curve.append((step, loss))
            if not math.isfinite(loss) or (on_loss is not None and on_loss(step, loss)):
                raise _Stopped

    key = hashlib.sha256(f"rehearsal {seed}".encode()).digest()
    try:
        fitted = fit_private(
            plan, stand_ins, model, alike, work_dir, look, rehearsal=key,
            others=OtherTexts(untagged=untagged, validation=measured[0].texts),
        )  # fmt: skip
    except _Stopped:
        diverged = not math.isfinite(curve[-1][1])
        finite = tuple(point for point in curve if math.isfinite(point[1]))
        return Rehearsed(None, {}, finite, stopped=not diverged)
    loss, parts = losses(fitted.model, measured)
    if not math.isfinite(loss):
        return Rehearsed(None, {}, tuple(curve), stopped=False)
    return Rehearsed(loss, parts, (*curve, (STEPS, loss)), stopped=False)


def losses(model: LanguageModel, measured: Sequence[MeasuredTexts]) -> tuple[float, dict[str, float]]:
    """The loss that is predicted, by shares, and its parts."""
    present = [one for one in measured if one.texts and one.share > 0]
    parts = {one.name: model.evaluate(one.texts, max_examples=len(one.texts)) for one in present}
    whole = sum(one.share for one in present)
    return sum(one.share / whole * parts[one.name] for one in present), parts


def _steps(rounds: int) -> dict[int, tuple[int, ...]]:
    """Rounds done → the steps that end there; the last step is measured after the run."""
    due: dict[int, tuple[int, ...]] = {}
    for step in range(1, STEPS):
        done = max(1, round(rounds * step / STEPS))
        due[done] = (*due.get(done, ()), step)
    return due
