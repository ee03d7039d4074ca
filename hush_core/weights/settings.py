"""What decides the weights, besides the graph: the settings, and how much weight a secret may carry."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from pydantic import BaseModel
from scipy.special import ndtri

from hush_core.accounting import target_kl
from hush_core.config import Capacities, HushConfig, Method
from hush_core.errors import InputError
from hush_core.weights.roles import WithoutSecret

CapacityRule = Literal["kl", "sqrt_kl", "normal_quantiles", "equalised"]
WeightObjective = Literal["weight", "distinct"]


class RoundSettings(BaseModel, frozen=True):
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
    mechanism: RoundSettings | None = None
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
        mechanism=RoundSettings(rounds=config.rounds_in_all, expected_batch=config.train.batch, method=method)
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


def unit_capacities(secrets: pl.DataFrame, rule: CapacityRule) -> np.ndarray:
    """κ_j for every row of `secrets` (columns prior, posterior), shape (m,), all positive.

    c·κ_j are the right-hand sides of the program. `paper` takes κ_j = KL(Bern(r_j)‖Bern(p_j)) (paper §4).
    `matched`, ours, takes what the certificate allows: in the Gaussian limit a secret with total rate Σρ needs
    σ_j ≈ √T·Σρ/κ_j, so equal loads relative to κ_j mean equal noise. The limit of the `kl` bound gives
    κ_j = √(2μ_j), that of the tight and the Rényi bounds κ_j = Φ⁻¹(r_j) − Φ⁻¹(p_j) (docs/mathematics.md §7).

    Raises:
        InputError: `equalised`, which depends on the weights and is not a function of the targets alone.
    """
    if rule == "equalised":
        raise InputError("rule", "equalised capacities follow from the weights", "call weigh")
    prior = secrets["prior"].to_numpy().astype(np.float64)
    target = secrets["posterior"].to_numpy().astype(np.float64)
    if rule == "normal_quantiles":
        return ndtri(target) - ndtri(prior)
    mu = np.asarray(target_kl(prior, target), dtype=np.float64)
    return mu if rule == "kl" else np.sqrt(2 * mu)


def largest_useful_c(edges: pl.DataFrame, kappa: np.ndarray) -> float:
    """c_max: the smallest c at which no secret binds, so that every weight is 1 (0 without edges)."""
    counts = np.bincount(edges["secret_id"].to_numpy(), minlength=len(kappa))
    held = counts > 0
    with np.errstate(divide="ignore"):
        # a hair above, so that c_max·κ_j is not rounded below the count
        return float(np.max(counts[held] / kappa[held], initial=0.0)) * (1 + 4 * np.finfo(np.float64).eps)
