"""Per-example norms and weighted sums of gradients kept as outer products (book-keeping, ghost norms).

Sources: book-keeping (Bu et al. 2023) and ghost clipping (Li et al. 2022). Beyond them: weights with
several uses get the exact cross term, an embedding's norm is computed on the rows that it touched, of a
symmetric product only one triangle is computed, and ghost norms carry an allowance for fp32 cancellation,
so that a norm is never under-counted.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hush_core.training.layers import Outer

CANCELLATION = 1e-6
"""Relative fp32 error, against Σ‖left_t‖‖right_t‖, that is added to a norm that is computed in another order
than the sum which is released."""
GHOST_CONSTANT = 96.0
"""Below T² = 96·rows·columns/(rows+columns) the ghost norm and the sum take less time than an instance that is
written, read for its norm and read again for the sum; measured on one CPU core, fp32."""
STRIP = 32
"""Rows of the token × token products computed at once: a triangle in 4 strips takes ⅝ of the square's time."""
_CHUNK = 1 << 22
"""Floats of token × token products held at once."""


def keeps_instance(shape: torch.Size, tokens: int) -> bool:
    """Whether to hold a matrix' per-example gradient instead of its outer products of `tokens` terms: where
    it takes no more room than they do, and no more time. Not for an embedding, whose gradient is sparse."""
    rows, columns = shape
    harmonic = rows * columns / (rows + columns)
    return tokens >= harmonic and tokens**2 >= GHOST_CONSTANT * harmonic


def instance(use: Outer, shape: torch.Size) -> Tensor:
    """(B, rows, columns): the per-example gradient of one use."""
    if not use.one_hot:
        return torch.bmm(use.left.transpose(1, 2), use.right)
    examples = use.left.shape[0]
    first_row = torch.arange(examples, device=use.left.device).unsqueeze(1) * shape[0]
    rows = use.right.new_zeros(examples * shape[0], shape[1])
    _add_rows(rows, use.left + first_row, use.right)
    return rows.view(examples, *shape)


def instance_norms(gradient: Tensor) -> Tensor:
    """(B,) float64 squared norms of a (B, …) per-example gradient."""
    rows = gradient.flatten(1)
    return torch.linalg.vector_norm(rows, dim=1).to(torch.float64).square()


def squared_norms(uses: list[Outer], shape: torch.Size) -> Tensor:
    """(B,) float64: the squared norm of each example's gradient of ONE parameter, over all of its uses.

    Guarantee: not below that of the sum which `weighted_sum` makes of it in fp32: for each use a relative
    error of CANCELLATION against Σ_t ‖left_t‖‖right_t‖ is charged.
    """
    if len(uses) == 1 and uses[0].one_hot:
        return _embedding_norms(uses[0], shape[0])
    total, reach = 0.0, 0.0
    for i, one in enumerate(uses):
        squared, length = _own(one)
        total, reach = total + squared, reach + length
        for other in uses[i + 1 :]:
            total = total + 2 * _inner(one, other)
    return total.clamp_min(0) + CANCELLATION * reach.square()


def weighted_sum(uses: list[Outer], factors: Tensor, shape: torch.Size, into: Tensor | None = None) -> Tensor:
    """into (rows, columns) += Σ_b factors[b] · gradient of example b; zeros are taken where it is left out.

    No other matrix of that shape is made: fresh memory for a large vocabulary takes longer than the sum.
    """
    total = factors.new_zeros(shape) if into is None else into
    for use in uses:
        if use.one_hot:
            _add_rows(total, use.left, use.right * factors[:, None, None])
            continue
        left, right = use.left, use.right
        if left.shape[2] <= right.shape[2]:
            left = left * factors[:, None, None]
        else:
            right = right * factors[:, None, None]
        total.addmm_(left.flatten(0, 1).T, right.flatten(0, 1))
    return total


def _add_rows(total: Tensor, numbers: Tensor, rows: Tensor) -> None:
    """total[numbers[b, t]] += rows[b, t]."""
    total.index_add_(0, numbers.flatten(), rows.flatten(0, 1).to(total.dtype))


def _embedding_norms(use: Outer, rows: int) -> Tensor:
    if bool((use.left[:, 1:] > use.left[:, :-1]).all()):  # positions: every row is touched once
        return instance_norms(use.right)
    examples = use.left.shape[0]
    first_row = torch.arange(examples, device=use.left.device).unsqueeze(1) * rows
    touched, slot = torch.unique(use.left + first_row, return_inverse=True)
    sums = use.right.new_zeros(len(touched), use.right.shape[2])
    _add_rows(sums, slot, use.right)
    squared = torch.zeros(examples, dtype=torch.float64, device=sums.device)
    squared.index_add_(0, touched // rows, instance_norms(sums))
    reach = use.right.norm(dim=2).sum(1, dtype=torch.float64)
    return squared + CANCELLATION * reach.square()


def _own(use: Outer) -> tuple[Tensor, Tensor]:
    """(B,) float64 each: Σ_{t,s} (l_t·l_s)(r_t·r_s), and Σ_t ‖l_t‖‖r_t‖ from the diagonals.

    In strips of rows, each up to its end on the diagonal: what lies left of the strip's square counts twice.
    """
    examples, tokens = use.right.shape[:2]
    strip = max(1, min(max(STRIP, tokens // 4), _CHUNK // (examples * tokens)))
    total = reach = torch.zeros(examples, dtype=torch.float64, device=use.right.device)
    for start in range(0, tokens, strip):
        rows, ahead = slice(start, start + strip), slice(0, start + strip)
        left, right = _products(use, use, rows, ahead)
        squares = left[:, :, start:], right[:, :, start:]
        diagonals = (part.diagonal(dim1=1, dim2=2) for part in squares)
        lengths = [x.clamp_min(0).to(torch.float64).sqrt() for x in diagonals]
        reach = reach + (lengths[0] * lengths[1]).sum(1)
        product = left.mul_(right)
        total = total + product.sum((1, 2), dtype=torch.float64)
        if start:
            total = total + product[:, :, :start].sum((1, 2), dtype=torch.float64)
    return total, reach


def _inner(one: Outer, other: Outer) -> Tensor:
    """(B,) float64: ⟨gradient by one use, gradient by another⟩ = Σ_{t,s} (l_t·l'_s)(r_t·r'_s)."""
    examples, tokens = one.right.shape[:2]
    strip = max(1, _CHUNK // (examples * other.tokens))
    total = torch.zeros(examples, dtype=torch.float64, device=one.right.device)
    for start in range(0, tokens, strip):
        left, right = _products(one, other, slice(start, start + strip), slice(None))
        total = total + left.mul_(right).sum((1, 2), dtype=torch.float64)
    return total


def _products(one: Outer, other: Outer, rows: slice, columns: slice) -> tuple[Tensor, Tensor]:
    """(B, rows, columns) each: l_t·l'_s and r_t·r'_s."""
    right = torch.bmm(one.right[:, rows], other.right[:, columns].transpose(1, 2))
    here, there = one.left[:, rows], other.left[:, columns]
    if one.one_hot and other.one_hot:
        left = (here.unsqueeze(2) == there.unsqueeze(1)).to(right.dtype)
    elif one.one_hot:
        left = _pick(there, here).transpose(1, 2)
    elif other.one_hot:
        left = _pick(here, there)
    else:
        left = torch.bmm(here, there.transpose(1, 2))
    return left, right


def _pick(floats: Tensor, numbers: Tensor) -> Tensor:
    """(B, T, S): floats[b, t, numbers[b, s]]."""
    return floats.gather(2, numbers.unsqueeze(1).expand(-1, floats.shape[1], -1))
