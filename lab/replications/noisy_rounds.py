"""DP-SGD by hand, as the papers' experiments need it: seeded noise, sums that are shown, canaries among them.

Protects nothing: the noise comes from a seed. What a job trains with is `hush_core/training`, whose clipping this
uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import torch

from hush_core.config import ByteGptModel
from hush_core.training import LanguageModel, byte_gpt, clipped_gradient_sum
from hush_core.training.data import Tokens, micro_batches

AT_ONCE = 32


def small_model(layers: int, width: int, context: int, seed: int) -> LanguageModel:
    """A new byte GPT with a head for every 32 of width, on the machine's accelerator where it has one."""
    shape = ByteGptModel(layers=layers, width=width, heads=max(1, width // 32))
    return byte_gpt(shape, context, seed=seed).on_accelerator()


def abstracts(path: Path, count: int, context: int, seed: int) -> list[bytes]:
    """The first `context` bytes of so many texts of a parquet file's column `abstract`, in a seeded order."""
    texts = pl.read_parquet(path, columns=["abstract"])["abstract"]
    chosen = np.random.default_rng(seed).permutation(len(texts))[:count]
    return [texts[int(i)].encode()[:context] for i in chosen]


def gradient_sum(
    model: LanguageModel,
    examples: Sequence[Tokens],
    clip_norm: float,
    generator: np.random.Generator | None = None,
) -> np.ndarray:
    """(d,) float32: the sum of the examples' clipped gradients, all trainable parameters behind one another.
    `generator` decides what a masked model is shown."""
    generator = generator or np.random.default_rng(0)
    parameters = dict(model.network.named_parameters())
    total = {name: torch.zeros_like(p) for name, p in parameters.items()}
    device = next(model.network.parameters()).device
    for batch in micro_batches(examples, model.objective, AT_ONCE, generator):
        here = type(batch)(*(part if part is None else part.to(device) for part in batch))
        done = clipped_gradient_sum(model.network, here, losses=model.losses, clip_norm=clip_norm)
        for name, part in done.gradients.items():
            total[name] += part.to(total[name])
    return torch.cat([part.flatten() for part in total.values()]).cpu().numpy()


def set_gradients(model: LanguageModel, vector: np.ndarray) -> None:
    """Put a (d,) vector in place of the parameters' gradients."""
    start = 0
    for parameter in model.network.parameters():
        part = torch.from_numpy(vector[start : start + parameter.numel()])
        parameter.grad = part.view_as(parameter).to(parameter)
        start += parameter.numel()


def dimension(model: LanguageModel) -> int:
    """How many numbers are trained."""
    return sum(parameter.numel() for parameter in model.network.parameters())
