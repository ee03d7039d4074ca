"""Step 4: pre-train on public code, then train: protected by the plan, and (for the demo) unprotected."""

from __future__ import annotations

import tempfile
from pathlib import Path

from prefect.logging import get_run_logger
from pydantic import BaseModel, ConfigDict

from hush_core.config import ModelConfig, PretrainConfig, TrainConfig
from hush_core.training import byte_gpt, evaluate, fit_plain, fit_private, load_model, save_model
from tasks.caching import cached_task, content_key
from tasks.calibration import Calibrated
from tasks.environment import home
from tasks.progress import progress_log
from tasks.store import Ref, Store

SEED = 20250607
"""Of initialisation and public pre-training only. Sampling and noise of the private run take fresh secret keys."""

UNPROTECTED_BATCH, UNPROTECTED_LEARNING_RATE = 16, 3e-3

MOST_EVALUATED = 400
"""Examples that a loss is measured on; all of them public or without a secret."""


class Model(BaseModel):
    """A model by reference, and its loss in bits per byte by kind of text it was measured on."""

    model_config = ConfigDict(frozen=True)

    files: Ref
    bits_per_byte: dict[str, float]


class Trained(BaseModel):
    """The protected model and what was released to get it."""

    model_config = ConfigDict(frozen=True)

    model: Model
    rounds_released: int
    rounds_applied: int
    runs_on_this_data: int


@cached_task(name="pretrain", version=1)
def pretrain(
    public: Ref, examples: Ref, held_out: Ref, model: ModelConfig, settings: PretrainConfig, chunk_bytes: int
) -> Model:
    """Ordinary training from a fresh model on public text; with 0 steps, the fresh model."""
    store = Store(home().store)
    fresh = byte_gpt(model, context=chunk_bytes, seed=SEED)
    texts = store.read_frame(public)["text"].to_list()
    if settings.steps and texts:
        fit_plain(
            texts,
            fresh,
            steps=settings.steps,
            batch=settings.batch,
            learning_rate=settings.learning_rate,
            seed=SEED,
            progress=progress_log(),
        )
    elif settings.steps:
        get_run_logger().warning("nothing to pre-train on: no public example (see `public:` in the config)")
    return _keep(store, fresh, examples, held_out)


@cached_task(name="train", version=1)
def train_protected(
    calibrated: Calibrated, examples: Ref, held_out: Ref, start: Model, settings: TrainConfig
) -> Trained:
    """Run the plan. Killed and started again, it goes on; no release beyond the plan's rounds is ever made."""
    store = Store(home().store)
    plan = calibrated.load(store)
    key = content_key("train", 1, plan.digest, examples.sha256, start.files.sha256, settings)
    model = load_model(store.path(start.files, verify=True))
    texts = store.read_frame(examples)["text"].to_list()
    runs = _count_run(store, examples, key)
    fitted = fit_private(plan, texts, model, settings, store.work_dir(key), progress=progress_log())
    if fitted.resumed:
        lost = fitted.rounds_released - fitted.rounds_applied
        get_run_logger().info("resumed: %d rounds released, %d of them lost", fitted.rounds_released, lost)
    return Trained(
        model=_keep(store, fitted.model, examples, held_out),
        rounds_released=fitted.rounds_released,
        rounds_applied=fitted.rounds_applied,
        runs_on_this_data=runs,
    )


@cached_task(name="train_unprotected", version=1)
def train_unprotected(examples: Ref, held_out: Ref, start: Model, settings: TrainConfig) -> Model:
    """The same model on the same data, no clipping, no noise, as many examples seen. Never registered.

    Every example equally often, in the small batches and at the rate that are usual for AdamW at this size;
    the protected run's are chosen for noise and would be unfair here.
    """
    store = Store(home().store)
    model = load_model(store.path(start.files, verify=True))
    kept_out = set(store.read_json(held_out))
    texts = [t for i, t in enumerate(store.read_frame(examples)["text"].to_list()) if i not in kept_out]
    fit_plain(
        texts,
        model,
        steps=settings.rounds * settings.batch // UNPROTECTED_BATCH,
        batch=UNPROTECTED_BATCH,
        learning_rate=UNPROTECTED_LEARNING_RATE,
        micro_batch=settings.micro_batch,
        seed=SEED,
        stage="unprotected",
        progress=progress_log(),
    )
    return _keep(store, model, examples, held_out)


def _keep(store: Store, model, examples: Ref, held_out: Ref) -> Model:
    ids = store.read_json(held_out)
    table = store.read_frame(examples)
    texts = [table["text"][i] for i in ids]
    loss = {"held-out, no secret": evaluate(model, texts, max_examples=MOST_EVALUATED)} if texts else {}
    with tempfile.TemporaryDirectory(dir=store.root) as folder:
        path = Path(folder) / "model"
        save_model(model, path)
        return Model(files=store.put_directory(path, kind="model"), bits_per_byte=loss)


def _count_run(store: Store, examples: Ref, key: str) -> int:
    """Note this run beside all earlier ones on the same examples; how many there are now."""
    folder = store.root / "runs" / examples.sha256
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / key).touch(mode=0o600)
    return sum(1 for _ in folder.iterdir())
