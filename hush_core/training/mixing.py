"""Plain gradients of untagged text, mixed into the update of a round after its noisy sum was released.

An update may be any function of releases and of text that no promise is about (docs/mathematics.md): the ledger,
the noise, the clipping and the sampling are those of the round without it.
"""

import hashlib
import os
from collections.abc import Sequence

import numpy as np
import torch

from hush_core.errors import InputError
from hush_core.training.data import micro_batches
from hush_core.training.gradient_scale import GradientScale
from hush_core.training.language_model import LanguageModel
from hush_core.training.ranks import Ranks


class UntaggedMix:
    """`Update(after_release=…)`: gradient ← (B · released mean + Σ plain gradients of n examples) / (B + n).

    Args:
        model: the one that is trained.
        texts: untagged ones: no edge of the graph names them. A draw takes n of them, without replacement.
        count: n, at most as many as there are.
        batch: B, what the release was divided by.
        micro_batch: rows at once.
        key: fixes the draws; fresh ones unless given.
        scale: of the released gradients: plain ones are scaled alike, and about as long.

    Raises:
        InputError: at construction, where there is no text; at a call, where the gradients hold no release.

    With several ranks each computes a share; all end with the first one's sum, to the bit. The draws are fresh in
    each attempt: nothing is promised about them.
    """

    def __init__(
        self,
        model: LanguageModel,
        texts: Sequence[bytes],
        *,
        count: int,
        batch: int,
        micro_batch: int,
        key: bytes | None = None,
        scale: GradientScale | None = None,
    ) -> None:
        if not texts:
            raise InputError(
                "train.untagged_batch",
                "mixes in untagged text, but the job has no such text",
                "set it to 0, or weights.without_secret to plain",
            )
        self._ranks = Ranks.current()
        self._key: bytes = self._ranks.share(key or os.urandom(32))
        self._model, self._rows = model, micro_batch
        self._sequences, self.cut = model.encode(texts)
        self.count, self._batch = min(count, len(texts)), batch
        self._trained = [p for p in model.network.parameters() if p.requires_grad]
        self._names = [name for name, p in model.network.named_parameters() if p.requires_grad]
        self._scale = scale

    def __call__(self, round: int) -> None:
        if any(p.grad is None for p in self._trained):
            raise InputError(
                "untagged gradients",
                "were to be added before the round was released",
                "pass them to Update(after_release=…)",
            )
        added, together = self._sum(round), self._batch + self.count
        parts = added.split([p.numel() for p in self._trained])
        for name, p, part in zip(self._names, self._trained, parts, strict=True):
            plain = part.view_as(p) if self._scale is None else self._scale.mixed(name, part.view_as(p))
            p.grad.mul_(self._batch / together).add_(plain, alpha=1 / together)

    def _sum(self, round: int) -> torch.Tensor:
        """(p,) float32, over all ranks: the sum of the examples' gradients, neither clipped nor noised."""
        ranks, device = self._ranks, self._trained[0].device
        seed = hashlib.sha256(self._key + round.to_bytes(8, "big")).digest()
        generator = np.random.default_rng(int.from_bytes(seed, "big"))
        chosen = generator.choice(len(self._sequences), size=self.count, replace=False)
        sequences, share = [self._sequences[i] for i in chosen], {"rank": ranks.rank, "ranks": ranks.count}
        parts = micro_batches(sequences, self._model.objective, self._rows, generator, **share)
        total = torch.zeros(sum(p.numel() for p in self._trained), device=device)
        views = total.split([p.numel() for p in self._trained])
        for part in parts:
            loss = self._model.losses(self._model.network, part.on(device)).sum()
            gradients = torch.autograd.grad(loss, self._trained, allow_unused=True)
            for view, gradient in zip(views, gradients, strict=True):
                if gradient is not None:
                    view.add_(gradient.flatten())
        ranks.sum_to_first(total)
        ranks.send_from_first(total)
        return total
