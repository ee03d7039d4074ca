"""Training on arXiv through the project's own path, each finished run kept in a folder."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hush_core.config import ByteGptModel, TrainConfig
from hush_core.plan import ProtectionPlan
from hush_core.training import LanguageModel, byte_gpt, fit_plain, fit_private, load_model, save_model

LAYERS, WIDTH, HEADS = 1, 128, 4
MICRO_BATCH = 32
PRETRAINING = ((3e-3, 0.85), (1e-3, 0.15))
"""Learning rate and share of the steps."""


def start(texts: Sequence[bytes], context: int, *, steps: int, batch: int, folder: Path):
    """The public start: the same for all settings."""

    def fit():
        model = byte_gpt(ByteGptModel(layers=LAYERS, width=WIDTH, heads=HEADS), context)
        for stage, (rate, share) in enumerate(PRETRAINING):
            fit_plain(
                texts, model, steps=max(1, round(share * steps)), batch=batch, learning_rate=rate,
                micro_batch=MICRO_BATCH, seed=stage, progress=_progress("start"),
            )  # fmt: skip
        return model

    return _kept(folder, fit)


def train(
    plan: ProtectionPlan, texts: Sequence[bytes], model: LanguageModel, learning_rate: float, folder: Path
):
    """The private run of one plan; goes on where it stood if it was stopped."""
    config = TrainConfig(
        rounds=plan.rounds, batch=plan.expected_batch, clip_norm=plan.clip_norm, learning_rate=learning_rate,
        micro_batch=MICRO_BATCH, checkpoint_every=10,
    )  # fmt: skip

    def fit():
        fitted = fit_private(plan, texts, model, config, folder / "run", _progress(folder.name))
        if fitted.rounds_applied < plan.rounds:
            print(f"    {folder.name}: {plan.rounds - fitted.rounds_applied} rounds were lost to a kill")
        return fitted.model

    return _kept(folder, fit)


def train_plain(
    texts: Sequence[bytes],
    model: LanguageModel,
    learning_rate: float,
    folder: Path,
    *,
    rounds: int,
    batch: int,
):
    """Neither clipped nor noised."""

    def fit():
        return fit_plain(
            texts, model, steps=rounds, batch=batch, learning_rate=learning_rate, micro_batch=MICRO_BATCH,
            seed=1, progress=_progress(folder.name),
        )  # fmt: skip

    return _kept(folder, fit)


def on_public(plan: ProtectionPlan, texts: Sequence[bytes], batch: int) -> ProtectionPlan:
    """The same noise-to-batch ratio and rounds with a smaller batch of public texts: it protects nothing."""
    rates = np.full(len(texts), batch / len(texts))
    noise = plan.noise_multiplier * batch / plan.expected_batch
    return replace(
        plan,
        rates=rates,
        noise_multiplier=noise,
        expected_batch=batch,
        certificates=plan.certificates.clear(),
    )


def bits_and_bytes(model: LanguageModel, texts: Sequence[bytes]) -> np.ndarray:
    """(n, 2): bits that the model needs for each text, and its bytes."""
    return np.array([[model.evaluate([text]) * len(text), len(text)] for text in texts])


def _kept(folder: Path, fit: Callable):
    """The model in `folder`, fitted first if it is not there."""
    path = folder / "model"
    if not (folder / "done.json").exists():
        began, cpu = time.perf_counter(), time.process_time()
        save_model(fit(), path)
        seconds = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}
        (folder / "done.json").write_text(json.dumps(seconds))
    return load_model(path)


def _progress(name: str) -> Callable[[str, int, int], None]:
    def show(_: str, done: int, total: int) -> None:
        if done % max(1, total // 5) == 0:
            print(f"    {name}: {done}/{total}", flush=True)

    return show
