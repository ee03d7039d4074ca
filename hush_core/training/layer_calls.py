"""What the calls of a model's layers leave behind in one forward and backward pass, for norms and sum.

Forward hooks keep each layer's input, tensor hooks receive its output gradient and turn both into what each item's
gradient is made of. Every use of a trainable parameter is one that the hooks saw, or the model is refused.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

from hush_core.errors import InputError
from hush_core.training.gradient_scale import GradientScale
from hush_core.training.layers import Outer, rule_for, trainable_layers
from hush_core.training.norms import instance, keeps_instance, multiplies_in_half


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
class Book:
    """What is known of each parameter: its per-item gradient, or the outer products that make it up."""

    names: dict[nn.Parameter, str]
    records: int
    """Neighbouring rows of a batch that are one item."""
    scale: GradientScale | None = None
    uses: list[_Use] = field(default_factory=list)
    bottom: list[GradientEdge] = field(default_factory=list)
    instances: dict[nn.Parameter, Tensor] = field(default_factory=dict)
    outers: dict[nn.Parameter, list[Outer]] = field(default_factory=dict)

    def record(self, name: str, layer: nn.Module, x: Tensor, output: Tensor) -> None:
        if not output.requires_grad:
            return
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
            if self.scale is not None:
                part = self.scale.scaled_part(self.names[parameter], part)
            part = _of_items(part, self.records)
            if isinstance(part, Outer):
                if part.one_hot or not keeps_instance(parameter.shape, part.tokens):
                    half = multiplies_in_half(part, parameter.shape)
                    self.outers.setdefault(parameter, []).append(part if half else part.float())
                    continue
                part = instance(part, parameter.shape)
            part = part.float()  # from here on norms and sums see the same float32 numbers, bf16 or not
            known = self.instances.get(parameter)
            self.instances[parameter] = part if known is None else known.add_(part)
        use.x = None


@contextmanager
def recording(model: nn.Module, book: Book) -> Iterator[None]:
    """Every call of a trainable layer of `model` is noted in `book`."""
    with ExitStack() as stack:
        for name, layer in trainable_layers(model):

            def hook(layer: nn.Module, args: tuple, kwargs: dict, output: Tensor, name: str = name) -> None:
                book.record(name, layer, args[0] if args else next(iter(kwargs.values())), output)

            stack.callback(layer.register_forward_hook(hook, with_kwargs=True).remove)
        yield


def check_uses(book: Book, values: Tensor) -> None:
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


def check_received(book: Book) -> None:
    """Each use on which the loss depends has been handed its gradient."""
    for use in book.uses:
        if use.x is not None:
            raise InputError(
                f"layer {use.name}",
                "the loss depends on its output, and no gradient of it came: it would be left out of the norm",
                "take another architecture: its code cuts the way back there (a kernel that is not installed?)",
            )


def _of_items(part: Outer | Tensor, records: int) -> Outer | Tensor:
    """What rows give → what items give: the outer products of an item's rows are concatenated, as if they were one
    row's; gradients themselves are added up, in fp32."""
    if records == 1:
        return part
    if isinstance(part, Outer):
        return Outer(*(side.unflatten(0, (-1, records)).flatten(1, 2) for side in (part.left, part.right)))
    return part.float().unflatten(0, (-1, records)).sum(1)


def _lasting(output: Tensor) -> Tensor:
    """The tensor whose place in the graph an in-place change of `output` leaves as it is: what it is a mere
    reshaping of (a Linear's output in three dimensions), or itself. A changed view gets a new place."""
    base = output._base
    plain = base is not None and base.numel() == output.numel() and base.is_contiguous()
    return base if plain and output.is_contiguous() and base.requires_grad else output


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
