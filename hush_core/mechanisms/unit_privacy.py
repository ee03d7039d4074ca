"""(ε, δ)-DP of every secret: the noise that it takes, and the posterior that it implies.

Two runs are neighbours if they differ in whether all items that hold one secret contribute, or none does
(`hush_core/accounting/dp`). The pair of a round is the mixture N(K, σ²) against N(0, σ²) itself, for any rates. So
a unit with several items costs no more than it must: no lemma on groups is used.

`noise_by_lemma` is what the usual lemma on group privacy would ask, to compare with. A mechanism that is (ε, δ)-DP
for one item is (kε, δ·(e^{kε} − 1)/(e^ε − 1))-DP for k of them (Vadhan 2017, Lemma 2.2; Chua et al. 2024,
Proposition 1). Read backwards: (ε, δ) for units of k items follows from (ε/k, δ·(e^{ε/k} − 1)/(e^ε − 1)) for one.
"""

import math
from collections.abc import Callable

import numpy as np
import polars as pl

from hush_core.accounting import Participation, Run, curve_of_runs, privacy_profile
from hush_core.accounting.dp.hockey_stick import HockeyStick, composed_hockey_stick
from hush_core.accounting.noise_search import falling_root, gaussian_noise
from hush_core.errors import CertificationError, InputError

PRECISION = 1e-6
"""Relative, of σ; it errs upwards."""
_UNDECIDED, _FINER, _POINTS = 1.05, 8, 200_000
"""So near above its target, δ is asked for again on a grid so many times finer, if the first had few points."""
_NEAR, _APART = 1e-5, 1e-3
"""In log σ: how far above what is refuted the proof is tried first, and the slope of δ is measured over."""
_TRIES = 4
"""Newton's steps from there; mostly two."""
_MOST = 8
"""More profiles of which none dominates another are replaced by one that dominates them all."""


def implied_posterior(prior: np.ndarray, epsilon: float, delta: float) -> np.ndarray:
    """r with which (ε, δ)-DP of a secret bounds every adversary's posterior (docs/mechanisms.md, Proposition M6).

    P(A) ≤ e^ε·Q(A) + δ, and 1 − Q(A) ≤ e^ε·(1 − P(A)) + δ for the other order; the less of the two. Below 1 where
    p + δ is.
    """
    p = np.asarray(prior, np.float64)
    return np.minimum(np.exp(epsilon) * p + delta, 1 - np.exp(-epsilon) * (1 - p - delta))


def with_implied_targets(secrets: pl.DataFrame, epsilon: float, delta: float) -> pl.DataFrame:
    """The secrets with the targets that (ε, δ) implies in place of their own.

    Raises:
        InputError: a secret's prior is so large that (ε, δ) promises nothing of it.
    """
    implied = implied_posterior(secrets["prior"].to_numpy(), epsilon, delta)
    if wrong := [name for name, r in zip(secrets["name"], implied, strict=True) if not r < 1]:
        raise InputError(
            "mechanism.delta", f"p + δ is 1 or more for {wrong[0]}, so nothing is promised of it", "lower δ"
        )
    return secrets.with_columns(posterior=pl.Series(implied))


def dominating_participations(edges: pl.DataFrame, rates: np.ndarray) -> list[Participation]:
    """Participations such that each secret's is at most one of them in stochastic order; few.

    With the rates of each secret in descending order, one that is nowhere above another's is dominated by it: the
    items can be drawn together. Items drawn alike leave the secret with the most of them.
    """
    pairs = edges.select("example_id", "secret_id").with_columns(
        pl.Series("rate", rates[edges["example_id"].to_numpy()])
    )
    held = pairs.filter(pl.col("rate") > 0).sort("secret_id", "rate", descending=[False, True])
    distinct = {tuple(group) for group in held.group_by("secret_id").agg("rate")["rate"].to_list()}
    ordered = sorted(distinct, key=lambda each: (-len(each), [-rate for rate in each]))
    kept: list[np.ndarray] = []
    for each in map(np.array, ordered):
        if not any(np.all(other[: len(each)] >= each) for other in kept if len(other) >= len(each)):
            kept.append(each)
    if len(kept) > _MOST:
        envelope = np.zeros(max(map(len, kept)))
        for each in kept:
            envelope[: len(each)] = np.maximum(envelope[: len(each)], each)
        kept = [envelope]
    return [Participation.from_rates(each) for each in kept]


def delta_of(participation: Participation, epsilon: float, delta: float, sigma: float, rounds: int) -> float:
    """δ(ε), from above; on a finer grid where that may decide whether it is at most `delta`, in seconds."""
    profile = privacy_profile(participation, noise_multiplier=sigma, rounds=rounds, resolution=delta)

    def of_order(coarse: HockeyStick, *, mixture_is_upper: bool) -> float:
        found = float(coarse(epsilon))
        if delta < found < delta * _UNDECIDED and len(coarse.deltas) < _POINTS:
            finer = composed_hockey_stick(
                participation, noise_multiplier=sigma, rounds=rounds, resolution=delta,
                step=coarse.step / _FINER, mixture_is_upper=mixture_is_upper,
            )  # fmt: skip
            found = min(found, float(finer(epsilon)))
        return found

    return max(
        of_order(profile.real_over_reference, mixture_is_upper=True),
        of_order(profile.reference_over_real, mixture_is_upper=False),
    )


def noise_for_unit_privacy(
    edges: pl.DataFrame, rates: np.ndarray, *, rounds: int, epsilon: float, delta: float
) -> float:
    """The smallest σ, to PRECISION, at which T rounds are (ε, δ)-DP for every secret.

    Args:
        edges: example_id, secret_id of the items. rates: (n,) by example_id.

    Guarantee: δ(ε) was computed at the returned σ for participations that dominate every secret's, in both orders.

    Raises:
        InputError: no secret has an item. CertificationError: dp_accounting cannot do it at any σ.
    """
    found = dominating_participations(edges, rates)
    if not found:
        raise InputError("the graph", "no secret has an item that is ever drawn", "nothing needs protection")
    sigma = 0.0
    for one in found:
        if sigma and _gap(one, epsilon, delta, rounds)(np.log(sigma)) <= 0:
            continue
        sigma = max(sigma, noise_of(one, rounds=rounds, epsilon=epsilon, delta=delta))
    return sigma


def noise_of(participation: Participation, *, rounds: int, epsilon: float, delta: float) -> float:
    """The smallest σ of one participation, to PRECISION."""
    gap = _gap(participation, epsilon, delta, rounds)
    try:
        low = float(np.log(refuted(participation, rounds=rounds, epsilon=epsilon, delta=delta)))
    except CertificationError:
        guess = gaussian_noise(participation.mean, rounds, delta, _at(delta, epsilon, delta))
        return float(np.exp(falling_root(gap, float(np.log(guess)), PRECISION)))
    # what can be proved lies some millionths above what an attack refutes, which is found much faster
    slope, at = _slope(participation, epsilon, delta, rounds, low), low + _NEAR
    for _ in range(_TRIES):
        found = gap(at)
        if not (np.isfinite(found) and slope < 0):
            break
        if 0 <= -found <= -slope * PRECISION:
            return float(np.exp(at))
        at += -found / slope + PRECISION / 2
    return float(np.exp(falling_root(gap, at, PRECISION)))


def refuted(participation: Participation, *, rounds: int, epsilon: float, delta: float) -> float:
    """A σ at which T rounds are NOT (ε, δ)-DP: some test of the pair exceeds e^ε·p + δ (`Bound.lower`).

    Raises:
        CertificationError: the tight bound refuses.
    """
    priors = np.geomspace(delta * np.exp(-epsilon) * 1e-3, min(0.5 * np.exp(-epsilon), 0.2), 240)
    limits = np.exp(epsilon) * priors + delta

    def gap(log_sigma: float) -> float:
        run = Run(participation, float(np.exp(log_sigma)), rounds)
        curve = curve_of_runs([run], priors=priors, method="blow_up", lower=True)
        return float(np.log(np.max(np.nan_to_num(curve.lower) / limits)))

    guess = float(gaussian_noise(participation.mean, rounds, delta, _at(delta, epsilon, delta)))
    # at most a PRECISION below the answer of this root the gap is above 0
    return float(np.exp(falling_root(gap, float(np.log(guess)), PRECISION) - PRECISION))


def _at(prior: float, epsilon: float, delta: float) -> float:
    return float(implied_posterior(np.array(prior), epsilon, delta))


def _slope(
    participation: Participation, epsilon: float, delta: float, rounds: int, log_sigma: float
) -> float:
    """∂ log δ(ε) / ∂ log σ, about: only the choice of the next σ to try depends on it."""

    def log_delta(at: float) -> float:
        sigma = float(np.exp(at))
        profile = privacy_profile(participation, noise_multiplier=sigma, rounds=rounds, resolution=delta)
        return float(np.log(profile.real_over_reference(epsilon)))

    try:
        return (log_delta(log_sigma + _APART) - log_delta(log_sigma)) / _APART
    except CertificationError:
        return np.nan


def _gap(participation: Participation, epsilon: float, delta: float, rounds: int) -> Callable[[float], float]:
    """log δ(ε)/δ at a log σ: at most 0 where it is certified, +inf where dp_accounting refuses."""

    def gap(log_sigma: float) -> float:
        try:
            found = delta_of(participation, epsilon, delta, float(np.exp(log_sigma)), rounds)
        except CertificationError:
            return np.inf
        return float(np.log(max(found, 1e-300) / delta)) if np.isfinite(found) else np.inf

    return gap


def one_item(epsilon: float, delta: float, items: int) -> tuple[float, float]:
    """(ε', δ') of one item from which (ε, δ) of `items` follows.

    >>> one_item(3.0, 1e-6, 1)
    (3.0, 1e-06)
    """
    if items < 1:
        raise InputError("items", f"are {items}", "give at least 1")
    small = epsilon / items
    return small, delta * math.expm1(small) / math.expm1(epsilon)


def noise_by_lemma(participation: Participation, *, rounds: int, epsilon: float, delta: float) -> float:
    """σ by the lemma for a secret of these items: each is taken to be drawn at the largest of their rates."""
    small, share = one_item(epsilon, delta, participation.examples)
    one = Participation.binomial(1, float(participation.rates.max()))
    return noise_of(one, rounds=rounds, epsilon=small, delta=share)
