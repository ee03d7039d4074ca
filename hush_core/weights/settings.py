"""What decides the weights, besides the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from hush_core.config import Capacities, HushConfig, Method
from hush_core.weights.roles import WithoutSecret

CapacityRule = Literal["kl", "sqrt_kl", "normal_quantiles", "equalised"]
WeightObjective = Literal["weight", "distinct"]


class Mechanism(BaseModel, frozen=True):
    """What `equalised` must know of the training: T rounds, expected batch B, the certificate method."""

    rounds: int
    expected_batch: int
    method: Method


class WeightSettings(BaseModel, frozen=True):
    """A capacity rule, how much of it to use, and what becomes of examples without a secret.

    `c` is relative to c_max; `noise_multiplier` takes its place where weights are to fit a σ (`equalised` only).
    Only the rule, not the method, decides the weights: runs that differ in the method alone share them, but for
    `equalised`, whose mechanism is part of the settings.
    """

    rule: CapacityRule
    c: float | None
    noise_multiplier: float | None = None
    without_secret: WithoutSecret = "noise"
    held_back: bool = False
    """Keep some examples with a secret out of training, to measure on."""
    mechanism: Mechanism | None = None
    objective: WeightObjective = "weight"
    draws: int | None = None
    """T·B, which `distinct` must know."""


@dataclass(frozen=True)
class Scale:
    """One point of a sweep: c relative to c_max, or the noise multiplier that the weights shall fit."""

    c: float | None = None
    noise_multiplier: float | None = None


def weight_settings(
    config: HushConfig, *, method: Method | None = None, scale: Scale | None = None
) -> WeightSettings:
    """The settings that a config means, under its own method and scale or others."""
    weights, method = config.weights, method or config.method
    scale = scale or Scale(weights.c if weights.noise_multiplier is None else None, weights.noise_multiplier)
    equalised = weights.capacities == "equalised"
    return WeightSettings(
        rule=capacity_rule(weights.capacities, method),
        c=scale.c,
        noise_multiplier=scale.noise_multiplier,
        without_secret=config.without_secret,
        held_back=config.audit.held_back,
        mechanism=Mechanism(rounds=config.rounds_in_all, expected_batch=config.train.batch, method=method)
        if equalised
        else None,
        objective=weights.objective,
        draws=config.train.rounds * config.train.batch if weights.objective == "distinct" else None,
    )


def capacity_rule(capacities: Capacities, method: Method) -> CapacityRule:
    """The rule that `capacities` means under a certificate method."""
    if capacities == "paper":
        return "kl"
    if capacities == "equalised":
        return "equalised"
    return "sqrt_kl" if method == "kl" else "normal_quantiles"
