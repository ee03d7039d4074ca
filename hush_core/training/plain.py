"""Ordinary training, without any protection: for public and untagged text, or to show what would have leaked."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from hush_core.errors import InputError
from hush_core.progress import Progress
from hush_core.training.language_model import LanguageModel
from hush_core.training.loop import graceful, run_rounds
from hush_core.training.module import PlainModule
from hush_core.training.rounds import Rounds
from hush_core.training.sampler import WeightedPoissonSampler
from hush_core.training.update import make_optimizer


def fit_plain(
    texts: Sequence[bytes],
    model: LanguageModel,
    *,
    steps: int,
    batch: int,
    learning_rate: float,
    micro_batch: int = 32,
    rates: np.ndarray | None = None,
    optimizer: Literal["adamw", "sgd"] = "adamw",
    seed: int = 0,
    progress: Progress | None = None,
) -> LanguageModel:
    """Ordinary training in place, with NO protection: for public text, or to show what would have leaked.

    Args:
        rates: (n,) sampling rates as in a plan; min(1, batch/n) for every text by default.
        batch: the expected batch, by which each summed gradient is divided.
        seed: fixes every batch; not a secret here.
        progress: called as progress("pretrain", steps done, steps).

    Raises:
        InputError: no texts.
        KeyboardInterrupt: after SIGINT, when the step is finished.
    """
    if not texts:
        raise InputError("texts", "are empty", "name more public code, or set pretrain.steps to 0")
    if steps == 0:
        return model
    if rates is None:
        batch = min(batch, len(texts))
        rates = np.full(len(texts), batch / len(texts))
    module = PlainModule(
        model.network,
        batch=batch,
        losses=model.losses,
        optimizer=make_optimizer(model.network, optimizer, learning_rate),
        on_step=None if progress is None else lambda step: progress("pretrain", step + 1, steps),
    )
    sampler = WeightedPoissonSampler(rates, key=hashlib.sha256(f"plain {seed}".encode()).digest())
    sequences, _ = model.encode(texts)
    rounds = Rounds(sequences, model.objective, sampler, rounds=steps, micro_batch=micro_batch)
    with graceful() as stop:
        run_rounds(module, rounds, Path.cwd(), stop.is_set)
    if stop.is_set():
        raise KeyboardInterrupt
    return model
