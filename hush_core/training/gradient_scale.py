"""A fixed positive scale of the gradient, from second moments of untagged text: what a round clips is s ∘ g.

    scale = GradientScale.of(model, untagged, clip_norm=1.0)
    clipped_gradient_sum(network, batch, losses=model.losses, clip_norm=1.0, scale=scale)

A round is then DP-SGD of φ in θ = θ₀ + s ∘ φ (docs/mathematics.md, Proposition 17). The gradient in φ is s ∘ g,
clipped to C and noised with σC as without a scale, and θ moves by s times the step of φ. Sources: AdaDPS (Li et al.
2022), and the factored second moments of Adafactor (Shazeer & Stern 2018). A matrix' scale is r cᵀ, so an outer
product of a token stays one, and norms stay as exact and as fast as without a scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from hush_core.errors import InputError
from hush_core.training.data import micro_batches, predicts
from hush_core.training.layers import Outer
from hush_core.training.ranks import Ranks

if TYPE_CHECKING:
    from hush_core.training.language_model import LanguageModel

IN_WORDS = (
    "by the inverse root of second moments (a factor for each row and each column of a matrix) of the gradients of "
    "untagged examples at the start model; sensitivity and noise are of the scaled gradients"
)
"""For the certificate."""
EXAMPLES = 256
"""Untagged examples that second moments are taken of."""
FLOOR = 1e-2
"""A second moment below this share of its matrix' mean counts as that share; so does a matrix' mean below this
share of all numbers' mean. So a number whose gradient untagged text does not show is not moved without limit."""
POWER = 0.5
"""s is the second moment to the power −POWER. The update is scaled twice: the gradient over its second moment. Its
noise is longest where second moments are least, and so, nearly, is the loss's curvature."""
SAME = 1e-2
"""By how much, relatively, a resumed run's scale may differ from the one that is computed again."""
MARGIN = 10.0
"""Root mean square of the untagged examples' scaled norms ÷ clip norm. A clipped gradient is nearly always as long
as C, so that noise and signal do not depend on how long a gradient is."""


@dataclass(frozen=True, repr=False)
class GradientScale:
    """s > 0 for each trained number. Nothing of it depends on tagged text.

    Attributes:
        tensors: by name, `rows NAME` and `columns NAME` of a matrix (in the parameter's own orientation, s = rows ⊗
            columns), `numbers NAME` of any other parameter; and `ratio`, a factor of the update beside s. By it the
            learning rate is the root mean square by which a round moves a parameter where its items agree, noise
            included, so it is of AdamW's order whatever C and σ are.
    """

    tensors: dict[str, Tensor]

    @staticmethod
    def of(
        model: LanguageModel, texts: Sequence[bytes], *, clip_norm: float, noise: float = 0.0
    ) -> GradientScale:
        """From the gradients of single examples of `texts`, at the model's present weights.

        Args:
            model: its trainable parameters are scaled.
            texts: untagged: no edge of the graph names them. `EXAMPLES` that predict anything are read, spread over
                all by a fixed draw.
            clip_norm: C, that scaled gradients are clipped to.
            noise: standard deviation of each number of what the update is made of, σC/B without mixed-in text.

        With several ranks all get what the first one computes, to the bit.

        Raises:
            InputError: no such text; gradients that are not finite, or all 0.
        """
        ranks, device = Ranks.current(), model.device
        found = _computed(*_second_moments(model, texts), clip_norm, noise) if ranks.first else None
        return GradientScale({name: tensor.to(device) for name, tensor in ranks.share(found).items()})

    def scaled(self, name: str, values: Tensor) -> Tensor:
        """s ∘ values, for values of the parameter's shape, or (B, *shape)."""
        if f"numbers {name}" in self.tensors:
            return values * self.tensors[f"numbers {name}"]
        return values * self.tensors[f"rows {name}"].unsqueeze(-1) * self.tensors[f"columns {name}"]

    def scaled_part(self, name: str, part: Outer | Tensor) -> Outer | Tensor:
        """The same of what one use of a parameter gives each item's gradient: of outer products, their factors.

        Rows and columns are the parameter's own, whichever layer uses it, so a tied weight has one scale.
        """
        if not isinstance(part, Outer):
            return self.scaled(name, part)
        rows, columns = self.tensors[f"rows {name}"], self.tensors[f"columns {name}"].to(part.right.dtype)
        if part.one_hot:
            return Outer(part.left, part.right * columns * rows[part.left].unsqueeze(-1).to(columns.dtype))
        return Outer(part.left * rows.to(part.left.dtype), part.right * columns)

    def mixed(self, name: str, plain: Tensor) -> Tensor:
        """What is added to released gradients for an untagged example's plain one: about C long, as they are."""
        return self.scaled(name, plain).div_(MARGIN)

    @torch.no_grad()
    def update(self, name: str, released: Tensor) -> Tensor:
        """What the optimiser is handed for a released mean: s ∘ it, times `ratio`."""
        return self.scaled(name, released).mul_(self.tensors["ratio"])

    def resume(self, begun: Mapping[str, Tensor], where: str) -> None:
        """Take the tensors that a run began with. They may differ from these by what other kernels round.

        Raises:
            InputError: they are of other untagged text, or of another model.
        """
        for name, tensor in self.tensors.items():
            if not torch.allclose(tensor, begun[name].to(tensor), rtol=SAME, atol=0):
                raise InputError(
                    where,
                    f"was started with another scale of gradients: {name} differs",
                    "resume with the untagged text and the start model that began the run",
                )
            tensor.copy_(begun[name])


def _second_moments(model: LanguageModel, texts: Sequence[bytes]) -> tuple[dict[str, Tensor], float]:
    """Of single examples' gradients, by plain autograd; and their mean over all numbers."""
    trained = {name: p for name, p in model.network.named_parameters() if p.requires_grad}
    moments = {name: torch.zeros_like(p) for name, p in trained.items()}
    device, generator = next(iter(trained.values())).device, np.random.default_rng(0)
    tried = [texts[i] for i in generator.permutation(len(texts))[: 4 * EXAMPLES]]
    read = [tokens for tokens in model.encode(tried)[0] if predicts(tokens)][:EXAMPLES]
    for part in micro_batches(read, model.objective, 1, generator):
        loss = model.losses(model.network, part.on(device)).sum()
        gradients = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
        for name, gradient in zip(trained, gradients, strict=True):
            if gradient is not None:
                moments[name].addcmul_(gradient, gradient, value=1 / len(read))
    if not read:
        raise InputError(
            "train.optimizer",
            "preconditioned scales gradients by those of untagged text, but no such text predicts anything",
            "set weights.without_secret to plain, or train.optimizer to adamw",
        )
    size = sum(moment.numel() for moment in moments.values())
    mean = sum(float(moment.double().sum()) for moment in moments.values()) / size
    if not (math.isfinite(mean) and mean > 0):
        raise InputError(
            "the start model",
            f"has gradients of mean square {mean:g} on untagged text",
            "take weights that can be trained",
        )
    return {name: moment.cpu() for name, moment in moments.items()}, mean


def _computed(
    moments: Mapping[str, Tensor], mean: float, clip_norm: float, noise: float
) -> dict[str, Tensor]:
    """The tensors of a scale: factors for the clip, and what the update is multiplied with beside them."""
    tensors: dict[str, Tensor] = {}
    squares = length = 0.0
    for name, moment in moments.items():
        own = _factors(name, moment, mean)
        squared = GradientScale(own).scaled(name, torch.ones_like(moment)).square_().double()
        squares, length = squares + float(squared.sum()), length + float(squared.mul_(moment).sum())
        tensors |= own
    gain, size = MARGIN * clip_norm / math.sqrt(length), sum(moment.numel() for moment in moments.values())
    for name, tensor in tensors.items():
        if not name.startswith("columns "):
            tensor.mul_(gain)
    longest = math.hypot(clip_norm, noise * math.sqrt(size))
    return tensors | {"ratio": torch.tensor(size / (longest * gain * math.sqrt(squares)))}


def _factors(name: str, moment: Tensor, mean: float) -> dict[str, Tensor]:
    """The parameter's factors to the power −POWER, from its second moments and their mean over the model."""
    if moment.dim() != 2:
        return {f"numbers {name}": moment.clamp(min=FLOOR * mean) ** -POWER}
    own = max(float(moment.double().mean()), FLOOR * mean)
    rows = moment.mean(1).clamp_(min=FLOOR * own).div_(math.sqrt(own))
    columns = moment.mean(0).clamp_(min=FLOOR * own).div_(math.sqrt(own))
    return {f"rows {name}": rows**-POWER, f"columns {name}": columns**-POWER}
