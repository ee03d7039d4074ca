"""Upper bounds on per-example gradient norms, from outer products or from the gradients themselves.

Sources: book-keeping (Bu et al. 2023) and ghost norms (Li et al. 2022). Beyond them: weights with several uses
get the exact cross term, an embedding's norm is computed on the rows that it touched, of a symmetric product only
one triangle is computed. Every norm is an upper bound that holds whatever fp32 has rounded, by the analysis in
docs/training.md ("Rounding"): fp32 adds up at most BLOCK products at a time, float64 adds up the blocks.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional

from hush_core.training.layers import Outer

UNIT = 2.0**-24
"""The unit round-off of fp32: one operation errs by at most this, relatively."""
HALF_UNIT = 2.0**-8
"""The unit round-off of bf16."""
TINY = 2.0**-125
"""More than twice what one fp32 product may lose to underflow, flushed to zero or not."""
BLOCK = 256
"""Products that fp32 adds up before float64 takes over."""
_SQUARES = 64
"""Squares that fp32 adds up before float64 takes over: as fast as one fp32 norm, near enough."""
GHOST_CONSTANT = 96.0
"""Below T² = 96·rows·columns/(rows+columns) the ghost norm and the sum take less time than an instance that is
written, read for its norm and read again for the sum; measured on one CPU core, fp32."""
LARGE = 1 << 16
"""Numbers from which on a matrix is rounded to a coarser grid, added up in fp32, and multiplied in bf16 where its
factors are bf16."""
STRIP = 64
"""Rows of the token × token products computed at once: a triangle in 4 strips takes ⅝ of the square's time."""
_LINE = 16
"""fp32 numbers in 64 bytes."""
_CHUNK = 1 << 22
"""Numbers of token × token products held at once."""


@dataclass(frozen=True)
class Size:
    """How large each example's gradient of one parameter is: (B,) float64 each.

    norm: an upper bound on the l2 norm of what fp32 makes of it. reach: of Σ_t ‖left_t‖‖right_t‖ over what is
    still to be multiplied. peak: of the Σ_t ‖left_t‖ and Σ_t ‖right_t‖ of those.
    """

    norm: Tensor
    reach: Tensor
    peak: Tensor


def gamma(terms: int) -> float:
    """γ_n = n·u/(1 − n·u): an fp32 sum of n products errs by at most γ_n·Σ|terms|, in any order, with fused
    multiply-adds or without (Higham 2002, §3.1); infinite from n = 2^23 on."""
    share = terms * UNIT
    return share / (1 - share) if share < 0.5 else float("inf")


def keeps_instance(shape: torch.Size, tokens: int) -> bool:
    """Whether to hold a matrix' per-example gradient instead of its outer products of `tokens` terms: where
    it takes no more room than they do, and no more time. Not for an embedding, whose gradient is sparse."""
    rows, columns = shape
    harmonic = rows * columns / (rows + columns)
    return tokens >= harmonic and tokens**2 >= GHOST_CONSTANT * harmonic


def multiplies_in_half(use: Outer, shape: torch.Size) -> bool:
    """Whether the sum of a large matrix multiplies bf16 factors as such: on a CPU whose kernels do, adding up in
    fp32 and rounding once (oneDNN's strict accumulation, its default). A GPU may add up in bf16: fp32 there."""
    return (
        not use.one_hot
        and use.left.dtype == use.right.dtype == torch.bfloat16
        and use.left.device.type == "cpu"
        and is_large(shape)
        and _adds_in_fp32()
    )


@lru_cache(maxsize=1)
def _adds_in_fp32() -> bool:
    """Tried: 1 and 4,095 times 2^-9 are almost 9, of which a sum in bf16 keeps the 1 alone."""
    if not torch.backends.mkldnn.is_available() or not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return False
    column = torch.full((1, 4096, 64), 2.0**-9, dtype=torch.bfloat16)
    column[:, 0] = 1.0
    found = torch.bmm(column.transpose(1, 2), torch.ones_like(column)).float()
    return bool((found - (1 + 4095 * 2.0**-9)).abs().max() <= 9 * HALF_UNIT)


def is_large(shape: torch.Size) -> bool:
    """Whether a parameter is a matrix that `sums.add_products` rounds to the coarser grid."""
    return len(shape) == 2 and shape.numel() >= LARGE


def instance(use: Outer, shape: torch.Size) -> Tensor:
    """(B, rows, columns): the per-example gradient of one use."""
    if not use.one_hot:
        return torch.bmm(use.left.transpose(1, 2), use.right)
    examples = use.left.shape[0]
    rows = use.right.new_zeros(examples * shape[0], shape[1])
    add_rows(rows, use.left + _first_row(use.left, shape[0]), use.right)
    return rows.view(examples, *shape)


def instance_size(gradient: Tensor) -> Size:
    """Of a (B, …) fp32 per-example gradient. The bound is on these very numbers, however they came about."""
    none = gradient.new_zeros(len(gradient), dtype=torch.float64)
    return Size(_squares(gradient.flatten(1)).sqrt(), none, none)


def size_of(uses: list[Outer], shape: torch.Size) -> Size:
    """Of the gradient of ONE parameter, over all of its uses, as `sums.add_products` makes it."""
    if len(uses) == 1 and uses[0].one_hot:
        return _embedding_size(uses[0], shape[0])
    tokens, width = max(use.tokens for use in uses), sum(shape)
    in_float64 = (len(uses) ** 2 * tokens**2 + width) * 2.0**-52
    one_side, other_side = (gamma(min(BLOCK, wide) + 1) for wide in shape)
    share = one_side + other_side + one_side * other_side + in_float64

    def bound(squared: Tensor, reach: Tensor, lefts: Tensor, rights: Tensor) -> Tensor:
        squared = squared.clamp_min(0) + share * reach.square()
        return (squared + TINY * width * (lefts.square() + rights.square())).sqrt() + gamma(
            tokens + 2
        ) * reach

    total, reach, lefts, rights, halved = 0.0, 0.0, 0.0, 0.0, 0.0
    for i, one in enumerate(uses):
        squared, left, right = _own(one)
        own = (squared, (left * right).sum(1), left.sum(1), right.sum(1))
        if one.left.dtype == torch.bfloat16:  # what is released is rounded to it
            halved = halved + HALF_UNIT * bound(*own) + TINY * shape.numel() ** 0.5
        total, reach, lefts, rights = (a + b for a, b in zip((total, reach, lefts, rights), own, strict=True))
        for other in uses[i + 1 :]:
            total = total + 2 * _inner(one, other)
    norm = bound(total, reach, lefts, rights) + halved
    return Size(norm, reach, torch.maximum(lefts, rights))


def add_rows(total: Tensor, numbers: Tensor, rows: Tensor) -> None:
    """total[numbers[b, t]] += rows[b, t]."""
    total.index_add_(0, numbers.flatten(), rows.flatten(0, 1).to(total.dtype))


def _first_row(numbers: Tensor, rows: int) -> Tensor:
    return torch.arange(len(numbers), device=numbers.device).unsqueeze(1) * rows


def _squares(rows: Tensor) -> Tensor:
    """(…) float64: at least Σ_k x_k² over the last dimension of an fp32 tensor."""
    count = rows.shape[-1] // _SQUARES * _SQUARES
    blocks = rows[..., :count].unflatten(-1, (-1, _SQUARES)).norm(dim=-1)
    total = blocks.to(torch.float64).square().sum(-1)
    total = total + rows[..., count:].norm(dim=-1).to(torch.float64).square()
    # fp32: _SQUARES products and sums, all of one sign, and a root; float64: the rest
    slack = gamma(_SQUARES + 8) + rows.shape[-1] * 2.0**-52
    return total * (1 + slack) + rows.shape[-1] * TINY


def _embedding_size(use: Outer, rows: int) -> Size:
    """Rows are added up in float64; the one rounding of each is what `reach` is charged for."""
    lengths = _squares(use.right).sqrt()
    reach = lengths.sum(1)
    if bool((use.left[:, 1:] > use.left[:, :-1]).all()):  # positions: every row is touched once
        squared = lengths.square().sum(1)
    else:
        touched, slot = torch.unique(use.left + _first_row(use.left, rows), return_inverse=True)
        sums = use.right.new_zeros(len(touched), use.right.shape[2], dtype=torch.float64)
        add_rows(sums, slot, use.right)
        squared = sums.new_zeros(len(use.left))
        squared.index_add_(0, touched // rows, sums.square().sum(1))
    in_float64 = (use.tokens + use.right.shape[2]) * 2.0**-51
    return Size(squared.sqrt() + (2 * UNIT + in_float64) * reach, reach, reach)


def _own(use: Outer) -> tuple[Tensor, Tensor, Tensor]:
    """Σ_{t,s} (l_t·l_s)(r_t·r_s), (B,), and upper bounds on ‖l_t‖ and ‖r_t‖, (B, T): float64, the bounds from
    the diagonals.

    In strips of rows, each up to its end on the diagonal: what lies left of the strip's square counts twice.
    """
    examples, tokens = use.right.shape[:2]
    strip = max(1, min(max(STRIP, tokens // 4), _CHUNK // (examples * tokens)))
    total = torch.zeros(examples, dtype=torch.float64, device=use.right.device)
    lengths: list[tuple[Tensor, ...]] = []
    for start in range(0, tokens, strip):
        rows, ahead = slice(start, start + strip), slice(0, start + strip)
        left, right = _products(use, use, rows, ahead)
        lengths.append(
            tuple(_length(part[:, :, start:].diagonal(dim1=1, dim2=2), width)
            for part, width in ((left, use.left.shape[-1]), (right, use.right.shape[2])))
        )  # fmt: skip
        product = left.mul_(right)
        total = total + product.sum((1, 2))
        if start:
            total = total + product[:, :, :start].sum((1, 2))
    lefts, rights = zip(*lengths, strict=True)
    return total, torch.cat(lefts, 1), torch.cat(rights, 1)


def _length(squared: Tensor, width: int) -> Tensor:
    """An upper bound on a vector's norm, from its product with itself."""
    return (squared.clamp_min(0) * (1 + 2 * gamma(BLOCK + 1)) + width * TINY).sqrt()


def _inner(one: Outer, other: Outer) -> Tensor:
    """(B,) float64: ⟨gradient by one use, gradient by another⟩ = Σ_{t,s} (l_t·l'_s)(r_t·r'_s)."""
    examples, tokens = one.right.shape[:2]
    strip = max(1, _CHUNK // (examples * other.tokens))
    total = torch.zeros(examples, dtype=torch.float64, device=one.right.device)
    for start in range(0, tokens, strip):
        left, right = _products(one, other, slice(start, start + strip), slice(None))
        total = total + left.mul_(right).sum((1, 2))
    return total


def _products(one: Outer, other: Outer, rows: slice, columns: slice) -> tuple[Tensor, Tensor]:
    """(B, rows, columns) float64 each: l_t·l'_s and r_t·r'_s."""
    right = _gram(one.right[:, rows], other.right[:, columns])
    here, there = one.left[:, rows], other.left[:, columns]
    if one.one_hot and other.one_hot:
        left = (here.unsqueeze(2) == there.unsqueeze(1)).to(right.dtype)
    elif one.one_hot:
        left = _pick(there, here).transpose(1, 2).to(right.dtype)
    elif other.one_hot:
        left = _pick(here, there).to(right.dtype)
    else:
        left = _gram(here, there)
    return left, right


def _gram(one: Tensor, other: Tensor) -> Tensor:
    """(B, T, S) float64: the products of (B, T, k) and (B, S, k), by blocks of k."""
    total = None
    for a, b in zip(one.split(BLOCK, 2), other.split(BLOCK, 2), strict=True):
        product = torch.bmm(_whole_lines(a), _whole_lines(b).transpose(1, 2))
        total = product.to(torch.float64) if total is None else total.add_(product)
    return total


def _whole_lines(block: Tensor) -> Tensor:
    """(B, T, k) in fp32, each example's numbers at the same place in a line of memory, by zeros behind them.

    Kernels round otherwise where memory begins otherwise: an example's norm would depend on its row.
    """
    block = block.float()
    return block if block.stride(0) % _LINE == 0 else functional.pad(block, (0, -block.shape[2] % _LINE))


def _pick(floats: Tensor, numbers: Tensor) -> Tensor:
    """(B, T, S): floats[b, t, numbers[b, s]]."""
    return floats.gather(2, numbers.unsqueeze(1).expand(-1, floats.shape[1], -1))
