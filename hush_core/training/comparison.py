"""Before the first release: is the clipped sum of the model at hand what single examples make of it?

The book-keeping of `layer_calls.py` rests on what a model's code does with its layers: that the first dimension is
the example, that none looks at another, that each parameter is used through its layer. Much of what breaks
that is refused by name where it can be seen; this finds the rest. On a few random examples each one's part in
the clipped sum of their batch is compared, parameter by parameter, with the gradient that plain autograd gives
when it is run alone and without padding. The tokens are random: no data is read, and nothing is released.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn

from hush_core.errors import InputError
from hush_core.training.clipping import Losses, clipped_gradient_sum
from hush_core.training.data import IGNORED, MicroBatch
from hush_core.training.language_model import evaluating
from hush_core.training.noise import grid_step

TOLERANCE, FLOOR = 1e-3, 1e-2
"""A parameter's clipped gradient may differ by TOLERANCE of its own norm, or of FLOOR of the whole gradient's where
its share is smaller. A smaller share may be nothing but rounding (a bias of attention's keys). Over all
architectures that are right (lab/benchmarks/architectures.py) float32 rounds to at most 4e-5, GPT-2 small to
2e-5."""
TOLERANCE_HALF, FLOOR_HALF = 0.5, 0.1
"""Where any layer runs in bf16 or fp16. A use that is left out still shows as a difference of 1."""
_HALF = (torch.bfloat16, torch.float16)
FINER = 2.0**-6
"""Of the grid: a release may be rounded by 2^-11 of the clip norm (`sums.py`), which in a large matrix with a small
share of the gradient is more than TOLERANCE. What is compared here is the code, so it is rounded less."""


def check_clipping(network: nn.Module, batches: Sequence[MicroBatch], *, losses: Losses) -> None:
    """Refuse a model whose clipped sum differs from what its examples make of it one by one.

    The first batch decides; where it differs, the model passes only if all the others agree. A rounding that
    sends a token to another expert disappears with other tokens, wrong code does not.

    Args:
        network: as it will be trained; in evaluation mode meanwhile. Trainable parameters that are all zero
            (half of a new adapter) are moved meanwhile: what they are multiplied with would go unseen.
        batches: of a few RANDOM or public examples each, of different length, all with something to predict.
        losses: as for `clipped_gradient_sum`.

    Raises:
        InputError: names the parameter that differs most, and by how much; or the layer or parameter that
            cannot be clipped; or says in one line in what the model's own code ended.

    Guarantee: the following holds on the first batch, or on all others. Every parameter's part in the clipped sum
    is the sum of its single-example gradients, each scaled to the clip norm, up to 1e-3 of that part or 1e-5 of the
    whole, whichever is more. The same holds of the last example's part on its own. Each norm is that of the
    example's gradient, up to 1e-3. In half precision: 0.5 and 0.05. Time: a few steps on short examples. Memory:
    three gradients of the model.
    """
    first, *others = batches
    refusal = _refusal(network, first, losses)
    if refusal and not (others and all(_refusal(network, batch, losses) is None for batch in others)):
        raise refusal


def _refusal(network: nn.Module, batch: MicroBatch, losses: Losses) -> InputError | None:
    with _as_trained(network), as_input_error():
        worst, where, half = largest_difference(network, batch, losses=losses)
    allowed = TOLERANCE_HALF if half else TOLERANCE
    if worst <= allowed:
        return None
    return InputError(
        "model",
        f"cannot be clipped: on random tokens {where} differs by {worst:.2g} from what an example on its own "
        f"gives ({allowed:g} is allowed)",
        "take another architecture: the code of this one mixes examples, or uses a parameter past its layer",
    )


def largest_difference(network: nn.Module, batch: MicroBatch, *, losses: Losses) -> tuple[float, str, bool]:
    """(largest relative difference, of what, whether anything ran in half precision). Compared are the clipped sum,
    each example's norm, and the last example's part in the sum, which is what the others leave of it.

    Raises:
        InputError: an example has no gradient, or one that is not finite.
    """
    parameters = {name: p for name, p in network.named_parameters() if p.requires_grad}
    total = {name: torch.zeros_like(p) for name, p in parameters.items()}
    count = len(batch.inputs)
    norms, clip, half, found = torch.zeros(count, dtype=torch.float64), 0.0, False, []
    for i in range(count):
        with _dtypes(network) as seen:
            want, norm = _single(network, parameters, alone(batch, i), losses)
        half |= any(dtype in _HALF for dtype in seen)
        if not (math.isfinite(norm) and norm > 0):
            raise InputError(
                "model",
                f"has a gradient of norm {norm:g} on random tokens",
                "take weights that can be trained",
            )
        clip = clip or norm / 2  # the first example is clipped, the others as it comes
        for name, gradient in want.items():
            total[name].add_(gradient.mul_(min(1.0, clip / norm)))
        norms[i] = norm
    floor = FLOOR_HALF if half else FLOOR
    grid = FINER * grid_step(clip, sum(p.numel() for p in parameters.values()))
    last = torch.nn.functional.one_hot(torch.tensor(count - 1), count).to(batch.inputs.device)
    got = clipped_gradient_sum(
        network, batch, losses=lambda m, b: losses(m, b) * last, clip_norm=clip, grid=grid
    )
    found.append(_differ(got.gradients, want, floor * min(clip, norm)))
    found.append(
        (float(got.norms[:-1].sum()) / norm / floor, "the gradient that an example gives those beside it")
    )
    del want
    into = got.gradients
    for gradient in into.values():
        gradient.zero_()
    got = clipped_gradient_sum(network, batch, losses=losses, clip_norm=clip, grid=grid, into=into)
    found.append(_differ(got.gradients, total, floor * clip))
    found.append((float((got.norms.cpu() / norms - 1).abs().max()), "the norm of an example's gradient"))
    worst, where = max(found, key=lambda one: math.inf if math.isnan(one[0]) else one[0])
    return worst, where, half


def alone(batch: MicroBatch, i: int) -> MicroBatch:
    """Example i without its padding, as a batch of one."""
    one = MicroBatch(*(part if part is None else part[i : i + 1] for part in batch))
    if one.attended is not None:
        length = int(one.attended.sum())
        return one._replace(inputs=one.inputs[:, :length], attended=one.attended[:, :length])
    length = max(1, int((one.labels != IGNORED).sum()))
    return one._replace(inputs=one.inputs[:, :length], labels=one.labels[:, :length])


def _single(
    network: nn.Module, parameters: dict[str, nn.Parameter], batch: MicroBatch, losses: Losses
) -> tuple[dict[str, Tensor], float]:
    """Gradients of a batch of one by plain autograd, and their norm in float64."""
    with torch.enable_grad():
        loss = losses(network, batch).sum()
    gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    pairs = zip(parameters.items(), gradients, strict=True)
    full = {n: torch.zeros_like(p) if g is None else g.clone() for (n, p), g in pairs}  # two may share memory
    return full, math.sqrt(sum(_norm(g) ** 2 for g in full.values()))


def _differ(got: dict[str, Tensor], want: dict[str, Tensor], floor: float) -> tuple[float, str]:
    """The largest difference of a parameter's gradient, relative to its own norm, which counts as `floor` at
    least. `want` is used up."""
    relative = {}
    for name, gradient in want.items():
        size = max(_norm(gradient), floor)
        relative[name] = _norm(gradient.sub_(got[name])) / size
    name = max(relative, key=lambda n: math.inf if math.isnan(relative[n]) else relative[n])
    return relative[name], f"the gradient of {name}"


def _norm(x: Tensor) -> float:
    return float(torch.linalg.vector_norm(x, dtype=torch.float64))


@contextmanager
def _dtypes(network: nn.Module) -> Iterator[set[torch.dtype]]:
    """The types of number that the network's layers give out meanwhile."""
    seen: set[torch.dtype] = set()

    def note(layer: nn.Module, args: tuple, output: object) -> None:
        if isinstance(output, Tensor):
            seen.add(output.dtype)

    with ExitStack() as stack:
        for layer in network.modules():
            stack.callback(layer.register_forward_hook(note).remove)
        yield seen


@contextmanager
def _as_trained(network: nn.Module) -> Iterator[None]:
    """In evaluation mode, and with no trainable parameter all zero; both are put back."""
    zero = [p for p in network.parameters() if p.requires_grad and not bool(p.any())]
    generator = torch.Generator().manual_seed(0)
    try:
        with torch.no_grad():
            for p in zero:
                p.copy_(0.05 * torch.randn(p.shape, generator=generator))
        with evaluating(network):
            yield
    finally:
        with torch.no_grad():
            for p in zero:
                p.zero_()


@contextmanager
def as_input_error(where: str = "model", doing: str = "fails on random tokens") -> Iterator[None]:
    """What the model's own code ends in, as a refusal. It saw a config and random tokens: its message holds
    nothing of the data."""
    try:
        yield
    except (InputError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        message = " ".join(str(error).split())[:200].rstrip(".!")
        raise InputError(
            where,
            f"its own code {doing}: {type(error).__name__}: {message}",
            "look at its config: a width, a number of heads or a window in it does not fit the rest",
        ) from None
