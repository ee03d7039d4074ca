"""Step 4a: where the config names several learning rates, play each through on public text and take the best."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from hush_core.config import Execution, LoraConfig, TrainConfig
from hush_core.corpus.prompted import texts_of
from hush_core.errors import InputError
from tasks.calibration import Calibrated
from tasks.models import SEED, Model
from tasks.runtime.caching import cached_task
from tasks.runtime.progress import progress_log
from tasks.runtime.steps import run_logger
from tasks.runtime.store import Ref, open_store


class TriedRate(BaseModel, frozen=True):
    """One learning rate: final loss in bits on public text (None: it diverged), and the way there."""

    learning_rate: float
    loss: float | None
    curve: tuple[tuple[int, float], ...]


@cached_task(name="rehearse", version=2, ignore=("execution",))
def trial_of_rate(
    calibrated: Calibrated,
    public: Ref,
    start: Model,
    lora: LoraConfig | None,
    settings: TrainConfig,
    execution: Execution,
) -> TriedRate:
    """The private run with one rate, on public text. Nothing of it is released on protected examples."""
    from hush_core.training import adapted, split_public, try_rate

    store = open_store()
    model = adapted(start.load(), lora, seed=SEED)
    training, measured = split_public(texts_of(store.read_frame(public)))
    with store.scratch() as folder:
        plan = calibrated.load(store)
        done = try_rate(
            plan, training, measured, model, settings.done_by(execution), Path(folder), progress_log()
        )
    return TriedRate(learning_rate=done.learning_rate, loss=done.loss, curve=done.curve)


def check_public(settings: TrainConfig, examples: int) -> None:
    """Refuse early what needs public examples, where there are too few; say so where a curve will be missing.
    Raises InputError: several learning rates or early stopping."""
    several = not isinstance(settings.learning_rate, float | int)
    if not (several or settings.early_stopping or settings.evaluate_every):
        return
    from hush_core.training.rate_search import FEWEST_PUBLIC

    if examples >= FEWEST_PUBLIC:
        return
    if several or settings.early_stopping:
        key = "learning_rate" if several else "early_stopping"
        what = f"needs at least {FEWEST_PUBLIC} public examples, there are {examples}"
        hint = "name more under `public:`"
        raise InputError(f"train.{key}", what, hint)
    if settings.evaluate_every:
        run_logger().warning("no learning curve: %d public examples, it needs %d", examples, FEWEST_PUBLIC)


def choose_rate(
    settings: TrainConfig, calibrated: Calibrated, public: Ref, start: Model, lora: LoraConfig | None
) -> tuple[TrainConfig, tuple[TriedRate, ...]]:
    """The settings with one learning rate, and the rehearsals that chose it (none where one was given)."""
    if isinstance(settings.learning_rate, float | int):
        return settings, ()
    from hush_core.training import RateTrial, best_rate

    rates = [settings.model_copy(update={"learning_rate": rate}) for rate in settings.learning_rate]
    done = tuple(
        trial_of_rate(calibrated, public, start, lora, one.essential(), one.execution()) for one in rates
    )
    best = best_rate([RateTrial(**one.model_dump()) for one in done])
    run_logger().info("learning rate %g, best of %d in rehearsal on public text", best, len(done))
    return settings.model_copy(update={"learning_rate": best}), done
