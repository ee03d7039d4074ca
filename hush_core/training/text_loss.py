"""The mean loss of one text by itself, in nats a predicted token: the log of its perplexity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from hush_core.training.data import MicroBatch, micro_batches
from hush_core.training.language_model import LanguageModel

MASK_SEED = 23
"""A masked model is asked for the same tokens of a text each time."""


def loss_by_itself(model: LanguageModel) -> Callable[[bytes], float]:
    """The loss of a text, by a model in evaluation mode; 0 where nothing of it is predicted.

    Each text is a batch of its own. In a larger one kernels may round otherwise with another text beside it, and
    the loss of one unit's record would depend on another unit's.
    """
    network = model.on_accelerator().network.eval()
    device = next(network.parameters()).device

    @torch.no_grad()
    def loss(text: bytes) -> float:
        sequences, _ = model.encode([text])
        batches = micro_batches(sequences, model.objective, 1, np.random.default_rng(MASK_SEED))
        here = MicroBatch(*(part if part is None else part.to(device) for part in batches[0]))
        return float(model.losses(network, here)[0])

    return loss
