"""AdamW for gradients with noise of known variance (DP-AdamBC, Tang, Shpilevskiy & Lécuyer 2024).

Adam divides by the root of its second moments. Of a private gradient these are signal plus Φ = (σC/B)², and where Φ
is the larger, every coordinate is divided by the same number: the step is momentum SGD. Subtracting Φ, which is
public, gives the coordinates their own scale again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import nn


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
