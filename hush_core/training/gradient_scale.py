"""A fixed positive scale of the gradient, from second moments of untagged text: what a round clips is s ∘ g.

    scale = GradientScale.of(model, untagged, clip_norm=1.0)
    clipped_gradient_sum(network, batch, losses=model.losses, clip_norm=1.0, scale=scale)

A round is then DP-SGD of φ in θ = θ₀ + s ∘ φ: the gradient in φ is s ∘ g, clipped to C and noised with σC as ever,
and θ moves by s times the step of φ (docs/guarantee.md, Proposition 18). After AdaDPS (Li et al. 2022), with the
factored second moments of Adafactor (Shazeer & Stern 2018): a matrix' scale is r cᵀ, so an outer product of a
token stays one, and norms stay as exact and as fast as without a scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from hush_core.errors import InputError
from hush_core.training.data import MicroBatch, micro_batches, predicts
from hush_core.training.layers import Outer

if TYPE_CHECKING:
    from hush_core.training.language_model import LanguageModel

EXAMPLES = 256
"""Untagged examples that second moments are taken of."""
FLOOR = 1e-2
"""A second moment below this share of its matrix' mean, and a matrix' mean below this share of all numbers' mean,
count as that: a number whose gradient untagged text does not show is not moved without limit."""
POWER = 0.25
"""s is the second moment to the power −POWER; the update is scaled twice, hence by its inverse root."""
SAME = 1e-2
"""By how much, relatively, a resumed run's scale may differ from the one that is computed again."""
MARGIN = 10.0
"""How often the clip norm goes into the root mean square of the untagged examples' scaled norms: what is clipped
is nearly always as long as C, so that noise and signal do not depend on how long a gradient is."""


@dataclass(frozen=True, repr=False)
class GradientScale:
    """s > 0 for each trained number. Nothing of it depends on tagged text.

    Attributes:
        tensors: by name, `rows NAME` and `columns NAME` of a matrix (in the parameter's own orientation, s = rows ⊗
            columns), `numbers NAME` of any other parameter; and `ratio`, what a release is multiplied with beside s,
            so that the learning rate is the root mean square by which a round moves the parameters where all of
            its examples agree, whatever C is.
    """

    tensors: dict[str, Tensor]

    @staticmethod
    def of(
        model: LanguageModel, texts: Sequence[bytes], *, clip_norm: float, examples: int = EXAMPLES
    ) -> GradientScale:
        """From the gradients of single examples of `texts`, at the model's present weights.

        Args:
            model: its trainable parameters are scaled.
            texts: untagged, that is, of no edge of the graph; the first `examples` that predict anything are read.
            clip_norm: C, that scaled gradients are clipped to.

        Raises:
            InputError: no such text; a gradient that is not finite.
        """
        moments, count = {name: torch.zeros_like(p) for name, p in _trained(model.network).items()}, 0
        for gradients in _gradients(model, texts, examples):
            for name, gradient in gradients.items():
                moments[name].addcmul_(gradient, gradient)
            count += 1
        if not count:
            raise InputError(
                "train.optimizer",
                "scales gradients by those of untagged text, and there is none that predicts anything",
                "set weights.without_secret to plain, or train.optimizer to adamw",
            )
        size = sum(moment.numel() for moment in moments.values())
        mean = sum(float(moment.double().sum()) for moment in moments.values()) / size / count
        if not (math.isfinite(mean) and mean > 0):
            raise InputError(
                "the start model",
                f"has gradients of mean square {mean:g} on untagged text",
                "take weights that can be trained",
            )
        tensors: dict[str, Tensor] = {}
        for name, moment in moments.items():
            tensors |= _factors(name, moment.div_(count), mean)
        scale = GradientScale(tensors)
        squares = expected = 0.0
        for name, moment in moments.items():
            squared = scale.scaled(name, scale.scaled(name, torch.ones_like(moment)))
            squares += float(squared.double().sum())
            expected += float(moment.mul_(squared).double().sum())
        gain, unit = MARGIN * clip_norm / math.sqrt(expected), math.sqrt(squares / size)
        for name in moments:
            first = f"rows {name}" if f"rows {name}" in tensors else f"numbers {name}"
            tensors[first].mul_(gain)
        tensors["ratio"] = torch.tensor(math.sqrt(size) / (clip_norm * gain * unit))
        return scale

    def to(self, device: torch.device | str) -> GradientScale:
        """The same on another device."""
        return GradientScale({name: tensor.to(device) for name, tensor in self.tensors.items()})

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
                    f"was begun with another scale of gradients: {name} differs",
                    "resume with the untagged text and the start model that began the run",
                )
            tensor.copy_(begun[name])


def _trained(network: nn.Module) -> dict[str, nn.Parameter]:
    return {name: p for name, p in network.named_parameters() if p.requires_grad}


def _gradients(model: LanguageModel, texts: Sequence[bytes], most: int) -> Iterator[dict[str, Tensor]]:
    """Of single examples, by plain autograd in float32."""
    trained, generator = _trained(model.network), np.random.default_rng(0)
    device = next(iter(trained.values())).device
    sequences = [tokens for tokens in model.encode(texts[: 4 * most])[0] if predicts(tokens)][:most]
    for part in micro_batches(sequences, model.objective, 1, generator):
        here = MicroBatch(*(x if x is None else x.to(device) for x in part))
        loss = model.losses(model.network, here).sum()
        found = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
        yield {name: g for name, g in zip(trained, found, strict=True) if g is not None}


def _factors(name: str, moment: Tensor, mean: float) -> dict[str, Tensor]:
    """The parameter's factors to the power −POWER, from its second moments and their mean over the model."""
    if moment.dim() != 2:
        return {f"numbers {name}": moment.clamp(min=FLOOR * mean) ** -POWER}
    own = max(float(moment.double().mean()), FLOOR * mean)
    rows = moment.mean(1).clamp_(min=FLOOR * own).div_(math.sqrt(own))
    columns = moment.mean(0).clamp_(min=FLOOR * own).div_(math.sqrt(own))
    return {f"rows {name}": rows**-POWER, f"columns {name}": columns**-POWER}
