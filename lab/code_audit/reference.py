"""What an example may add to the sum, by a second route: plain autograd on it alone, clipped in float64."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from hush_core.training.data import MicroBatch
from hush_core.training.placement import longest_input
from hush_core.training.rounds import Rounds
from lab.code_audit.recording import Setup
from lab.code_audit.scripted import ScriptedSampler


def gradients_alone(setup: Setup) -> list[Tensor]:
    """(p,) float64 by example: the gradient of its own loss, alone in its micro-batch. Nothing is clipped."""
    trained = [p for p in setup.model.network.parameters() if p.requires_grad]
    batches = Rounds(
        setup.sequences,
        setup.model.objective,
        ScriptedSampler([[i] for i in range(len(setup.sequences))]),
        rounds=len(setup.sequences),
        micro_batch=1,
        longest=longest_input(setup.model),
    )
    device, found = trained[0].device, []
    for place in range(len(setup.sequences)):
        loss = sum(
            setup.model.losses(
                setup.model.network, MicroBatch(*(x if x is None else x.to(device) for x in part))
            ).sum()
            for part in batches[place].parts
        )
        parts = torch.autograd.grad(loss, trained, allow_unused=True)
        flat = [torch.zeros_like(p) if g is None else g for p, g in zip(trained, parts, strict=True)]
        found.append(torch.cat([g.flatten() for g in flat]).double().cpu())
    return found


def clipped(gradient: Tensor, clip_norm: float) -> Tensor:
    """g · min(1, C/‖g‖)."""
    norm = float(gradient.norm())
    return gradient * min(1.0, clip_norm / norm) if norm > 0 else gradient


def middle_norm(gradients: Sequence[Tensor]) -> float:
    """A clip norm between the norms: half of the examples are clipped, the others are not."""
    norms = sorted(float(gradient.norm()) for gradient in gradients)
    half = len(norms) // 2
    return math.sqrt(norms[half - 1] * norms[half])
