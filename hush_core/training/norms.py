"""Per-example norms and weighted sums of gradients kept as outer products (book-keeping, ghost norms).

Sources: book-keeping (Bu et al. 2023) and ghost clipping (Li et al. 2022). Beyond them: weights with
several uses get the exact cross term, an embedding's norm is computed on the rows that it touched, and
ghost norms carry an allowance for fp32 cancellation, so that a norm is never under-counted.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hush_core.training.layers import Outer

GHOST_CONSTANT = 96.0
"""Ghost is faster below T² = 96·rows·columns/(rows+columns); measured on one CPU core, fp32."""
CANCELLATION = 1e-6
"""Relative fp32 error, against Σ‖left_t‖‖right_t‖, that is added to a norm that is computed in another order
than the sum which is released."""
_CHUNK = 1 << 24
"""Floats of per-example gradient held at once where they are not kept."""


def keeps_instance(shape: torch.Size, tokens: int) -> bool:
    """Whether a per-example gradient takes no more room than the activations that it replaces."""
    rows, columns = shape
    return rows * columns <= tokens * (rows + columns)


def instance(use: Outer, shape: torch.Size) -> Tensor:
    """(B, rows, columns): the per-example gradient of one use."""
    if not use.one_hot:
        return torch.bmm(use.left.transpose(1, 2), use.right)
    examples = use.left.shape[0]
    first_row = torch.arange(examples, device=use.left.device).unsqueeze(1) * shape[0]
    return _scatter(use.right, use.left + first_row, examples * shape[0]).view(examples, *shape)


def squared_norms(uses: list[Outer], shape: torch.Size) -> Tensor:
    """(B,) float64: the squared norm of each example's gradient of ONE parameter, over all of its uses."""
    if len(uses) == 1 and uses[0].one_hot:
        return _embedding_norms(uses[0], shape[0])
    rows, columns = shape
    tokens = max(use.tokens for use in uses)
    if tokens**2 < GHOST_CONSTANT * rows * columns / (rows + columns):
        squared = _ghost_norms(uses)
    else:
        squared = _instance_norms(uses, shape)
    reach = sum((use.right.norm(dim=2) * _left_norm(use)).sum(1, dtype=torch.float64) for use in uses)
    return squared.clamp_min(0) + CANCELLATION * reach.square()


def weighted_sum(uses: list[Outer], factors: Tensor, shape: torch.Size) -> Tensor:
    """(rows, columns): Σ_b factors[b] · gradient of example b."""
    total = None
    for use in uses:
        if use.one_hot:
            part = _scatter(use.right * factors[:, None, None], use.left, shape[0])
        else:
            left, right = use.left, use.right
            if left.shape[2] <= right.shape[2]:
                left = left * factors[:, None, None]
            else:
                right = right * factors[:, None, None]
            part = left.flatten(0, 1).T @ right.flatten(0, 1)
        total = part if total is None else total.add_(part)
    return total


def _scatter(rows: Tensor, numbers: Tensor, count: int) -> Tensor:
    # Many times faster than index_add_ on CPU, and deterministic on every device.
    return torch.ops.aten.embedding_dense_backward(rows.contiguous(), numbers, count, -1, False)


def _left_norm(use: Outer) -> Tensor | float:
    return 1.0 if use.one_hot else use.left.norm(dim=2)


def _embedding_norms(use: Outer, rows: int) -> Tensor:
    examples = use.left.shape[0]
    if bool((use.left[:, 1:] > use.left[:, :-1]).all()):  # positions: every row is touched once
        return use.right.square().sum((1, 2), dtype=torch.float64)
    first_row = torch.arange(examples, device=use.left.device).unsqueeze(1) * rows
    touched, slot = torch.unique(use.left + first_row, return_inverse=True)
    sums = _scatter(use.right, slot, len(touched))
    squared = torch.zeros(examples, dtype=torch.float64, device=sums.device)
    return squared.index_add_(0, touched // rows, sums.square().sum(1, dtype=torch.float64))


def _instance_norms(uses: list[Outer], shape: torch.Size) -> Tensor:
    examples = uses[0].right.shape[0]
    step = max(1, _CHUNK // (shape[0] * shape[1]))
    parts = []
    for start in range(0, examples, step):
        some = slice(start, start + step)
        total = sum(instance(Outer(use.left[some], use.right[some]), shape) for use in uses)
        parts.append(instance_norms(total))
    return torch.cat(parts)


def instance_norms(gradient: Tensor) -> Tensor:
    """(B,) float64 squared norms of a (B, …) per-example gradient."""
    rows = gradient.flatten(1)
    return torch.linalg.vector_norm(rows, dim=1).to(torch.float64).square()


def _ghost_norms(uses: list[Outer]) -> Tensor:
    total: Tensor | float = 0.0
    for i, one in enumerate(uses):
        for other in uses[i:]:
            twice = 1.0 if one is other else 2.0
            total = total + twice * _inner(one, other)
    return total


def _inner(one: Outer, other: Outer) -> Tensor:
    """(B,) float64: ⟨gradient by one use, gradient by another⟩ = Σ_{t,s} (l_t·l'_s)(r_t·r'_s)."""
    right = torch.bmm(one.right, other.right.transpose(1, 2))
    if one.one_hot and other.one_hot:
        left = (one.left.unsqueeze(2) == other.left.unsqueeze(1)).to(right.dtype)
    elif one.one_hot:
        left = _pick(other.left, one.left).transpose(1, 2)
    elif other.one_hot:
        left = _pick(one.left, other.left)
    else:
        left = torch.bmm(one.left, other.left.transpose(1, 2))
    return (left * right).sum((1, 2), dtype=torch.float64)


def _pick(floats: Tensor, numbers: Tensor) -> Tensor:
    """(B, T, S): floats[b, t, numbers[b, s]]."""
    return floats.gather(2, numbers.unsqueeze(1).expand(-1, floats.shape[1], -1))
