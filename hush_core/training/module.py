"""One `training_step` is one release: the private step and the ordinary step as Lightning modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from hush_core.errors import InputError
from hush_core.training.clipping import Losses, clipped_gradient_sum
from hush_core.training.data import RoundBatch
from hush_core.training.layers import trainable_layers
from hush_core.training.ledger import ReleaseLedger
from hush_core.training.noise import SecureGaussian, clip_within_grid, noisy_sum

if TYPE_CHECKING:
    from hush_core.plan import ProtectionPlan

OnStep = Callable[[int], None]


def make_optimizer(
    model: nn.Module, kind: Literal["adamw", "sgd"], learning_rate: float
) -> torch.optim.Optimizer:
    """Over the trainable parameters; no weight decay, no momentum for SGD."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    if kind == "sgd":
        return torch.optim.SGD(parameters, lr=learning_rate)
    return torch.optim.AdamW(parameters, lr=learning_rate, weight_decay=0.0)


class _ManualModule(pl.LightningModule):
    """Manual optimisation by an optimiser that is made outside, so that a resume can fill it."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, on_step: OnStep | None) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.model = model
        self._optimizer, self._on_step = optimizer, on_step
        self._expected = 0

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return self._optimizer

    def _step(self, round: int) -> None:
        self.optimizers().step()
        self.zero_grad(set_to_none=True)
        self._expected = round + 1
        if self._on_step is not None:
            self._on_step(round)


class PrivateModule(_ManualModule):
    """DP-SGD under a plan: clipped sum → counted in the ledger → noise → ÷ expected batch → optimiser.

    Args:
        plan: fixes noise multiplier σ, clip norm C, expected batch B and rounds.
        model: every trainable parameter in a layer with a clipping rule; fp32.
        losses: (model, micro-batch) → (b,) losses, each of its own example only.
        optimizer: over the trainable parameters of `model`.
        ledger: open; each step counts one release before its noisy gradient exists.
        noise: fresh by default, from a key that never leaves this object.
        on_step: called with the round after its optimiser step.

    Raises:
        InputError: at construction, for a parameter that cannot be clipped; at the start of `fit`, for a
            trainer that would clip, accumulate, shard or cast; at a step, for a batch that is not the next
            round's or for rounds beyond the plan's.

    Guarantee: a step releases (Σ clipped + N(0, σ²C²I))/B, an empty batch included, so the steps that a
    ledger counts are the T-fold composition that the plan certifies (docs/guarantee.md §2).
    """

    def __init__(
        self,
        plan: ProtectionPlan,
        model: nn.Module,
        *,
        losses: Losses,
        optimizer: torch.optim.Optimizer,
        ledger: ReleaseLedger,
        noise: SecureGaussian | None = None,
        on_step: OnStep | None = None,
    ) -> None:
        super().__init__(model, optimizer, on_step)
        trainable_layers(model)
        self._losses, self._ledger = losses, ledger
        self._noise = SecureGaussian() if noise is None else noise
        self._scale = float(plan.noise_multiplier) * float(plan.clip_norm)
        self._clip_norm, self._batch = float(plan.clip_norm), int(plan.expected_batch)
        self._parameters_list = [p for p in model.parameters() if p.requires_grad]
        self._size = sum(p.numel() for p in self._parameters_list)
        if not self._size:
            raise InputError("model", "has no trainable parameter", "unfreeze what is to be trained")
        if {id(p) for group in optimizer.param_groups for p in group["params"]} != set(
            map(id, self._parameters_list)
        ):
            raise InputError("optimizer", "does not hold the model's trainable parameters", "make_optimizer")
        if any(p.dtype != torch.float32 for p in self._parameters_list):
            raise InputError("model", "has trainable parameters that are not float32", "call model.float()")

    def on_fit_start(self) -> None:
        trainer = self.trainer
        for setting, wrong in (
            ("gradient_clip_val", bool(trainer.gradient_clip_val)),
            ("accumulate_grad_batches", trainer.accumulate_grad_batches != 1),
            ("devices", trainer.world_size != 1),
            ("precision", trainer.precision != "32-true"),
        ):
            if wrong:
                raise InputError(
                    f"Trainer({setting}=…)", "would change the private step", "leave it at its default"
                )

    def training_step(self, batch: RoundBatch, batch_idx: int) -> None:
        if not isinstance(batch, RoundBatch) or batch.round != self._expected:
            raise InputError(
                "batch", "is not the next round of a Poisson sampler", "train on Rounds(…).loader()"
            )
        total = torch.zeros(self._size, dtype=torch.float64, device=self.device)
        bound = clip_within_grid(self._clip_norm, self._size)
        for part in batch.parts:
            total += self._clipped(part, bound)
        release = self._ledger.count()
        noisy = noisy_sum(
            total.cpu().numpy(), self._noise, release, scale=self._scale, clip_norm=self._clip_norm
        )
        gradient = torch.from_numpy(noisy / self._batch).to(self.device, torch.float32)
        for parameter, part in zip(
            self._parameters_list, gradient.split([p.numel() for p in self._parameters_list]), strict=True
        ):
            parameter.grad = part.view_as(parameter)
        self._step(batch.round)

    def _clipped(self, part: object, bound: float) -> Tensor:
        clipped = clipped_gradient_sum(self.model, part, losses=self._losses, clip_norm=bound)
        return torch.cat([gradient.flatten() for gradient in clipped.gradients.values()])


class PlainModule(_ManualModule):
    """The ordinary step: the mean gradient over the expected batch, neither clipped nor noised."""

    def __init__(
        self,
        model: nn.Module,
        *,
        batch: int,
        losses: Losses,
        optimizer: torch.optim.Optimizer,
        on_step: OnStep | None = None,
    ) -> None:
        super().__init__(model, optimizer, on_step)
        self._losses, self._batch = losses, batch

    def training_step(self, batch: RoundBatch, batch_idx: int) -> None:
        for part in batch.parts:
            self.manual_backward(self._losses(self.model, part).sum() / self._batch)
        self._step(batch.round)
