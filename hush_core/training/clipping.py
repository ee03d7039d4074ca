"""The clipped gradient sum of a batch in one backward pass (book-keeping).

    total = clipped_gradient_sum(model, batch, losses=per_example_losses, clip_norm=1.0)
    total.gradients["transformer.h.0.mlp.c_fc.weight"]         # Σ_i g_i · min(1, C/‖g_i‖)

Forward hooks keep each layer's input, tensor hooks receive its output gradient, and one autograd call asks
only for the gradient of the bottom layers' outputs: torch computes no weight gradient at all. Norms and the
sum follow layer by layer (`norms.py`). What is measured: `benchmarks/training_speed.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

from hush_core.errors import InputError
from hush_core.training.layers import Outer, rule_for, trainable_layers
from hush_core.training.norms import instance, instance_norms, keeps_instance, squared_norms, weighted_sum

SHRINK = 1e-5
"""fp32: single-example releases were measured at up to 1.000001·C without it."""
SHRINK_HALF = 1e-2
"""bf16: the gradients of the OTHER examples change by up to 2e-4·C in all when one leaves the batch, as the
kernels round otherwise in another shape."""

Losses = Callable[[nn.Module, Any], Tensor]


@dataclass(frozen=True, repr=False)
class ClippedSum:
    """gradients: name → Σ_b clipped gradient, fp32, in the order of `named_parameters`; norms: (B,) float64.

    Both are protected quantities: nothing of them may leave the training step without noise.
    """

    gradients: dict[str, Tensor]
    norms: Tensor


@dataclass(eq=False)
class _Use:
    """One call of one layer: what the forward pass leaves behind for the backward pass."""

    name: str
    layer: nn.Module
    x: Tensor | None
    """None once its output gradient has come."""
    version: int
    rows: int
    edge: GradientEdge | None
    """Where the output hangs in the graph: what changes the tensor in place later does not move it."""


@dataclass
class _Book:
    """What is known of each parameter: its per-example gradient, or the outer products that make it up."""

    names: dict[nn.Parameter, str]
    uses: list[_Use] = field(default_factory=list)
    bottom: list[GradientEdge] = field(default_factory=list)
    instances: dict[nn.Parameter, Tensor] = field(default_factory=dict)
    outers: dict[nn.Parameter, list[Outer]] = field(default_factory=dict)
    half: bool = False
    """Whether any output came in less than float32."""

    def record(self, name: str, layer: nn.Module, x: Tensor, output: Tensor) -> None:
        if not output.requires_grad:
            return
        self.half |= output.dtype in (torch.bfloat16, torch.float16)
        # Nothing here keeps the output alive: held until the end, outputs doubled the peak memory. And the
        # gradient is asked for at the edge: asked for at the tensor, after `x = embed(ids); x *= scale` it
        # would be that of the product, and the layer beneath it would never get one.
        held, shape = _lasting(output), output.shape
        use = _Use(name, layer, x.detach(), x._version, shape[0], get_gradient_edge(held))
        held.register_hook(lambda gradient: self.receive(use, gradient.reshape(shape)))
        self.uses.append(use)
        if not x.requires_grad:
            self.bottom.append(use.edge)

    def receive(self, use: _Use, gradient: Tensor) -> None:
        """A tensor hook: turn the output gradient into gradients at once where that frees memory."""
        if use.x is None:
            raise InputError(f"layer {use.name}", "received its gradient twice", "call backward only once")
        if use.x._version != use.version:
            raise InputError(
                f"layer {use.name}", "its input was changed in place after the layer read it", "copy it first"
            )
        for local, part in rule_for(use.layer)(use.layer, use.x, gradient.detach()):
            parameter = getattr(use.layer, local)
            if not parameter.requires_grad:
                continue
            if isinstance(part, Outer):
                if part.one_hot or not keeps_instance(parameter.shape, part.tokens):
                    self.outers.setdefault(parameter, []).append(part.float())
                    continue
                part = instance(part, parameter.shape)
            part = part.float()  # from here on norms and sums see the same float32 numbers, bf16 or not
            known = self.instances.get(parameter)
            self.instances[parameter] = part if known is None else known.add_(part)
        use.x = None


def clipped_gradient_sum(
    model: nn.Module,
    batch: Any,
    *,
    losses: Losses,
    clip_norm: float,
    into: dict[str, Tensor] | None = None,
) -> ClippedSum:
    """Σ_b g_b · min(1, C'/‖g_b‖) over the examples of one micro-batch, C' = clip_norm·(1 − 1e-5), or
    0.99·clip_norm in bf16.

    Args:
        model: its trainable parameters all stand in layers that have a rule (`layers.py`), fp32. `losses`
            may run it under bf16 autocast (with cache_enabled=False).
        batch: handed to `losses` as it is.
        losses: (model, batch) → (B,) losses; loss b may depend on example b only, and the first dimension
            of every layer's input and output is the example.
        clip_norm: C > 0, in the l2 norm over all trainable parameters together.
        into: name → float32 buffer of the parameter's shape; the sum is added to it, and no other is made.

    Raises:
        InputError: names the parameter or layer that cannot be clipped; nothing is computed then.

    Guarantee: what one example adds has l2 norm ≤ clip_norm, the fp32 rounding of its own terms included;
    an example whose gradient is not finite adds nothing. The order in which fp32 adds several examples is
    not part of it (about 1e-7 of the sum; `noise.py` takes the low bits off).
    """
    if not clip_norm > 0:
        raise InputError("clip_norm", f"must be above 0, got {clip_norm:g}", "give a positive number")
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    book = _Book({p: name for name, p in parameters.items()})
    with torch.enable_grad(), _recording(model, book):
        values = losses(model, batch)
    _check_uses(book, values)
    if book.bottom:
        torch.autograd.grad(values.sum(), book.bottom, allow_unused=True)
    book.bottom.clear()  # edges → hooks → book → edges: a cycle that would keep them until the next gc
    _check_received(book)
    with torch.no_grad():
        into = {n: torch.zeros_like(p) for n, p in parameters.items()} if into is None else into
        bound = clip_norm * (1 - (SHRINK_HALF if book.half else SHRINK))
        return ClippedSum(into, _clip(parameters, book, bound, values, into))


@contextmanager
def _recording(model: nn.Module, book: _Book) -> Iterator[None]:
    handles = []
    try:
        for name, layer in trainable_layers(model):

            def hook(layer: nn.Module, args: tuple, kwargs: dict, output: Tensor, name: str = name) -> None:
                book.record(name, layer, args[0] if args else next(iter(kwargs.values())), output)

            handles.append(layer.register_forward_hook(hook, with_kwargs=True))
        yield
    finally:
        for handle in handles:
            handle.remove()


def _check_uses(book: _Book, values: Tensor) -> None:
    """Every use of a parameter is one that the hooks saw, and holds one row an example."""
    if values.dim() != 1:
        raise InputError(
            "losses", f"must have shape (B,), got {tuple(values.shape)}", "do not average over B"
        )
    examples = len(values)
    for use in book.uses:
        if use.x.shape[0] != examples or use.rows != examples:
            raise InputError(
                f"layer {use.name}",
                f"its first dimension is {use.rows} where the batch holds {examples} examples",
                "keep the example as the first dimension (pass position_ids of shape (B, T))",
            )
    uses, reached = _graph_uses(values, set(book.names))
    calls: dict[nn.Parameter, int] = {}
    for use in book.uses:
        if use.edge.node in reached:
            for parameter in use.layer.parameters(recurse=False):
                calls[parameter] = calls.get(parameter, 0) + 1
        else:  # an output that the loss does not depend on has no gradient
            use.x = None
        use.edge = None
    for parameter, times in uses.items():
        if times > calls.get(parameter, 0):
            raise InputError(
                f"parameter {book.names[parameter]}",
                "is used outside its own layer's forward, where its gradient cannot be clipped",
                "use it through a layer, or freeze it",
            )


def _lasting(output: Tensor) -> Tensor:
    """The tensor whose place in the graph an in-place change of `output` leaves as it is: what it is a mere
    reshaping of (a Linear's output in three dimensions), or itself. A changed view is hung up anew."""
    base = output._base
    plain = base is not None and base.numel() == output.numel() and base.is_contiguous()
    return base if plain and output.is_contiguous() and base.requires_grad else output


def _check_received(book: _Book) -> None:
    """Each use on which the loss depends has been handed its gradient."""
    for use in book.uses:
        if use.x is not None:
            raise InputError(
                f"layer {use.name}",
                "the loss depends on its output, and no gradient of it came: it would be left out of the norm",
                "take another architecture: its code cuts the way back there (a kernel that is not installed?)",
            )


def _graph_uses(
    values: Tensor, parameters: set[nn.Parameter]
) -> tuple[dict[nn.Parameter, int], set[torch.autograd.graph.Node]]:
    """How many edges of the autograd graph end in each parameter, and all nodes of the graph."""
    found: dict[nn.Parameter, int] = {}
    seen, stack = set(), [values.grad_fn]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for child, _ in node.next_functions:
            parameter = getattr(child, "variable", None)
            if parameter is None:
                stack.append(child)
            elif parameter in parameters:
                found[parameter] = found.get(parameter, 0) + 1
    return found, seen


def _clip(
    parameters: dict[str, nn.Parameter], book: _Book, bound: float, values: Tensor, into: dict[str, Tensor]
) -> Tensor:
    """Add the clipped sum to `into`, layer by layer; the norms."""
    for parameter in book.instances.keys() & book.outers.keys():  # uses of different length: the cross term
        for use in book.outers.pop(parameter):
            book.instances[parameter] += instance(use, parameter.shape)
    squared = torch.zeros(len(values), dtype=torch.float64, device=values.device)
    for gradient in book.instances.values():
        squared += instance_norms(gradient)
    for parameter, uses in book.outers.items():
        squared += squared_norms(uses, parameter.shape)
    norms = squared.sqrt()
    finite = norms.isfinite()
    factors = torch.where(finite, (bound / norms).clamp(max=1), 0).to(torch.float32)
    if not bool(finite.all()):
        _drop(book, ~finite)
    for name, parameter in parameters.items():
        if parameter in book.instances:
            rows = book.instances.pop(parameter).flatten(1)
            into[name].view(-1).addmv_(rows.T, factors)
        elif parameter in book.outers:
            weighted_sum(book.outers.pop(parameter), factors, parameter.shape, into[name])
    return norms


def _drop(book: _Book, bad: Tensor) -> None:
    """Zero the examples whose gradient is not finite: 0·inf would poison the whole sum."""
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
