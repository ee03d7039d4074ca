"""Exact sums of per-example gradients: each is rounded to integers once, and integers add up without an error.

What one example adds is a function of that example alone, whatever is added before, beside or after it, in any
order, in one process or in many. A total is float64 and holds integer multiples of the grid, a power of two:
below 2^53 of them float64 adds exactly (docs/training.md, "Rounding").
"""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from hush_core.errors import InputError
from hush_core.training.layers import Outer
from hush_core.training.norms import TINY, Size, add_rows, is_large

LARGEST = 2.0**52
"""Grid steps that a total may hold: half of what float64 counts without a gap."""
_TILE = {"cpu": (1 << 18, 768)}
"""Numbers, and how many of them in a row, that are multiplied out, rounded and added while they are in the cache:
measured on one core, shapes 768 × 768, 768 × 3072 and 30522 × 128."""
_TILE_ELSEWHERE = (1 << 26, 1 << 26)
COARSE = 2.0**10
"""How much coarser: rounding costs at most 2^-11 of the clip norm, and fp32 adds what stays below 2^24 exactly."""
_COUNTS = 2.0**24
"""Whole numbers up to here are added without an error in fp32."""
_HUGE = 2.0**100
"""Lengths beyond this could overflow in fp32: such an example is left out."""


def rounding_charge(uses: Iterable[Outer], shape: torch.Size, kept: bool) -> float:
    """By how many grid steps, in l2, the rounding to the grid moves one example's part of one parameter, at most:
    half a step a number for each time that a number is rounded."""
    if kept:
        return 0.5 * shape.numel() ** 0.5
    steps = 0.0
    for use in uses:
        numbers = use.tokens**2 * shape[1] if use.one_hot else shape.numel()
        # one_hot: a row that every token of an example touches is rounded as often
        steps += 0.501 * numbers**0.5 * (COARSE if is_large(shape) and not use.one_hot else 1)
    return steps


def scales(sizes: list[Size], bound: float, grid: float) -> Tensor:
    """(B,) fp32: by what each example is multiplied before it is rounded to integers.

    At most bound/norm, at most 1, both ÷ grid, and rounded down. It is less for an example whose terms cancel so
    far that they would leave the range of exact integers, and 0 for one that is not finite.
    """
    norms = torch.stack([size.norm for size in sizes]).square().sum(0).sqrt() * (1 + 2.0**-40)
    reach, peak = (torch.stack([getattr(s, name) for s in sizes]).sum(0) for name in ("reach", "peak"))
    exact = (bound / norms).clamp(max=1) / grid
    exact = torch.minimum(exact, 0.25 * LARGEST / reach)
    fits = norms.isfinite() & (reach < _HUGE) & (peak.clamp(min=1) * exact.clamp(min=1) < _HUGE)
    rounded = exact.to(torch.float32)
    lower = torch.nextafter(rounded, torch.zeros_like(rounded))
    return torch.where(fits, torch.where(rounded.to(torch.float64) > exact, lower, rounded), 0)


def add_instances(total: Tensor, gradient: Tensor, scale: Tensor, grid: float) -> None:
    """total (…) += Σ_b round(scale_b · gradient_b) · grid, for a (B, …) fp32 gradient."""
    flat, rows = total.view(-1), gradient.flatten(1)
    width = _tile(total)[0]
    if rows.shape[1] * len(rows) <= width:
        _add(flat, rows * scale[:, None], grid)
        return
    for start in range(0, rows.shape[1], width):
        here = slice(start, start + width)
        for row, factor in zip(rows, scale, strict=True):
            _add(flat[here], (row[here] * factor).unsqueeze(0), grid)


def add_products(total: Tensor, use: Outer, scale: Tensor, grid: float) -> None:
    """total (rows, columns) += Σ_b round(scale_b · Σ_t left[b,t] ⊗ right[b,t]) · grid, for a large matrix to the
    coarser grid.

    Tile by tile, each example by itself: its product never meets another's before it is rounded.
    """
    left, right = use.left, use.right
    if use.one_hot:
        add_rows(total, left, (right * scale[:, None, None]).round_().to(torch.float64).mul_(grid))
        return
    large = is_large(total.shape)
    if large:
        scale, grid = scale / COARSE, grid * COARSE  # powers of two: exactly
    if large and total.device.type == "cpu":
        _add_exactly_in_fp32(total, left, right, scale, grid)
        return
    if left.shape[2] <= right.shape[2]:
        left = left * scale[:, None, None]
    else:
        right = right * scale[:, None, None]
    height, width = _tile_of(total)
    together = max(1, _tile(total)[0] // (height * width))
    for here, down, across in _tiles(total):
        parts = left[:, :, down].split(together), right[:, :, across].split(together)
        for a, b in zip(*parts, strict=True):
            _add(here, torch.bmm(a.transpose(1, 2), b), grid)


def _add_exactly_in_fp32(total: Tensor, left: Tensor, right: Tensor, scale: Tensor, grid: float) -> None:
    """The same for a large matrix: whole numbers are first added in fp32, as long as they stay in the range in
    which that makes no error. Factors in bf16 are multiplied as such, and the product is scaled."""
    half = left.dtype == torch.bfloat16
    runs = _exact_runs((scale * _highest(left) * _highest(right)).tolist())
    if not half and left.shape[2] <= right.shape[2]:
        left = left * scale[:, None, None]
    elif not half:
        right = right * scale[:, None, None]
    height, width = _tile_of(total)
    kinds, factors = (torch.float32, torch.float32, left.dtype), scale.tolist()
    buffers = [torch.empty(height * width, dtype=kind) for kind in kinds]
    for here, down, across in _tiles(total):
        a, b = left[:, :, down].transpose(1, 2), right[:, :, across]
        counted, product, halved = (buffer[: here.numel()].view(here.shape) for buffer in buffers)
        for run in runs:
            for i in run:
                rounded = counted if i == run.start else product
                if half:
                    torch.mm(a[i], b[i], out=halved)
                    rounded.copy_(halved).mul_(factors[i])
                else:
                    torch.mm(a[i], b[i], out=rounded)
                rounded.round_()
                if rounded is product:
                    counted.add_(product)
            here.add_(counted, alpha=grid)


def _tile_of(total: Tensor) -> tuple[int, int]:
    (rows, columns), (most, wide) = total.shape, _tile(total)
    width = min(columns, wide)
    return max(1, min(rows, most // width)), width


def _tiles(total: Tensor) -> Iterator[tuple[Tensor, slice, slice]]:
    height, width = _tile_of(total)
    for top in range(0, total.shape[0], height):
        for first in range(0, total.shape[1], width):
            down, across = slice(top, top + height), slice(first, first + width)
            yield total[down, across], down, across


def _highest(factor: Tensor) -> Tensor:
    """(B,) the greatest norm of a column (over the tokens), within 2 %, squares that underflow included: by
    Cauchy-Schwarz no number of a product of two factors is above the product of theirs."""
    ones = factor.new_ones(1, factor.shape[1])
    squared = torch.stack([torch.mm(ones, one.square()).amax() for one in factor]).float()
    return (squared + factor.shape[1] * TINY).sqrt()


def _exact_runs(peaks: list[float]) -> list[range]:
    """Neighbouring examples whose numbers, at most `peaks`, stay in the range that fp32 adds without an error;
    an example that leaves it alone is alone. What is added is the same to the bit however it is divided."""
    runs, start, reached = [], 0, 0.0
    for i, peak in enumerate(peaks):
        peak = 1.25 * peak + 1  # the norms' and the product's own rounding, and that to a whole number
        if i > start and not reached + peak < _COUNTS:
            runs.append(range(start, i))
            start, reached = i, 0.0
        reached += peak
    return [*runs, range(start, len(peaks))]


def check_range(examples: int, clip_norm: float, grid: float) -> None:
    """Refuse a batch whose sum could leave the range in which float64 counts without a gap.

    Raises:
        InputError: it could.
    """
    if not examples * (clip_norm / grid) <= LARGEST:
        raise InputError(
            "the batch",
            f"of {examples} examples could overflow the exact sum of this many parameters",
            "plan a smaller batch, or train adapters (model.lora)",
        )


def _add(total: Tensor, scaled: Tensor, grid: float) -> None:
    """total += Σ_b round(scaled_b) · grid; `scaled` (B, …) is fp32 and is used up."""
    scaled.round_()
    total.add_(scaled[0] if len(scaled) == 1 else scaled.sum(0, dtype=torch.float64), alpha=grid)


def _tile(total: Tensor) -> tuple[int, int]:
    return _TILE.get(total.device.type, _TILE_ELSEWHERE)
