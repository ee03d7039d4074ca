"""Which weights a run ends in: the last iterate, an average of iterates, or the best on text that may decide.

All of it is a function of releases and of untagged or public text: post-processing, for which nothing is charged.

`NoisyAdam` is AdamW for gradients with noise of known variance (DP-AdamBC, Tang, Shpilevskiy & Lécuyer 2024).

Adam divides by the root of its second moments. Of a private gradient these are signal plus Φ = (σC/B)², and where Φ
is the larger, every coordinate is divided by the same number: the step is momentum SGD. Subtracting Φ, which is
public, gives the coordinates their own scale again.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from hush_core.config import TrainConfig


def loss_that_decides(row: Mapping[str, Any]) -> float | None:
    """Of one row of a run's log: the loss on untagged validation text, else on public text, if there is one."""
    return row.get("validation_loss", row.get("public_loss"))


def share_of_newest(kind: str, decay: float, count: int) -> float:
    """By how much the `count`-th averaged iterate (1, 2, …) moves the average: += share · (iterate − average).

    ema: (1 − d)/(1 − d^count), so that the weights d^0, d^1, … of the iterates always sum to 1. tail: 1/count.
    """
    return (1 - decay) / (1 - decay**count) if kind == "ema" else 1 / count


class KeptWeights:
    """The average and the best so far, beside the network that is trained.

    Args:
        network: its trainable parameters are averaged and kept.
        settings: `average`, `average_decay` and `keep`.
        rounds: T; `tail` takes the iterates after round T/2.
        log: of the run so far. A resume has filled `tensors` from the checkpoint that this log came from.

    Memory: one copy of the trained weights for an average, one for the best.
    """

    def __init__(
        self, network: nn.Module, settings: TrainConfig, rounds: int, log: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        self._settings, self._rounds = settings, rounds
        self._trained = {name: p for name, p in network.named_parameters() if p.requires_grad}
        kinds = {"average": settings.average != "none", "best": settings.keep == "best"}
        self.tensors: dict[str, Tensor] = {
            f"{kind} {name}": p.detach().clone()
            for kind, wanted in kinds.items()
            if wanted
            for name, p in self._trained.items()
        }
        """What a checkpoint has to hold."""
        self._count, self._best = 0, math.inf
        self.resume(log)

    def resume(self, log: Sequence[Mapping[str, Any]]) -> None:
        """Count as after these rounds."""
        self._count = sum(self._counts(row["round"]) for row in log)
        losses = (loss_that_decides(row) for row in log)
        self._best = min((loss for loss in losses if loss is not None and loss == loss), default=math.inf)

    def _counts(self, round: int) -> bool:
        return self._settings.average == "ema" or (
            self._settings.average == "tail" and 2 * round >= self._rounds
        )

    @torch.no_grad()
    def add(self, round: int) -> None:
        """Take the network's weights after the update of a round (0, 1, …) into the average."""
        if not self._counts(round):
            return
        self._count += 1
        share = share_of_newest(self._settings.average, self._settings.average_decay, self._count)
        for name, p in self._trained.items():
            average = self.tensors[f"average {name}"]
            if average.device != p.device:
                average = self.tensors[f"average {name}"] = average.to(p.device)
            average.lerp_(p.detach(), share)

    def is_best(self, loss: float) -> bool:
        """Whether a loss is below all before."""
        return self._settings.keep == "best" and loss < self._best

    @torch.no_grad()
    def note_best(self, loss: float) -> None:
        """Keep the network's weights as they are now (inside `in_place`: the average) as the best."""
        self._best = loss
        for name, p in self._trained.items():
            self.tensors[f"best {name}"].copy_(p)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The network holds the average meanwhile, where there is one: what is evaluated is what would be kept."""
        if not self._count:
            yield
            return
        iterate = {name: p.detach().clone() for name, p in self._trained.items()}
        try:
            self._load("average")
            yield
        finally:
            with torch.no_grad():
                for name, p in self._trained.items():
                    p.copy_(iterate[name])

    def finish(self) -> None:
        """Put what the run ends in into the network: the best if there is one, else the average, else the last."""
        if self._settings.keep == "best" and math.isfinite(self._best):
            self._load("best")
        elif self._count:
            self._load("average")

    @torch.no_grad()
    def _load(self, kind: str) -> None:
        for name, p in self._trained.items():
            p.copy_(self.tensors[f"{kind} {name}"])


class NoisyAdam(torch.optim.Optimizer):
    """x ← x − lr · m̂ / (√max(v̂ − Φ, floor_t) + ε), no weight decay.

    floor_t = Φ √(2 (1−β₂)(1+β₂^t) / ((1+β₂)(1−β₂^t))) is the standard deviation that the noise alone gives v̂ after
    t steps: what is left below it cannot be distinguished from noise, and would be divided by.

    Args:
        noise_variance: Φ, of each coordinate of the gradients that are passed; 0 gives Adam.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float,
        noise_variance: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(parameters, {"lr": lr, "noise_variance": noise_variance, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            (beta1, beta2), noise = group["betas"], group["noise_variance"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = torch.tensor(0.0)
                    state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(p), torch.zeros_like(p)
                state["step"] += 1
                t = float(state["step"])
                first = state["exp_avg"].lerp_(p.grad, 1 - beta1)
                second = state["exp_avg_sq"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                spread = 2 * (1 - beta2) * (1 + beta2**t) / ((1 + beta2) * (1 - beta2**t))
                scale = second / (1 - beta2**t)
                scale.sub_(noise).clamp_(min=noise * math.sqrt(spread)).sqrt_().add_(group["eps"])
                p.addcdiv_(first, scale, value=-group["lr"] / (1 - beta1**t))
