"""DoRA (Liu et al. 2024) as layers whose every parameter has an exact gradient for each example.

y = m · (Wx + s·BAx)/‖W + s·BA‖ + b, row by row, the norm taken as a constant (the paper's §4.3, and as peft does).
peft computes the same in another order: it runs B and A on the identity to get the norm, which is no example's, and
uses m inside a larger formula. Here the norm is made of the weights themselves, without a gradient, and m is a
layer that scales its input: `layers.py` has a rule for that. Names and files stay peft's.
"""

from __future__ import annotations

from typing import Any

import torch
from peft.tuners.lora import LoraLayer
from peft.tuners.lora.dora import DoraLinearLayer
from peft.tuners.lora.variants import DoraLinearVariant
from peft.utils.other import transpose
from torch import Tensor, nn


class Magnitude(DoraLinearLayer):
    """x (…, d_out) → m · x."""

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x


class ExactDora(DoraLinearVariant):
    """What a layer with peft's DoRA adapter computes, in the order above."""

    @staticmethod
    def forward(module: LoraLayer, active_adapter: str, x: Tensor, result: Tensor, **kwargs: Any) -> Tensor:
        down, up = module.lora_A[active_adapter], module.lora_B[active_adapter]
        magnitude, scaling = module.lora_magnitude_vector[active_adapter], module.scaling[active_adapter]
        base = module.get_base_layer()
        plain = result if base.bias is None else result - base.bias
        norm = _norm(base.weight, down.weight, up.weight, scaling, magnitude.fan_in_fan_out)
        scaled = magnitude((plain + scaling * up(down(x))) / norm)
        return (scaled if base.bias is None else scaled + base.bias).to(result.dtype)


@torch.no_grad()
def _norm(weight: Tensor, down: Tensor, up: Tensor, scaling: float, turned: bool) -> Tensor:
    """(d_out,) float32: of each row of W + s·BA; `turned`: W lies as Conv1D has it."""
    with torch.autocast(weight.device.type, enabled=False):
        return torch.linalg.norm(transpose(weight, turned) + scaling * (up @ down), dim=1)


def make_exact(network: nn.Module) -> None:
    """Put these layers in place of peft's own wherever a network has DoRA adapters; parameters stay the same."""
    for layer in network.modules():
        if not isinstance(layer, LoraLayer):
            continue
        for name, variant in layer.lora_variant.items():
            if type(variant) is not DoraLinearVariant:
                continue
            layer.lora_variant[name] = ExactDora()
            old = layer.lora_magnitude_vector[name]
            new = Magnitude(old.fan_in_fan_out)
            new.weight = old.weight
            layer.lora_magnitude_vector[name] = new.train(old.training)
