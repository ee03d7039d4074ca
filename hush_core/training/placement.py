"""Does an item's gradient depend on its place in a micro-batch, or on the items beside it? Tried, to the bit.

The sum is exact: what is left of one example's influence on the others is how kernels round them beside it. In one
fixed shape each row is computed by itself, as a rule; not by a mixture of experts, a kernel that splits its work
by content, or one whose last rows take another path. Where the trial shows it, items are computed one by one.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from hush_core.training.clipping import clipped_gradient_sum
from hush_core.training.data import Shown
from hush_core.training.language_model import LanguageModel, core
from hush_core.training.ranks import Ranks
from hush_core.training.rounds import fixed_batches, padded_length

_log = logging.getLogger(__name__)


@contextmanager
def same_kernels(device: torch.device) -> Iterator[None]:
    """Around all that the trial below speaks of: on a GPU, kernels that add in a fixed order.

    By default some add in the order in which threads arrive, so that an item's gradient differs from one time to
    the next. What has no other kernel is refused by torch, in a sentence that names it.
    """
    if device.type != "cuda":
        yield
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled(), torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        torch.utils.deterministic.fill_uninitialized_memory = before[1]


def longest_input(model: LanguageModel) -> int:
    """The most inputs of an example: a causal model is not shown the last token."""
    return max(1, model.context - (model.objective.kind == "causal"))


def items_that_hold(model: LanguageModel, items: int, ranks: Ranks | None = None, *, rows: int = 1) -> int:
    """`items`, where each item of such a micro-batch, of `rows` rows, is computed by itself in every length that
    there is; else 1."""
    ranks = ranks or Ranks()
    lengths = _lengths(longest_input(model))
    alone = items == 1 or all(computed_alone(model, items, length, rows) for length in lengths)
    if not ranks.any(not alone):
        return items
    if ranks.first:
        _log.warning("this model rounds an example otherwise beside others: examples are computed one by one")
    return 1


def computed_alone(model: LanguageModel, items: int, length: int, rows: int = 1) -> bool:
    """Whether, at one padded length, an item of `rows` records adds the same to the bit in the last place beside
    other content, and in every place beside itself."""
    generator = np.random.default_rng(length)
    shortest = max((n for n in _lengths(length) if n < length), default=0) + 1
    whole = [True, False] if model.objective.kind == "masked" and shortest < length else [True]
    for full in whole:
        top = length if full else length - 1
        bottom = length if full and model.objective.kind == "masked" else shortest
        least = top if full and model.objective.kind == "masked" else 1

        def item(first: int, least: int = least, top: int = top) -> list[Shown]:
            """Of a record of so many inputs, and others of any length that this shape takes."""
            further = generator.integers(least, top + 1, size=rows - 1)
            return [_random(model, int(inputs), generator) for inputs in (first, *further)]

        mine = item(top)
        others = [item(int(generator.integers(bottom, top + 1))) for _ in range(items - 1)]
        filler = [model.objective.filler(top)] * rows
        with_it, without = (_sum(model, [*others, last], rows, length) for last in (mine, filler))
        everywhere = _sum(model, [mine] * items, rows, length)
        if not torch.equal(items * (with_it - without), everywhere):
            return False
    return True


def _lengths(longest: int) -> list[int]:
    return sorted({padded_length(tokens, longest) for tokens in range(1, longest + 1)})


def _random(model: LanguageModel, inputs: int, generator: np.random.Generator) -> Shown:
    numbers = core(model.network).get_input_embeddings().num_embeddings
    free = np.setdiff1d(np.arange(min(numbers, 5000)), list(model.objective.special))
    tokens = generator.choice(free, size=inputs + (model.objective.kind == "causal"))
    return model.objective.show(tokens, generator)


def _sum(model: LanguageModel, items: Sequence[Sequence[Shown]], rows: int, length: int) -> Tensor:
    (batch,) = fixed_batches(items, model.objective, len(items), length, most=rows)
    here = batch.on(model.device)
    done = clipped_gradient_sum(model.network, here, losses=model.losses, clip_norm=1.0, shares=here.shares)
    return torch.cat([gradient.flatten() for gradient in done.gradients.values()])
