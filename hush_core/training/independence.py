"""Is what an example adds of that example alone, and is it clipped right? Tried before anything is released.

The clipping bounds what an example adds only if no other example changes what it adds, and if it finds all of
it. Most that would break this is refused by the type of its layer; what is left shows when random examples are
run alone and beside each other (`comparison.py`). And a causal model that looks ahead would learn to copy: it
is refused too.
"""

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import nn
from transformers import PretrainedConfig

from hush_core.errors import InputError
from hush_core.training.clipping import Losses
from hush_core.training.comparison import as_input_error, check_clipping
from hush_core.training.data import MicroBatch
from hush_core.training.language_model import LanguageModel, embedding_rows

_TOLERANCE = 1e-3
"""Relative, of the largest logit."""
_LENGTHS = (40, 11, 5)
_FIXED_ROPE = {"default", "linear", "yarn", "llama3", "proportional"}
"""Rotary scalings that do not depend on the length of what is read."""
_PASSED: WeakKeyDictionary[nn.Module, object] = WeakKeyDictionary()


def check_model(model: LanguageModel) -> None:
    """Refuse a model that cannot be clipped right, or whose causal head looks ahead.

    In float32, and in its own precision. What has passed is not tried again.

    Raises:
        InputError: says which, by the parameter or layer; or what the model's own code ended in.
    """
    trained = tuple(name for name, p in model.network.named_parameters() if p.requires_grad)
    tried = (trained, model.precision, model.objective, model.context)
    if _PASSED.get(model.network) == tried:
        return
    if model.objective.kind == "causal":
        with as_input_error():
            _check_no_look_ahead(model)
    for precision in dict.fromkeys(("fp32", model.precision)):
        tried_in = model.at(precision)
        draws = [random_batch(tried_in, seed) for seed in range(3)]
        check_clipping(model.network, draws, losses=tried_in.losses)
    _PASSED[model.network] = tried


def check_before_release(network: nn.Module, losses: Losses, probe: MicroBatch | None) -> None:
    """The same for a network that is trained under `losses`: on random tokens where they are a language
    model's, on `probe` else.

    Raises:
        InputError: as `check_model`; or there is nothing to try it on.
    """
    owner = getattr(losses, "__self__", None)
    if isinstance(owner, LanguageModel):
        check_model(replace(owner, network=network))
    elif probe is not None:
        check_clipping(network, [probe], losses=losses)
    else:
        raise InputError(
            "probe",
            "is missing, and the losses are not a language model's: the clipping cannot be tried",
            "pass a MicroBatch of 2 or 3 random examples of different length",
        )


def random_batch(model: LanguageModel, seed: int) -> MicroBatch:
    """Three examples of random tokens, of different length where the context allows it."""
    generator = np.random.default_rng(seed)
    free = _tokens(model)
    shown = [
        model.objective.show(generator.choice(free, size=min(n, model.context)), generator) for n in _LENGTHS
    ]
    return model.objective.collate(shown).on(model.device)


def _tokens(model: LanguageModel) -> np.ndarray:
    known = min(embedding_rows(model.network), len(model.tokenizer), 5000)
    return np.setdiff1d(np.arange(known), list(model.objective.special))


@torch.no_grad()
def _check_no_look_ahead(model: LanguageModel) -> None:
    tokens = np.random.default_rng(3).choice(_tokens(model), size=min(_LENGTHS[-1], model.context))
    ids = torch.from_numpy(tokens.astype(np.int64)).to(model.device).repeat(2, 1)
    ids[1, -1] = ids[0, 0] if ids[0, -1] != ids[0, 0] else ids[0, 1]
    logits = model.at("fp32").logits(model.network, MicroBatch(ids, ids))[:, :-1]
    scale = float(logits.abs().max())
    if ids[0, -1] != ids[1, -1] and float((logits[0] - logits[1]).abs().max()) > _TOLERANCE * scale:
        raise InputError(
            "model.objective",
            "is causal, and the model looks at the tokens that it is to predict",
            "set it to masked, or take a causal model",
        )


def rope_limit(config: PretrainedConfig) -> int | None:
    """The most tokens at which a rotary scaling that follows the length of the batch stays fixed, if it has one."""
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    tables = [rope, *(part for part in rope.values() if isinstance(part, dict))]
    following = [t for t in tables if t.get("rope_type", t.get("type", "default")) not in _FIXED_ROPE]
    limits = [
        t.get("original_max_position_embeddings")
        or getattr(config, "original_max_position_embeddings", None)
        or config.max_position_embeddings
        for t in following
    ]
    return min(limits) if limits else None
