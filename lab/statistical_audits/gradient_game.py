"""The same best guess against the gradients of a real model: what is left of the worst case.

A secret stands in one example, which enters a round with probability ρ. The adversary knows all else: the model
before each round, the other examples that were drawn (their sum is taken off), and the m values that the secret may
have. So it sees y_t = b_t·g_i + σC·z, with g_j the clipped gradient of the example under value j, and compares

    Σ_t log(1 − ρ + ρ·exp((⟨y_t, g_j⟩ − ‖g_j‖²/2)/(σC)²))    between values j.

The certificate of one example at rate ρ holds for this game, with prior 1/m. Real gradients of two values of a
secret have much in common, so that the guess is right less often than where each has a direction of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from hush_core.training.language_model import LanguageModel
from hush_core.training.placement import longest_input
from hush_core.training.rounds import fixed_batches


def guess_secret(
    model: LanguageModel,
    candidates: Sequence[bytes],
    *,
    rate: float,
    noise_multiplier: float,
    rounds: int,
    clip_norm: float,
    learning_rate: float,
    seed: int,
) -> bool:
    """Play one game: a value is drawn, trained on and guessed; whether the guess is right. The model is as before.

    Args:
        candidates: texts of the example, one a value of the secret, equally likely; of one padded length.
        learning_rate: of plain SGD on the noisy sum.
    """
    generator = np.random.default_rng(seed)
    noise = torch.Generator().manual_seed(int(generator.integers(1 << 62)))
    secret = int(generator.integers(len(candidates)))
    trained = [p for p in model.network.parameters() if p.requires_grad]
    before = [p.detach().clone() for p in trained]
    scale, score = noise_multiplier * clip_norm, torch.zeros(len(candidates), dtype=torch.float64)
    try:
        for _ in range(rounds):
            gradients = clipped_gradients(model, candidates, clip_norm)
            release = scale * torch.randn(gradients.shape[1], generator=noise, dtype=torch.float64)
            if generator.random() < rate:
                release += gradients[secret]
            exponent = (gradients @ release - 0.5 * gradients.square().sum(1)) / scale**2
            score += torch.logaddexp(torch.tensor(np.log1p(-rate)), np.log(rate) + exponent)
            with torch.no_grad():
                sizes = [p.numel() for p in trained]
                for p, part in zip(trained, release.float().split(sizes), strict=True):
                    p.sub_(learning_rate * part.view_as(p))
    finally:
        with torch.no_grad():
            for p, value in zip(trained, before, strict=True):
                p.copy_(value)
    return int(score.argmax()) == secret


def clipped_gradients(model: LanguageModel, candidates: Sequence[bytes], clip_norm: float) -> Tensor:
    """(m, p) float64, each clipped to C over all parameters together."""
    shown = [model.objective.show(row, np.random.default_rng(0)) for row in model.encode(candidates)[0]]
    (batch,) = fixed_batches([[one] for one in shown], model.objective, len(shown), longest_input(model))
    trained = [p for p in model.network.parameters() if p.requires_grad]
    losses = model.losses(model.network, batch)
    parts = torch.autograd.grad(losses, trained, torch.eye(len(losses)), is_grads_batched=True)
    flat = torch.cat([part.flatten(1) for part in parts], 1).double()
    return flat * (clip_norm / flat.norm(dim=1, keepdim=True)).clamp(max=1)
