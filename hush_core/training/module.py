"""One `training_step` is one release: the private step and the ordinary step as Lightning modules."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from hush_core.errors import InputError
from hush_core.history.ledger import ReleaseLedger
from hush_core.training.clipping import Losses, clipped_gradient_sum
from hush_core.training.data import MicroBatch
from hush_core.training.independence import check_before_release
from hush_core.training.layers import trainable_layers
from hush_core.training.loop import threads_for
from hush_core.training.noise import (
    CorrelatedRows,
    SecureGaussian,
    add_noise,
    clip_within_grid,
    grid_step,
    rounding_allowance,
)
from hush_core.training.ranks import Ranks
from hush_core.training.rounds import RoundBatch
from hush_core.training.sums import check_range
from hush_core.training.update import OnStep, Update

if TYPE_CHECKING:
    from hush_core.plan import ProtectionPlan

_TF32 = "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"


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
        model: every trainable parameter in a layer with a clipping rule; float32.
        losses: (model, micro-batch) → (b,) losses, each of its own example only.
        update: what becomes of a release.
        ledger: open; each step counts one release before its noisy gradient exists. None on all ranks of a
            data-parallel run but the first.
        noise: fresh by default, from a key that never leaves this object; not used where the ledger is None.
        probe: 2 or 3 RANDOM or public examples of different length, which the clipping is tried on before
            the first release; made up where `losses` is a LanguageModel's own.

    Raises:
        InputError: at construction, for a parameter that cannot be clipped. At the start of `fit`, for a
            trainer that would clip, accumulate or change the precision. At the first step, for a model whose
            clipped sum is not that of its examples. At a step, for a batch that is not the next round's or for
            rounds beyond the plan's.

    Guarantee: a step releases (Σ clipped + N(0, σ²C²I))/B, an empty batch included, so the steps that a
    ledger counts are the T-fold composition that the plan certifies (docs/mathematics.md §2). Each item of a
    batch adds at most C to the sum: the average of at most `plan.records` of its records, clipped. Where the plan
    has a cycle, a step releases a row of C·G + Z and reads its gradient from it (docs/mathematics.md). With several
    ranks the sum runs over all of them, and the noise is added once. The sum is exact: an item adds what it
    would add alone, to the bit, given that its own gradient does not depend on its neighbours (`placement.py`).
    """

    def __init__(
        self,
        plan: ProtectionPlan,
        model: nn.Module,
        *,
        losses: Losses,
        update: Update,
        ledger: ReleaseLedger | None,
        noise: SecureGaussian | None = None,
        probe: MicroBatch | None = None,
    ) -> None:
        super().__init__(model, update.optimizer, update.on_step)
        trainable_layers(model)
        self._probe, self._checked = probe, False
        self._losses, self._update, self._ledger = losses, update, ledger
        self._noise = SecureGaussian() if noise is None else noise
        self._scale = float(plan.noise_multiplier) * float(plan.clip_norm)
        self._clip_norm, self._batch = float(plan.clip_norm), int(plan.expected_batch)
        self._records, self._host = int(plan.records), None
        self._trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self._size = sum(p.numel() for p in self._trained.values())
        if not self._size:
            raise InputError("model", "has no trainable parameter", "unfreeze what is to be trained")
        self._grid = grid_step(self._clip_norm, self._size)
        self._bound, self._rows = clip_within_grid(self._clip_norm, self._size), None
        if plan.cycle is not None:  # a secret that takes part moves the rows by a clip norm at least
            strategy, most = plan.cycle.strategy, -(-int(np.sum(plan.rates > 0)) // plan.cycle.period)
            self._bound -= rounding_allowance(strategy, int(plan.rounds), self._size, self._grid)
            check_range(most, self._bound * sum(strategy.coefficients), self._grid)
            self._rows = CorrelatedRows(strategy, self._size, self._grid)
        held = {id(p) for group in update.optimizer.param_groups for p in group["params"]}
        if held != set(map(id, self._trained.values())):
            raise InputError("optimizer", "does not hold the model's trainable parameters", "make_optimizer")
        if any(p.dtype != torch.float32 for p in self._trained.values()):
            raise InputError("model", "has trainable parameters that are not float32", "call model.float()")

    def on_fit_start(self) -> None:
        trainer, ranks = self.trainer, Ranks.current()
        for setting, wrong in (
            ("gradient_clip_val", bool(trainer.gradient_clip_val)),
            ("accumulate_grad_batches", trainer.accumulate_grad_batches != 1),
            ("devices", trainer.world_size != ranks.count),
            ("precision", trainer.precision != "32-true"),
        ):
            if wrong:
                raise InputError(
                    f"Trainer({setting}=…)", "would change the private step", "leave it at its default"
                )
        if self.device.type == "cuda" and (
            torch.backends.cuda.matmul.allow_tf32 or os.environ.get(_TF32) == "1"
        ):
            raise InputError(
                "TF32", "is on: norms and sums would be rounded to 10 bits", f"turn it off, and unset {_TF32}"
            )
        if torch.get_float32_matmul_precision() != "highest":
            raise InputError(
                "the precision of float32 products",
                f"is {torch.get_float32_matmul_precision()!r}: kernels may round them to bf16",
                "torch.set_float32_matmul_precision('highest')",
            )
        if type(trainer.strategy).__name__ not in ("SingleDeviceStrategy", "DDPStrategy"):
            raise InputError(
                f"Trainer(strategy={type(trainer.strategy).__name__})",
                "shards the parameters, and no per-example norm can be had from a part of them",
                "use one process or ddp; train adapters (model.lora) where the whole does not fit",
            )
        if (self._ledger is None) == ranks.first:
            raise InputError(
                "ledger", "must be open on the first rank and on no other", "pass None elsewhere"
            )

    def training_step(self, batch: RoundBatch, batch_idx: int) -> None:
        if not isinstance(batch, RoundBatch) or batch.round != self._expected:
            raise InputError(
                "batch", "is not the next round of a Poisson sampler", "train on Rounds(…).loader()"
            )
        if not batch.fixed:
            raise InputError(
                "batch",
                "has shapes that depend on what was drawn",
                "give Rounds(…) the longest input, `longest`",
            )
        if not self._checked:
            check_before_release(self.model, self._losses, self._probe)
            self._checked = True
        grid, bound = self._grid, self._bound
        total = torch.zeros(self._size, dtype=torch.float64, device=self.device)
        views, items = self._views(total), 0
        for part in batch.parts:
            items += self._items_in(part)
            check_range(items, bound, grid)
            clipped_gradient_sum(
                self.model,
                part,
                losses=self._losses,
                clip_norm=bound,
                grid=grid,
                into=views,
                shares=part.shares,
                scale=self._update.scale,
            )
        for name, gradient in self._views(self._release(total)).items():
            self._trained[name].grad = gradient
        if self._update.after_release is not None:
            self._update.after_release(batch.round)
        if self._update.scale is not None:
            for name, p in self._trained.items():
                p.grad = self._update.scale.update(name, p.grad)
        self._step(batch.round)

    def _items_in(self, part: MicroBatch) -> int:
        if part.shares is None:
            return len(part.inputs)
        items, rows = part.shares.shape
        if rows > self._records:
            raise InputError(
                "batch", f"has items of {rows} records, the plan says {self._records}", "use the plan's"
            )
        return items

    def _release(self, total: Tensor) -> Tensor:
        """The clipped sum of this rank, used up → (p,) float32, the noisy mean over all ranks, counted."""
        ranks = Ranks.current()
        ranks.sum_to_first(total)
        if self._ledger is not None:
            release = self._ledger.count()
            host = self._on_host(total)
            if self._rows is not None:
                host = torch.from_numpy(self._rows.mix(host.numpy()))
            add_noise(host.numpy(), self._noise, release, scale=self._scale, clip_norm=self._clip_norm)
            if self._rows is not None:
                host = torch.from_numpy(self._rows.read(host.numpy()))
            host.div_(self._batch)
            total = host
        mean = total.to(self.device, torch.float32)
        ranks.send_from_first(mean)
        if self._update.rate is not None:
            rate = self._update.rate(ranks.share(release if self._ledger is not None else None))
            for group in self._optimizer.param_groups:
                group["lr"] = rate
        return mean

    def _on_host(self, total: Tensor) -> Tensor:
        """Itself, where it is there already; else in pinned memory, from which and to which a GPU copies faster."""
        if total.device.type == "cpu":
            return total
        if self._host is None:
            self._host = torch.empty(self._size, dtype=torch.float64, pin_memory=total.is_cuda)
        return self._host.copy_(total)

    def _views(self, flat: Tensor) -> dict[str, Tensor]:
        """The parts of a flat vector by parameter, in its shape."""
        parts = flat.split([p.numel() for p in self._trained.values()])
        return {name: part.view_as(p) for (name, p), part in zip(self._trained.items(), parts, strict=True)}


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
        self._size = sum(p.numel() for p in model.parameters())

    def training_step(self, batch: RoundBatch, batch_idx: int) -> None:
        for part in batch.parts:
            with threads_for(6 * self._size * part.inputs.numel()):
                self.manual_backward(self._losses(self.model, part).sum() / self._batch)
        self._step(batch.round)
