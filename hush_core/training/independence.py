"""Is the loss of an example of that example alone? Tried on random tokens before anything is released.

The clipping bounds what an example adds only if no other example changes what it adds. Most that would is
refused by the type of its layer; what is left (a scale that follows the longest row of a batch, a table
that broadcasts) shows when an example is run alone and beside another. And a causal model that looks ahead
would learn to copy: it is refused too.
"""

from __future__ import annotations

import numpy as np
import torch
from transformers import PretrainedConfig

from hush_core.errors import InputError
from hush_core.training.clipping import clipped_gradient_sum
from hush_core.training.data import MicroBatch, micro_batches
from hush_core.training.language_model import LanguageModel, core

_TOLERANCE = 1e-3
"""Relative, of a gradient's norm in fp32: supported architectures stay below 1e-5."""
_LONG, _SHORT = 64, 5
_FIXED_ROPE = {"default", "linear", "yarn", "llama3", "proportional"}
"""Rotary scalings that do not depend on the length of what is read."""


def check_independence(model: LanguageModel) -> None:
    """Refuse a model whose examples are not independent of each other, or whose causal head looks ahead.

    Raises:
        InputError: says which.
    """
    generator = np.random.default_rng(0)
    rows = core(model.network).get_input_embeddings().num_embeddings
    free = np.setdiff1d(np.arange(min(rows, 5000)), list(model.objective.special))
    long, short = (generator.choice(free, size=min(n, model.context)) for n in (_LONG, _SHORT))
    if model.objective.kind == "causal":
        _check_no_look_ahead(model, short)
    both, alone = ([short, long], [short])
    if abs(_norm(model, both) / max(_norm(model, alone), 1e-30) - 1) > _TOLERANCE:
        raise InputError(
            "model",
            "computes an example otherwise beside a longer one, so no example can be clipped on its own",
            "take another architecture, or lower model.context",
        )


def _norm(model: LanguageModel, sequences: list[np.ndarray]) -> float:
    """The gradient norm of the first sequence, which is the shortest, in a batch with the others."""
    plain = model.at("fp32")
    batch = micro_batches(sequences, plain.objective, len(sequences), np.random.default_rng(1))[0]
    here = MicroBatch(*(part if part is None else part.to(_device(model)) for part in batch))
    done = clipped_gradient_sum(plain.network, here, losses=plain.losses, clip_norm=1.0)
    return float(done.norms[-1])


@torch.no_grad()
def _check_no_look_ahead(model: LanguageModel, tokens: np.ndarray) -> None:
    ids = torch.from_numpy(tokens.astype(np.int64)).to(_device(model)).repeat(2, 1)
    ids[1, -1] = ids[0, 0] if ids[0, -1] != ids[0, 0] else ids[0, 1]
    logits = model.at("fp32").logits(model.network, MicroBatch(ids, ids))[:, :-1]
    scale = float(logits.abs().max())
    if ids[0, -1] != ids[1, -1] and float((logits[0] - logits[1]).abs().max()) > _TOLERANCE * scale:
        raise InputError(
            "model.objective",
            "is causal, and the model looks at the tokens that it is to predict",
            "set it to masked, or take a causal model",
        )


def _device(model: LanguageModel) -> torch.device:
    return next(model.network.parameters()).device


def rope_limit(config: PretrainedConfig) -> int | None:
    """The most tokens at which a rotary scaling that follows the length of the batch stays fixed, if it has one."""
    said = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    tables = [said, *(part for part in said.values() if isinstance(part, dict))]
    following = [t for t in tables if t.get("rope_type", t.get("type", "default")) not in _FIXED_ROPE]
    limits = [
        t.get("original_max_position_embeddings")
        or getattr(config, "original_max_position_embeddings", None)
        or config.max_position_embeddings
        for t in following
    ]
    return min(limits) if limits else None
