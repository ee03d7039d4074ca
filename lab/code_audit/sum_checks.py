"""What one example adds to a release: bounded, its own, and divided by a public number. Noise is left out here."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lab.code_audit.check import Check
from lab.code_audit.recording import BATCH, Setup
from lab.code_audit.reference import clipped, gradients_alone
from lab.code_audit.scripted import ConstantNoise

_ROUNDING = 1e-5
"""Of C: what float32 leaves open of a sum that is read off a release."""
_AGREEMENT = 2e-3
"""Of C: clipping may stay below C by what its own rounding may have done."""


@dataclass(frozen=True)
class Sums:
    """Releases without noise, times B: of no example, each example alone, all, and all less each; (p,) float64."""

    none: Tensor
    alone: list[Tensor]
    all: Tensor
    less: list[Tensor]


def sums_of(setup: Setup) -> Sums:
    """Replay all neighbouring batches in one run without noise."""
    ids = range(len(setup.sequences))
    batches = [[], *([i] for i in ids), list(ids), *([j for j in ids if j != i] for i in ids)]
    left = setup.run(batches, ConstantNoise(0.0))
    totals = [release.double() * BATCH for release in left.releases]
    if len(totals) != len(batches):
        raise ArithmeticError(f"{len(batches)} batches made {len(totals)} releases")
    n = len(setup.sequences)
    return Sums(totals[0], totals[1 : n + 1], totals[n + 1], totals[n + 2 :])


def sum_checks(setup: Setup, sums: Sums) -> list[Check]:
    """Sensitivity, additivity, clipping and division, from the same replays."""
    clip = setup.clip_norm
    moved = [float((sums.all - less).norm()) / clip for less in sums.less]
    beside = [
        float((sums.all - less - alone).norm()) / clip
        for less, alone in zip(sums.less, sums.alone, strict=True)
    ]
    beside.append(float(sums.none.norm()) / clip)
    right = [clipped(gradient, clip) for gradient in gradients_alone(setup)]
    wrong = [float((alone - g).norm()) / clip for alone, g in zip(sums.alone, right, strict=True)]
    divisors = [_divisor(total, g) for total, g in zip(sums.alone, right, strict=True)]
    divisors.append(_divisor(sums.all, torch.stack(right).sum(0)))
    off = max(abs(divisor / BATCH - 1) for divisor in divisors)
    count = len(setup.sequences)
    return [
        Check(
            "sensitivity",
            max(moved) <= 1 + _ROUNDING,
            f"one of {count} examples more or less moves the sum by at most {max(moved):.6g} C",
        ),
        Check(
            "own contribution",
            max(beside) <= _ROUNDING,
            f"beside others an example adds what it adds alone, within {max(beside):.2g} C",
        ),
        Check(
            "clipping",
            max(wrong) <= _AGREEMENT,
            f"alone it adds its own gradient over all parameters, clipped once to C, within {max(wrong):.2g} C",
        ),
        Check(
            "division",
            off <= 2 * _AGREEMENT,
            f"batches of 1 and {count} are divided by {divisors[0]:.4g} and {divisors[-1]:.4g}, expected {BATCH}",
        ),
    ]


def _divisor(total: Tensor, right: Tensor) -> float:
    """By what the release was divided, by least squares against the sum that it should be of."""
    share = float(total @ right) / max(float(right @ right), 1e-300)
    return BATCH / share if share else float("inf")
