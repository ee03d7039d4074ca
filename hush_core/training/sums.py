"""Exact sums of per-example gradients: each is rounded to integers once, and integers add up without an error.

What one example adds is a function of that example alone, whatever is added before, beside or after it, in any
order, in one process or in many. A total is float64 and holds integer multiples of the grid, a power of two:
below 2^53 of them float64 adds exactly (docs/training.md, "Rounding").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from hush_core.errors import InputError
from hush_core.training.layers import Outer
from hush_core.training.norms import Size, add_rows

Make = Callable[[int, int, Tensor], None]

LARGEST = 2.0**52
"""Grid steps that a total may hold: half of what float64 counts without a gap."""
COARSE = 512.0
"""Grid steps to which products and large gradients are rounded: so coarse that fp32 holds the integers of several
examples, and so fine that it costs 2^-12 of the clip norm."""
_WHOLE = 2.0**24
"""Up to here every sum of integers is exact in fp32, in any order."""
_TILE = {"cpu": (1 << 18, 768)}
"""Numbers, and how many of them in a row, that are multiplied out, rounded and added while they are in the cache:
measured on one core, shapes 768 × 768, 768 × 3072 and 30522 × 128."""
_TILE_ELSEWHERE = (1 << 26, 1 << 26)
_SMALL = 1 << 14
"""Of fewer numbers than this several examples are multiplied out by one call."""
_HUGE = 2.0**100
"""Lengths beyond this could overflow in fp32: such an example is left out."""


def rounding_charge(uses: Iterable[Outer], shape: torch.Size, kept: bool) -> float:
    """By how many grid steps, in l2, the rounding to the grid moves one example's part of one parameter, at most:
    half a step a number for each time that a number is rounded; but for embeddings the step is a COARSE one."""
    if kept:
        return 0.5 * COARSE * shape.numel() ** 0.5
    steps = 0.0
    for use in uses:
        if use.one_hot:  # a row that every token of an example touches is rounded as often
            steps += 0.501 * use.tokens * shape[1] ** 0.5
        else:
            steps += 0.501 * COARSE * shape.numel() ** 0.5
    return steps


def scales(sizes: list[Size], bound: float, grid: float) -> Tensor:
    """(B,) fp32: by what each example is multiplied before it is rounded to integers.

    At most bound/norm, at most 1, both ÷ grid, and rounded down; less for an example whose terms cancel so far
    that they would leave the range of exact integers; 0 for one that is not finite.
    """
    norms = torch.stack([size.norm for size in sizes]).square().sum(0).sqrt() * (1 + 2.0**-40)
    reach, peak = (torch.stack([getattr(s, name) for s in sizes]).sum(0) for name in ("reach", "peak"))
    exact = (bound / norms).clamp(max=1) / grid
    exact = torch.minimum(exact, 0.25 * LARGEST / reach)
    fits = norms.isfinite() & (peak.clamp(min=1) * exact.clamp(min=1) < _HUGE)
    rounded = exact.to(torch.float32)
    lower = torch.nextafter(rounded, torch.zeros_like(rounded))
    return torch.where(fits, torch.where(rounded.to(torch.float64) > exact, lower, rounded), 0)


def add_instances(total: Tensor, gradient: Tensor, scale: Tensor, grid: float, most: Tensor) -> None:
    """total (…) += Σ_b round(scale_b · gradient_b / COARSE) · COARSE · grid, for a (B, …) fp32 gradient.

    most: (B,), no number of gradient_b is above most_b.
    """
    flat, rows = total.view(-1), gradient.flatten(1)
    scale = scale / COARSE
    peaks = _peaks(most, scale)
    width = _tile(total)[0]
    for start in range(0, rows.shape[1], width):
        part = rows[:, start : start + width]

        def scaled(first: int, last: int, out: Tensor, part: Tensor = part) -> None:
            torch.mul(part[first:last], scale[first:last, None], out=out)

        _add_rounded(flat[start : start + width], scaled, peaks, COARSE * grid)


def add_products(total: Tensor, use: Outer, scale: Tensor, grid: float, most: Tensor) -> None:
    """total (rows, columns) += Σ_b round(scale_b · Σ_t left[b,t] ⊗ right[b,t] / COARSE) · COARSE · grid; an
    embedding's rows are rounded token by token, to the grid itself.

    Tile by tile, each example by itself: its product never meets another's before it is rounded. most: (B,), no
    number of an example's product is above most_b.
    """
    left, right = use.left, use.right
    if use.one_hot:
        rows_ = right.to(torch.float32, copy=True).mul_(scale[:, None, None])
        add_rows(total, left, rows_.round_().to(torch.float64).mul_(grid))
        return
    # In bf16 the power of two in the scale is all that goes into the factors: there it is exact.
    after, before = torch.frexp(scale / COARSE)
    if not use.half:
        before, after = scale / COARSE, None
    else:
        before = torch.ldexp(torch.ones_like(after), before).to(left.dtype)
    if left.shape[2] <= right.shape[2]:
        left = left * before[:, None, None]
    else:
        right = right * before[:, None, None]
    peaks = _peaks(most, scale / COARSE)
    (rows, columns), (most, wide) = total.shape, _tile(total)
    width = min(columns, wide)
    height = max(1, min(rows, most // width))
    room = left.new_empty(height * width) if use.half else None
    for top in range(0, rows, height):
        for begin in range(0, columns, width):
            down, across = slice(top, top + height), slice(begin, begin + width)
            a, b = left[:, :, down].transpose(1, 2), right[:, :, across]

            def product(first: int, last: int, out: Tensor, a: Tensor = a, b: Tensor = b) -> None:
                if after is not None:
                    half = room[: out[0].numel()].view(out.shape[1:])
                    for i in range(first, last):
                        torch.mm(a[i], b[i], out=half)
                        out[i - first].copy_(half).mul_(after[i])
                else:  # bmm for one example too: mm may round it otherwise
                    torch.bmm(a[first:last], b[first:last], out=out)

            _add_rounded(total[down, across], product, peaks, COARSE * grid)


def _peaks(most: Tensor, scale: Tensor) -> list[float]:
    """What no scaled number of each example is above, its rounding included."""
    return (most.to(torch.float64) * scale * (1 + 2.0**-20) + 1).tolist()


def _add_rounded(total: Tensor, make: Make, peaks: list[float], unit: float) -> None:
    """total += Σ_b round(x_b) · unit, where make(first, last, out) writes x_first … into fp32 `out`, and no number
    of x_b is above peaks_b: fp32 adds up the integers of as many examples as it can hold exactly."""
    examples, numbers = len(peaks), total.numel()
    together = max(1, min(examples, _SMALL // numbers))
    fresh = torch.empty((together, *total.shape), dtype=torch.float32, device=total.device)
    held, sum_ = math.inf, None
    for first in range(0, examples, together):
        last = min(first + together, examples)
        part = fresh[: last - first]
        make(first, last, part)
        part.round_()
        height = sum(peaks[first:last])
        if last - first > 1:
            whole = height <= _WHOLE
            part = part.sum(0, dtype=torch.float32 if whole else torch.float64)
        else:
            part = part[0]
        if part.dtype == torch.float64:
            _add(total, part, unit)
        elif held + height <= _WHOLE:
            sum_.add_(part)
            held += height
        else:
            if sum_ is not None:
                _add(total, sum_, unit)
            if together == 1:
                spare = torch.empty_like(fresh) if sum_ is None else sum_.unsqueeze(0)
                fresh, sum_ = spare, part
            else:
                sum_ = part
            held = height
    if sum_ is not None:
        _add(total, sum_, unit)


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


def _add(total: Tensor, whole: Tensor, unit: float) -> None:
    """total += whole · unit: integers times a power of two."""
    total.add_(whole, alpha=unit)


def _tile(total: Tensor) -> tuple[int, int]:
    return _TILE.get(total.device.type, _TILE_ELSEWHERE)
