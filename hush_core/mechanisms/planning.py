"""The plan of a mechanism: the least noise for the secrets' targets, or for (ε, δ) of every one of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from hush_core.accounting import bound_secrets, noise_for_all
from hush_core.accounting.correlated import METHOD, cycle_bounds, plan_cycle
from hush_core.config import CorrelatedMechanism, MechanismConfig, Method
from hush_core.errors import CertificationError, InputError
from hush_core.mechanisms.unit_privacy import noise_for_unit_privacy
from hush_core.plan import ProtectionPlan, make_plan
from hush_core.weights import sampling_rates


def plan_of(
    mechanism: MechanismConfig, weights: np.ndarray, edges: pl.DataFrame, secrets: pl.DataFrame, **how: Any
) -> ProtectionPlan:
    """The plan with the least noise that keeps the mechanism's promise.

    Args:
        weights, edges: of the items (`lay_out`).
        secrets: with the targets that are promised; if the mechanism is planned for (ε, δ), the targets that it
            implies (`with_implied_targets`).
        how: as for `make_plan`.

    Guarantee: every row of `certificates` has bound ≤ posterior, at the plan's σ; with (ε, δ) every secret is also
    (ε, δ)-DP at it.

    Raises:
        InputError: names the key or secret. CertificationError: nothing is certified.
    """
    if isinstance(mechanism, CorrelatedMechanism):
        return _in_a_cycle(mechanism, weights, edges, secrets, **how)
    refuse_unless_sampled(mechanism)
    if mechanism.unit_dp is None:
        plan = make_plan(weights, edges, secrets, **how)
    else:
        plan = _for_unit_privacy(mechanism.unit_dp, weights, edges, secrets, **how)
    return replace(plan, records=mechanism.records_a_round)


def noise_of_plan(
    mechanism: MechanismConfig, weights: np.ndarray, edges: pl.DataFrame, secrets: pl.DataFrame, **how: Any
) -> float:
    """σ that `plan_of` would need, without its table of bounds; planned for (ε, δ), that of it by any method."""
    if isinstance(mechanism, CorrelatedMechanism):
        return _in_a_cycle(mechanism, weights, edges, secrets, clip_norm=1.0, **how).noise_multiplier
    refuse_unless_sampled(mechanism)
    rates = sampling_rates(weights, how.pop("expected_batch"))
    if mechanism.unit_dp is None:
        return noise_for_all(edges, rates, secrets, **how)
    epsilon, delta = mechanism.unit_dp
    return noise_for_unit_privacy(edges, rates, rounds=how["rounds"], epsilon=epsilon, delta=delta)


def refuse_unless_sampled(mechanism: MechanismConfig) -> None:
    """Raises: InputError: its rounds are not sampled, so their bounds do not compose as those of samples do."""
    if not mechanism.composes_over_runs:
        raise InputError(
            f"mechanism {mechanism.kind}", "has no rounds that are sampled, so this plan is not of it",
            "give noise of its own a plan in `plan_of`",
        )  # fmt: skip


def _in_a_cycle(
    mechanism: CorrelatedMechanism,
    weights: np.ndarray,
    edges: pl.DataFrame,
    secrets: pl.DataFrame,
    *,
    rounds: int,
    expected_batch: int,
    clip_norm: float,
    **_: Any,
) -> ProtectionPlan:
    cycle, sigma = plan_cycle(
        edges, weights > 0, expected_batch=expected_batch, rounds=rounds, priors=secrets["prior"].to_numpy(),
        targets=secrets["posterior"].to_numpy(), bands=mechanism.bands,
    )  # fmt: skip
    rows = cycle_bounds(cycle, edges, secrets, noise_multiplier=sigma, rounds=rounds)
    rates = sampling_rates(weights, expected_batch)
    return ProtectionPlan(rates, sigma, rounds, expected_batch, clip_norm, METHOD, rows, cycle=cycle)


def _for_unit_privacy(
    target: tuple[float, float],
    weights: np.ndarray,
    edges: pl.DataFrame,
    secrets: pl.DataFrame,
    *,
    expected_batch: int,
    clip_norm: float,
    method: Method = "best",
    **how: Any,
) -> ProtectionPlan:
    rates, rounds, (epsilon, delta) = sampling_rates(weights, expected_batch), how["rounds"], target
    sigma = noise_for_unit_privacy(edges, rates, rounds=rounds, epsilon=epsilon, delta=delta)
    how["method"] = method
    rows = bound_secrets(edges, rates, secrets, noise_multiplier=sigma, **how)
    if (rows["bound"] <= rows["posterior"]).all():
        return ProtectionPlan(rates, sigma, rounds, expected_batch, clip_norm, method, rows)
    # a method looser than dp_accounting's, or the last digits of a bound that equals what (ε, δ) implies
    plan = make_plan(weights, edges, secrets, expected_batch=expected_batch, clip_norm=clip_norm, **how)
    if plan.noise_multiplier < sigma:
        raise CertificationError("the bounds miss what (ε, δ) implies, at more noise than they need")
    return plan
