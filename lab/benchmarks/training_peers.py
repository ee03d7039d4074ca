"""The steps of `training_speed.py`: the non-private one, ours, and the peers' ways to the same clipped sum.

Each is a class with `gather` (one micro-batch: forward, backward, clip, accumulate) and `finish` (noise, AdamW);
ours and the non-private one run the training_step of `hush_core.training.module` itself. `sums` gives what was
accumulated. Peers draw torch's Gaussian noise, as they do by default.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from training_shapes import Tokens

from hush_core.training.gradient_scale import GradientScale
from hush_core.training.module import PlainModule, PrivateModule
from hush_core.training.rounds import RoundBatch
from hush_core.training.update import Update, make_optimizer

Losses = Callable[[nn.Module, Tokens], Tensor]
NOISE = 1.0


class _Counter:
    """Stands in for the ledger, whose one write to disk a step is no part of what is measured."""

    def __init__(self) -> None:
        self.released = 0

    def count(self) -> int:
        self.released += 1
        return self.released


class _OursModule(PrivateModule):
    """Without a trainer; tells when the sum is complete."""

    def __init__(self, *args, on_sum: Callable[[Tensor], None], **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.on_sum = on_sum

    def optimizers(self) -> torch.optim.Optimizer:
        return self._optimizer

    def _release(self, total: Tensor) -> Tensor:
        self.on_sum(total)
        return super()._release(total)


class _PlainModule(PlainModule):
    def optimizers(self) -> torch.optim.Optimizer:
        return self._optimizer

    def manual_backward(self, loss: Tensor) -> None:
        loss.backward()


class Plain:
    """The non-private step: the gradient of the mean loss, AdamW."""

    def __init__(self, model: nn.Module, losses: Losses, clip: float, device: torch.device) -> None:
        self.model, self.losses, self.clip, self.mark = model, losses, clip, lambda: None
        self.names = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.optimizer = make_optimizer(model, "adamw", 1e-4)
        self.rounds = 0
        self.prepare(device)

    def prepare(self, device: torch.device) -> None:
        self.module = _PlainModule(self.model, batch=1, losses=self.losses, optimizer=self.optimizer).to(
            device
        )
        self.module._on_step = None
        inner = self.module._step
        self.module._step = lambda round: (self.mark(), inner(round))

    def step(self, batches: Iterable[Tokens], mark: Callable[[], None]) -> None:
        """A whole step; calls mark when the sum over the micro-batches is complete."""
        self.mark = mark
        self.module.training_step(RoundBatch(self.rounds, batches, fixed=True), 0)
        self.rounds += 1


class Ours(Plain):
    """PrivateModule: book-keeping, noise from AES-256, AdamW."""

    def prepare(self, device: torch.device) -> None:
        plan = SimpleNamespace(
            noise_multiplier=NOISE, clip_norm=self.clip, expected_batch=1, records=1, cycle=None
        )
        self.module = _OursModule(
            plan,
            self.model,
            losses=self.losses,
            update=Update(self.optimizer, scale=self.scale()),
            ledger=_Counter(),
            on_sum=self._complete,
        ).to(device)
        self.module._checked = True  # a trial before the first release, once a run: no part of a step

    def scale(self) -> GradientScale | None:
        return None

    def _complete(self, total: Tensor) -> None:
        self.mark()

    def sums(self, batch: Tokens) -> dict[str, Tensor]:
        seen = []
        self.module.on_sum = lambda total: seen.append(total.clone())
        self.step([batch], lambda: None)
        return self.module._views(seen[0])


class Scaled(Ours):
    """The same with `optimizer: preconditioned`, by a scale of ones: as much work, and the same clipped sum."""

    def scale(self) -> GradientScale:
        tensors = {"ratio": torch.tensor(1.0)}
        for name, p in self.names.items():
            sides = zip(("rows", "columns"), p.shape, strict=True) if p.dim() == 2 else [("numbers", p.shape)]
            tensors |= {f"{side} {name}": torch.ones(shape, device=p.device) for side, shape in sides}
        return GradientScale(tensors)


class _Peer(Plain):
    """A peer's step in our frame: `gather` by micro-batch, then noise and AdamW."""

    def prepare(self, device: torch.device) -> None:
        self.total: dict[str, Tensor] = {}

    def gather(self, batch: Tokens) -> None:
        raise NotImplementedError

    def step(self, batches: Iterable[Tokens], mark: Callable[[], None]) -> None:
        for batch in batches:
            self.gather(batch)
        mark()
        self.finish()

    def finish(self) -> None:
        for name, p in self.names.items():
            p.grad = self.total[name].add_(torch.randn_like(p), alpha=NOISE * self.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.total = {}

    def sums(self, batch: Tokens) -> dict[str, Tensor]:
        self.gather(batch)
        return dict(self.total)

    def add(self, gradients: dict[str, Tensor]) -> None:
        for name, gradient in gradients.items():
            self.total[name] = self.total[name].add_(gradient) if name in self.total else gradient


class Loop(_Peer):
    """Plain autograd, one example after the other."""

    def gather(self, batch: Tokens) -> None:
        for i in range(len(batch.inputs)):
            loss = self.losses(self.model, Tokens(*(part[i : i + 1] for part in batch))).sum()
            gradients = torch.autograd.grad(loss, list(self.names.values()))
            factor = float((self.clip / _norm(gradients)).clamp(max=1))
            self.add({name: g.mul_(factor) for name, g in zip(self.names, gradients, strict=True)})


class Vmap(_Peer):
    """torch.func: vmap(grad) over the micro-batch, then norms and a weighted sum."""

    def gather(self, batch: Tokens) -> None:
        frozen = {n: v for n, v in self.model.named_parameters() if not v.requires_grad}
        frozen |= dict(self.model.named_buffers())
        wrapped = _Wrapped(self.model, self.losses)

        def one(parameters: dict[str, Tensor], *parts: Tensor) -> Tensor:
            state = {f"model.{n}": v for n, v in (parameters | frozen).items()}
            return functional_call(wrapped, state, tuple(part.unsqueeze(0) for part in parts)).sum()

        own = {n: p.detach() for n, p in self.names.items()}
        per_example = vmap(grad(one), in_dims=(None, 0, 0, 0, 0))(own, *batch)
        squares = sum(g.flatten(1).square().sum(1) for g in per_example.values())
        factors = (self.clip / squares.sqrt()).clamp(max=1)
        self.add({n: torch.einsum("b,b...->...", factors, g) for n, g in per_example.items()})


class OpacusHooks(_Peer):
    """GradSampleModule and DPOptimizer."""

    def prepare(self, device: torch.device) -> None:
        from opacus.grad_sample import GradSampleModule
        from opacus.optimizers import DPOptimizer

        self.wrapped = self.wrap(GradSampleModule)
        self.private = DPOptimizer(
            self.optimizer,
            noise_multiplier=NOISE,
            max_grad_norm=self.clip,
            expected_batch_size=1,
            loss_reduction="sum",
        )

    def wrap(self, kind: type) -> nn.Module:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return kind(self.model, loss_reduction="sum")

    def gather(self, batch: Tokens) -> None:
        self.losses(self.model, batch).sum().backward()  # the hooks sit on its layers
        self._accumulate()

    def _accumulate(self) -> None:
        self.private.clip_and_accumulate()
        for p in self.names.values():
            p.grad = p.grad_sample = None

    def finish(self) -> None:
        self.private.add_noise()
        self.private.original_optimizer.step()
        for p in self.names.values():
            p.grad = p.summed_grad = None

    def sums(self, batch: Tokens) -> dict[str, Tensor]:
        self.gather(batch)
        return {name: p.summed_grad for name, p in self.names.items()}


class OpacusExpandedWeights(OpacusHooks):
    """GradSampleModuleExpandedWeights and DPOptimizer."""

    def wrap(self, kind: type) -> nn.Module:
        from opacus.grad_sample import GradSampleModuleExpandedWeights

        return GradSampleModuleExpandedWeights(_Wrapped(self.model, self.losses), loss_reduction="sum")

    def gather(self, batch: Tokens) -> None:
        self.wrapped(*batch).sum().backward()
        self._accumulate()


class OpacusGhost(OpacusHooks):
    """GradSampleModuleFastGradientClipping with ghost norms: two backward passes. Refuses tied weights."""

    def prepare(self, device: torch.device) -> None:
        from opacus.grad_sample import GradSampleModuleFastGradientClipping
        from opacus.optimizers.optimizer_fast_gradient_clipping import DPOptimizerFastGradientClipping

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.wrapped = GradSampleModuleFastGradientClipping(
                self.model, loss_reduction="sum", max_grad_norm=self.clip, use_ghost_clipping=True
            )
        self.private = DPOptimizerFastGradientClipping(
            self.optimizer,
            noise_multiplier=NOISE,
            max_grad_norm=self.clip,
            expected_batch_size=1,
            loss_reduction="sum",
        )

    def gather(self, batch: Tokens) -> None:
        from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping

        self.private._is_last_step_skipped = True  # as inside a logical batch: keep what is accumulated
        values = self.losses(self.model, batch)
        DPTensorFastGradientClipping(self.wrapped, self.private, values, "sum").backward()
        self.private.accumulate()
        for p in self.names.values():
            p.grad = None


class _Wrapped(nn.Module):
    """The losses as a module's forward, for the peers that want one."""

    def __init__(self, model: nn.Module, losses: Losses) -> None:
        super().__init__()
        self.model, self.losses = model, losses

    def forward(self, *parts: Tensor) -> Tensor:
        return self.losses(self.model, Tokens(*parts))


def _norm(gradients: tuple[Tensor, ...]) -> Tensor:
    return torch.stack([g.norm() for g in gradients]).norm()


STEPS: dict[str, type[Plain]] = {
    "non-private": Plain,
    "hush": Ours,
    "hush, scaled": Scaled,
    "Opacus hooks": OpacusHooks,
    "Opacus ghost": OpacusGhost,
    "Opacus expanded weights": OpacusExpandedWeights,
    "vmap(grad)": Vmap,
    "loop": Loop,
}
