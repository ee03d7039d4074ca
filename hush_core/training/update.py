"""What becomes of a release: the learning rate, the optimiser, and what changes its gradients before that.

All of it is post-processing, or follows from untagged text alone: the promise does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import nn

from hush_core.config import TrainConfig
from hush_core.training.averaging import NoisyAdam
from hush_core.training.gradient_scale import GradientScale
from hush_core.training.language_model import LanguageModel
from hush_core.training.mixing import UntaggedMix
from hush_core.training.schedule import learning_rate_at

if TYPE_CHECKING:
    from hush_core.plan import ProtectionPlan

OnStep = Callable[[int], None]
"""Called with the number of the round in this attempt, after its optimiser step, on every rank."""


@dataclass(frozen=True)
class Update:
    """What becomes of each release of a run.

    Attributes:
        optimizer: over the trainable parameters of the model.
        rate: release → learning rate; the optimiser's own by default.
        after_release: called with the round when the gradients hold its release, before the optimiser: may change
            them by what depends on releases and unprotected text alone.
        scale: fixed, of untagged text alone. Each item's gradient is scaled, then clipped; what `after_release`
            leaves is scaled once more before the optimiser.
        on_step: called with the round after its optimiser step.
    """

    optimizer: torch.optim.Optimizer
    rate: Callable[[int], float] | None = None
    after_release: OnStep | None = None
    scale: GradientScale | None = None
    on_step: OnStep | None = None


def make_optimizer(
    model: nn.Module, kind: Literal["adamw", "sgd", "preconditioned"], learning_rate: float
) -> torch.optim.Optimizer:
    """Over the trainable parameters; no weight decay, no momentum for SGD, which `preconditioned` is of scaled
    gradients."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    if kind != "adamw":
        return torch.optim.SGD(parameters, lr=learning_rate)
    return torch.optim.AdamW(parameters, lr=learning_rate, weight_decay=0.0, fused=True)


def update_of(
    plan: ProtectionPlan, model: LanguageModel, settings: TrainConfig, untagged: Sequence[bytes], key: bytes
) -> Update:
    """What the settings of a job make of a release: the optimiser, the scale of its gradients, and which untagged
    text is mixed in."""
    mixed = min(settings.untagged_batch or 0, len(untagged))
    noise = plan.noise_multiplier * plan.clip_norm / (plan.expected_batch + mixed)
    scale = mix = None
    if settings.optimizer == "preconditioned":
        scale = GradientScale.of(model, untagged, clip_norm=plan.clip_norm, noise=noise)
    if settings.untagged_batch:
        mix = UntaggedMix(
            model, untagged, count=settings.untagged_batch, batch=plan.expected_batch,
            micro_batch=settings.micro_batch, key=key, scale=scale,
        )  # fmt: skip
    return Update(_optimizer(model.network, plan, settings, noise), after_release=mix, scale=scale)


def _optimizer(
    network: nn.Module, plan: ProtectionPlan, settings: TrainConfig, noise: float
) -> torch.optim.Optimizer:
    """The config's, for gradients with noise of this standard deviation."""
    rate = learning_rate_at(0, settings, plan.rounds)
    if settings.optimizer != "adamw_bc":
        return make_optimizer(network, settings.optimizer or "adamw", rate)
    return NoisyAdam([p for p in network.parameters() if p.requires_grad], rate, noise**2)
