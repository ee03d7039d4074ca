"""How each supported layer turns (input, output gradient) into its parameters' per-example gradients.

A parameter that no rule covers is refused by name before training: it is clipped, frozen, or an error.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional
from transformers.pytorch_utils import Conv1D

from hush_core.errors import InputError


@dataclass(frozen=True)
class Outer:
    """One use of a matrix parameter: the gradient of example b is the sum over t of left[b,t] ⊗ right[b,t].

    left: (B, T, rows) floats, or (B, T) int64 row numbers in place of one-hot vectors (an embedding).
    right: (B, T, columns) floats.
    """

    left: Tensor
    right: Tensor

    @property
    def one_hot(self) -> bool:
        return self.left.dim() == 2

    @property
    def tokens(self) -> int:
        return self.right.shape[1]

    def float(self) -> Outer:
        """The same in float32."""
        return Outer(self.left if self.one_hot else self.left.float(), self.right.float())


Use = tuple[str, Outer | Tensor]
"""(parameter's name in its layer, the outer products, or the (B, *shape) per-example gradient itself)."""
Rule = Callable[[nn.Module, Tensor, Tensor], Iterator[Use]]


def _by_token(x: Tensor, width: int) -> Tensor:
    return x.reshape(x.shape[0], -1, width)


def _linear(layer: nn.Linear, x: Tensor, g: Tensor) -> Iterator[Use]:
    x, g = _by_token(x.to(g.dtype), layer.in_features), _by_token(g, layer.out_features)
    yield "weight", Outer(g, x)
    if layer.bias is not None:
        yield "bias", _over_tokens(g)


def _conv1d(layer: Conv1D, x: Tensor, g: Tensor) -> Iterator[Use]:
    rows, columns = layer.weight.shape
    x, g = _by_token(x.to(g.dtype), rows), _by_token(g, columns)
    yield "weight", Outer(x, g)
    yield "bias", _over_tokens(g)


def _embedding(layer: nn.Embedding, ids: Tensor, g: Tensor) -> Iterator[Use]:
    ids, g = ids.reshape(ids.shape[0], -1), _by_token(g, layer.embedding_dim)
    if layer.padding_idx is not None:
        g = g.masked_fill((ids == layer.padding_idx).unsqueeze(-1), 0)
    yield "weight", Outer(ids, g)


def _layer_norm(layer: nn.LayerNorm, x: Tensor, g: Tensor) -> Iterator[Use]:
    if layer.weight.requires_grad:
        normalised = functional.layer_norm(x, layer.normalized_shape, eps=layer.eps)
        yield (
            "weight",
            _over_tokens(_by_token(g * normalised, layer.weight.numel())).view(-1, *layer.normalized_shape),
        )
    if layer.bias is not None:
        yield "bias", _over_tokens(_by_token(g, layer.bias.numel())).view(-1, *layer.normalized_shape)


def _rms_norm(layer: nn.RMSNorm, x: Tensor, g: Tensor) -> Iterator[Use]:
    normalised = functional.rms_norm(x, layer.normalized_shape, eps=layer.eps)
    yield (
        "weight",
        _over_tokens(_by_token(g * normalised, layer.weight.numel())).view(-1, *layer.normalized_shape),
    )


def _scaling(layer: nn.Module, x: Tensor, g: Tensor) -> Iterator[Use]:
    normalised = _scaled_by(layer, x, 1.0) - _scaled_by(layer, x, 0.0)
    yield "weight", _over_tokens(_by_token(g * normalised, layer.weight.numel()))


def _scaled_by(layer: nn.Module, x: Tensor, weight: float) -> Tensor:
    return functional_call(layer, {"weight": torch.full_like(layer.weight, weight)}, (x,))


@torch.no_grad()
def is_scaling(layer: nn.Module) -> bool:
    """Whether a layer of unknown type is one weight vector times something of its input, example by example:
    Llama's RMSNorm and its kin. Found by trying it on random input in float64."""
    own = dict(layer.named_parameters())
    if set(own) != {"weight"} or own["weight"].dim() != 1 or any(True for _ in layer.children()):
        return False
    probe = copy.deepcopy(layer).double().cpu()
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, own["weight"].numel(), generator=generator, dtype=torch.float64)
    weight = torch.randn(own["weight"].numel(), generator=generator, dtype=torch.float64)
    try:
        still = _scaled_by(probe, x, 0.0)
        slope = _scaled_by(probe, x, 1.0) - still
        got, alone = functional_call(probe, {"weight": weight}, (x,)), _scaled_by(probe, x[:1], 1.0)
    except Exception:
        return False
    # Such layers pass through fp32 on purpose, so even this probe is no better than that.
    near = {"rtol": 1e-4, "atol": 1e-5}
    return (
        got.shape == x.shape
        and torch.allclose(got, still + weight * slope, **near)
        and torch.allclose(alone, (still + slope)[:1], **near)
    )


def _over_tokens(x: Tensor) -> Tensor:
    """(B, T, d) → (B, d). As a product with ones: up to ten times faster than sum(1) on CPU."""
    return torch.bmm(x.new_ones(1, 1, x.shape[1]).expand(x.shape[0], -1, -1), x).squeeze(1)


@torch.no_grad()
def embedding_scale(layer: nn.Module) -> float | None:
    """The constant by which an embedding of unknown type multiplies its rows (Gemma's), or None if it does
    anything else. Found by trying it."""
    if not isinstance(layer, nn.Embedding) or layer.padding_idx not in (None, 0):
        return None
    ids = torch.arange(1, min(layer.num_embeddings, 9)).repeat(2, 1)
    probe = copy.deepcopy(layer).cpu()
    rows = torch.randn(probe.weight.shape, generator=torch.Generator().manual_seed(0))
    try:
        ones = functional_call(probe, {"weight": torch.ones_like(rows)}, (ids,))
        got = functional_call(probe, {"weight": rows}, (ids,))
    except Exception:
        return None
    scale = float(ones.flatten()[0])
    return scale if torch.allclose(got, scale * rows[ids], rtol=1e-6, atol=0) and scale != 0 else None


def _scaled_embedding(scale: float) -> Rule:
    def rule(layer: nn.Embedding, ids: Tensor, g: Tensor) -> Iterator[Use]:
        return _embedding(layer, ids, g * scale)

    return rule


RULES: dict[type[nn.Module], Rule] = {
    nn.Linear: _linear,
    Conv1D: _conv1d,
    nn.Embedding: _embedding,
    nn.LayerNorm: _layer_norm,
    nn.RMSNorm: _rms_norm,
}
"""By exact type: a subclass may compute something else in its forward."""
_FOUND: WeakKeyDictionary[nn.Module, Rule | None] = WeakKeyDictionary()


def rule_for(layer: nn.Module) -> Rule | None:
    """The rule of a layer that owns trainable parameters, or None."""
    if layer not in _FOUND:
        rule = RULES.get(type(layer))
        fancy = isinstance(layer, nn.Embedding) and (
            layer.max_norm is not None or layer.scale_grad_by_freq or layer.sparse
        )
        extra = {name for name, _ in layer.named_parameters(recurse=False)} - {"weight", "bias"}
        if fancy or extra or nn.utils.parametrize.is_parametrized(layer):
            rule = None
        elif rule is None and is_scaling(layer):
            rule = _scaling
        elif rule is None and (scale := embedding_scale(layer)) is not None:
            rule = _scaled_embedding(scale)
        _FOUND[layer] = rule
    return _FOUND[layer]


def trainable_layers(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """The layers that own trainable parameters and have a rule.

    A module without a rule may also own a parameter, as BERT's head owns its bias, if a layer with a rule holds it
    too. The clipping checks that a rule saw each use of it.

    Raises:
        InputError: names the first parameter that no rule covers, or the layer that mixes examples.
    """
    found, covered, open_ = [], set(), []
    for name, layer in model.named_modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            raise InputError(
                f"layer {name or type(layer).__name__}",
                f"{type(layer).__name__} mixes the examples of a batch: none has a gradient of its own",
                "use LayerNorm or RMSNorm",
            )
        own = {p: value for p, value in layer.named_parameters(recurse=False) if value.requires_grad}
        if not own:
            continue
        if rule_for(layer) is None:
            open_ += [(f"{name}.{p}".lstrip("."), value, layer) for p, value in sorted(own.items())]
        else:
            found.append((name, layer))
            covered |= set(own.values())
    for name, value, layer in open_:
        if value not in covered:
            raise InputError(
                f"parameter {name}",
                f"there is no per-example gradient rule for it (a {type(layer).__name__})",
                "freeze it (requires_grad=False), or try adapters (model.lora), which leave it frozen",
            )
    return found
