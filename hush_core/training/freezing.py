"""Which parameters the certified rounds leave as they are: fewer trained numbers take up less noise.

The noise of a round has length σC√d over d trained numbers, and the clipped sum at most BC whatever d is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import nn

from hush_core.errors import InputError


@contextmanager
def frozen(network: nn.Module, kinds: Sequence[str]) -> Iterator[None]:
    """Meanwhile the parameters of these kinds are not trainable; those that were are so again afterwards.

    Args:
        kinds: `embedding`: all of `nn.Embedding`, and a head that is tied to one. `matrices`: every other parameter
            of two dimensions or more. With both, biases and scales are left.

    Raises:
        InputError: nothing is left to train.
    """
    tables = {id(p) for m in network.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    still = [
        p
        for p in network.parameters()
        if p.requires_grad
        and ("embedding" if id(p) in tables else "matrices" if p.dim() > 1 else "") in kinds
    ]
    if len(still) == sum(p.requires_grad for p in network.parameters()):
        raise InputError(
            "train.freeze", "leaves no parameter to train", "freeze less, or leave out model.lora"
        )
    for p in still:
        p.requires_grad = False
    try:
        yield
    finally:
        for p in still:
            p.requires_grad = True
