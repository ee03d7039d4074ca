"""The clipped gradient sum of a batch in one backward pass (book-keeping).

    total = clipped_gradient_sum(model, batch, losses=per_example_losses, clip_norm=1.0)
    total.gradients["transformer.h.0.mlp.c_fc.weight"]         # Σ_i g_i · min(1, C/‖g_i‖)

Hooks keep what the layers' calls leave behind (`layer_calls.py`), and one autograd call asks only for the gradient
of the bottom layers' outputs: torch computes no weight gradient at all. Norms and the sum follow layer by layer
(`norms.py`, `sums.py`). What is measured: `lab/benchmarks/training_speed.py`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from hush_core.errors import InputError
from hush_core.training.gradient_scale import GradientScale
from hush_core.training.layer_calls import Book, check_received, check_uses, recording
from hush_core.training.layers import Outer
from hush_core.training.noise import grid_step
from hush_core.training.norms import instance, instance_size, size_of
from hush_core.training.sums import add_instances, add_products, rounding_charge, scales

SHRINK = 2.0**-20
"""Relative, for two fp32 roundings of a scaled gradient (at most 2^-23) and those in float64 of norms and bound."""

Losses = Callable[[nn.Module, Any], Tensor]


@dataclass(frozen=True, repr=False)
class ClippedSum:
    """gradients: name → Σ_b clipped gradient, float64 on the grid, in the order of `named_parameters`; norms:
    (B,) float64 upper bounds, one an item, before clipping.

    Both are protected quantities: nothing of them may leave the training step without noise.
    """

    gradients: dict[str, Tensor]
    norms: Tensor


def clipped_gradient_sum(
    model: nn.Module,
    batch: Any,
    *,
    losses: Losses,
    clip_norm: float,
    grid: float | None = None,
    into: dict[str, Tensor] | None = None,
    shares: Tensor | None = None,
    scale: GradientScale | None = None,
) -> ClippedSum:
    """Σ_b v_b over the items of one micro-batch, v_b = g_b · min(1, C'/‖g_b‖) rounded to a grid; an item is an
    example, or k neighbouring rows.

    Args:
        model: its trainable parameters are all in layers that have a rule (`layers.py`), fp32. `losses`
            may run it under bf16 autocast (with cache_enabled=False).
        batch: handed to `losses` as it is.
        losses: (model, batch) → (R,) losses, one a row; loss b may depend on row b only, and the first dimension
            of every layer's input and output is the row.
        clip_norm: C > 0, in the l2 norm over all trainable parameters together; inf: nothing is clipped.
        grid: a power of two, the same for all micro-batches of a sum; `grid_step(C, size)` by default.
        into: name → float64 buffer of the parameter's shape that holds multiples of the grid; the sum is added
            to it, and no other is made.
        shares: (B, k) with R = B·k: g_b = Σ_s shares[b, s] · (gradient of row b·k + s), 1 ÷ the number of records
            that the item shows where g_b is their average, and 0 for a filler. None: k is 1, g_b the row's own.
        scale: g_b is s ∘ that gradient, for the fixed s > 0 of the scale: norms, clip and sum are of g_b.

    Raises:
        InputError: names the parameter or layer that cannot be clipped; nothing is computed then. `shares` that do
            not fit the losses.

    Guarantee: ‖v_b‖ ≤ clip_norm, all rounding included, for any shape, content and shares (proof:
    docs/training.md, "Rounding"; C' falls short of C by what the rounding may have done). An item whose gradient is
    not finite adds nothing. The sum is exact while items · clip_norm / grid ≤ 2^52 (`sums.check_range`): item b
    adds v_b, to the bit. This v_b depends on the gradients of b that the backward pass gave, and on the shapes of
    the micro-batch. The batch's maker keeps both independent of the other items (`rounds.py`, `placement.py`).
    """
    if not clip_norm > 0:
        raise InputError("clip_norm", f"must be above 0, got {clip_norm:g}", "give a positive number")
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    records = 1 if shares is None else shares.shape[-1]
    book = Book({p: name for name, p in parameters.items()}, records, scale)
    with torch.enable_grad(), recording(model, book):
        values = losses(model, batch)
    check_uses(book, values)
    if shares is not None:
        values = _shared(values, shares)
    if book.bottom:
        torch.autograd.grad(values.sum(), book.bottom, allow_unused=True)
    book.bottom.clear()  # edges → hooks → book → edges: a cycle that would keep them until the next gc
    check_received(book)
    if grid is None and clip_norm < math.inf:
        grid = grid_step(clip_norm, sum(p.numel() for p in parameters.values()))
    with torch.no_grad():
        if into is None:
            into = {n: torch.zeros_like(p, dtype=torch.float64) for n, p in parameters.items()}
        return ClippedSum(into, _clip(parameters, book, clip_norm, grid, into))


def _shared(values: Tensor, shares: Tensor) -> Tensor:
    """(R,) each row's loss times its share of its item."""
    if shares.dim() != 2 or shares.numel() != len(values):
        raise InputError(
            "shares",
            f"have shape {tuple(shares.shape)} for {len(values)} losses",
            "give (items, records) of them, in the order of the rows",
        )
    return values * shares.flatten()


def _clip(
    parameters: dict[str, nn.Parameter],
    book: Book,
    clip_norm: float,
    grid: float | None,
    into: dict[str, Tensor],
) -> Tensor:
    """Add what each example releases to `into`, layer by layer; the norms before clipping."""
    for parameter in book.instances.keys() & book.outers.keys():  # uses of different length: the cross term
        for use in book.outers.pop(parameter):
            book.instances[parameter] += instance(use.float(), parameter.shape)
    sizes = [instance_size(gradient) for gradient in book.instances.values()]
    sizes += [size_of(uses, parameter.shape) for parameter, uses in book.outers.items()]
    norms = torch.stack([size.norm for size in sizes]).square().sum(0).sqrt()
    if grid is None:
        grid = _loose_grid(norms, parameters)
    charges = [rounding_charge((), p.shape, True) for p in book.instances]
    charges += [rounding_charge(uses, p.shape, False) for p, uses in book.outers.items()]
    bound = (clip_norm - grid * math.hypot(*charges)) * (1 - SHRINK)
    if bound < 0.9 * clip_norm:
        raise InputError(
            "an example", "has too many tokens for the grid of so small a model", "cut it into shorter ones"
        )
    scale = scales(sizes, bound, grid)
    if not bool(scale.all()):
        _drop(book, scale == 0)
    for name, parameter in parameters.items():
        if parameter in book.instances:
            add_instances(into[name], book.instances.pop(parameter), scale, grid)
        elif parameter in book.outers:
            for use in book.outers.pop(parameter):
                add_products(into[name], use, scale, grid)
    return norms


def _loose_grid(norms: Tensor, parameters: dict[str, nn.Parameter]) -> float:
    """Where nothing is clipped (clip_norm = inf) no grid is prescribed: one that fits the greatest norm."""
    largest = float(norms[norms.isfinite()].max()) if bool(norms.isfinite().any()) else 0.0
    return grid_step(max(largest, 2.0**-60), sum(p.numel() for p in parameters.values()))


def _drop(book: Book, bad: Tensor) -> None:
    """Zero the examples that are left out: 0·inf would poison the whole sum."""
    for gradient in book.instances.values():
        gradient[bad] = 0
    for parameter, uses in book.outers.items():
        book.outers[parameter] = [
            Outer(
                use.left if use.one_hot else use.left.masked_fill(bad[:, None, None], 0),
                use.right.masked_fill(bad[:, None, None], 0),
            )
            for use in uses
        ]
