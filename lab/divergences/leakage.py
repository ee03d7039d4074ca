"""How many bits of a secret can leak: the bound of "Defending against Reconstruction Attacks with Rényi DP".

With b the secret's length in bits, p0 = 2^−b and M(α) = T·log E_Q[(P/Q)^α] = (α − 1)·d_α, its eq. 2–3 say

    log(p1/p0) ≤ L(p0) = min over α > 1 of (M(α) + log 1/p0)/α,

against the usual min of h = (M(α) + log 1/p0)/(α − 1), which bounds |log(p1/p0)|. P is the run on the real
data, N(K, σ²), Q the reference, N(0, σ²): the order of `renyi_preservation` (docs/mathematics.md §2), whose
posterior is 2^(L − b).

M is convex with M(0) = M(1) = 0, and that does the minimising: its values at some orders bound L from above, the
secants between them bound M, hence L, from below, and orders are added until the two agree.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from hush_core.accounting.bounds import (
    CUT,
    DIVERGENCE_CUT,
    LEAST_NOISE,
    MOST_NOISE,
    MOST_ROUNDS,
)
from hush_core.accounting.mixture import DominatingPair
from hush_core.accounting.participation import CountDistribution, Participation
from hush_core.accounting.renyi import MomentCurve
from hush_core.accounting.runs import check_mechanism
from hush_core.errors import CertificationError, InputError

_PRECISION = 1e-5
"""Relative distance of a value from the least over all orders."""
_NEGLIGIBLE = 1e-6
"""And absolute, as a share of the secret's length: a leak of next to nothing needs no orders above a million."""
_STEPS = 100
_LARGEST_TABLE = 4_000_000
"""Points; one order on such a table takes about a second."""

Extra = Callable[[np.ndarray], np.ndarray]


def leakage_bits(
    participation: Participation, *, noise_multiplier: float, rounds: int, secret_bits: ArrayLike
) -> np.ndarray | float:
    """L(p0) in bits: the adversary's probability of naming the secret grows by a factor of at most 2^L.

    Args:
        participation: how the secret's examples enter a round. noise_multiplier: σ > 0, relative to the clip norm.
        rounds: T ≥ 1. secret_bits: b > 0, any shape: a blind guess is right with probability 2^−b.

    Returns:
        Bits, shape of `secret_bits`; 0 ≤ L ≤ b. L = b is total leakage: α → 1 gives the trivial p1 ≤ 1, so the
        paper's "points above y = x" cannot occur here (its own orders start at 1.01). log2 of the posterior is
        at most −b + L ≤ 0, the bound of `posterior_bound(method="renyi_preservation")`.

    Guarantee: never below the least over all orders, and within 0.1 % of it (or 1e-6·b, where that is more).
    Tails of K that were cut are added to the posterior. D_α(P‖Q) alone is used, P the mixture: the one direction
    that docs/mathematics.md §2 proves enough.
    Source: Stock et al. 2022, eq. 2–3 and §3.1, "Length of the Secret".

    Raises:
        InputError: an argument out of range. CertificationError: the moments cannot be computed here.
    """
    bits = _checked(secret_bits)
    least = _least_bits(participation, noise_multiplier, rounds, bits, pole=0.0)
    return _like(np.minimum(least, bits))


def absolute_leakage_bits(
    participation: Participation, *, noise_multiplier: float, rounds: int, secret_bits: ArrayLike
) -> np.ndarray | float:
    """min over α of h(α, p0) in bits: the usual bound, on |log2(p1/p0)|; for comparison with `leakage_bits`.

    It is ε at δ = p0 by Mironov's conversion. It is reported as it comes: above b it says nothing (total leakage).

    Guarantee: as for `leakage_bits`, for an increase. It bounds a decrease too where D_α(P‖Q) ≥ D_α(Q‖P), which
    Mironov et al. 2019 prove for one example; for more examples nothing is promised about a decrease.
    Source: Stock et al. 2022, eq. 2. Arguments and errors are those of `leakage_bits`.
    """
    bits = _checked(secret_bits)
    return _like(_least_bits(participation, noise_multiplier, rounds, bits, pole=1.0))


def epsilon_from_renyi(
    participation: Participation, *, noise_multiplier: float, rounds: int, delta: float
) -> float:
    """ε ≥ 0 with P(S) ≤ e^ε·Q(S) + δ for every event S: min over α of d_α + log((α−1)/α) − log(δα)/(α−1).

    Guarantee: this one direction, P‖Q, only; within 0.1 % of the least over all orders. For comparison with
    papers that report ε; no certificate here rests on it.
    Source: Balle et al. 2020, conversion of Rényi to approximate DP; the paper's figures use it at δ = 3e-7.

    Raises:
        InputError: an argument out of range. CertificationError: the moments cannot be computed here.
    """
    _check(noise_multiplier, rounds)
    if not 0 < delta < 1:
        raise InputError(
            "delta", "does not lie strictly between 0 and 1", "give a failure probability, as 3e-7"
        )
    if participation.mean == 0:
        return 0.0
    counts = _kept(participation, rounds, float(np.log2(1 / delta)))
    left = delta - rounds * counts.tail  # what was cut of K is detected for certain, and δ pays for it
    if left <= 0:
        raise CertificationError("the tail of the participation count that was cut weighs more than delta")
    curve = MomentCurve([(DominatingPair(counts, float(noise_multiplier)), int(rounds))], _LARGEST_TABLE)
    least = _minimise(curve, np.array([-np.log(left)]), pole=1.0, extra=_balle)
    return float(max(least[0], 0.0))


def _balle(orders: np.ndarray) -> np.ndarray:
    """(α−1)·log((α−1)/α) − log α: convex, falling, 0 at α = 1."""
    less = orders - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(less > 0, less * np.log(less / orders), 0.0) - np.log(orders)


def _least_bits(
    participation: Participation, sigma: float, rounds: int, bits: np.ndarray, pole: float
) -> np.ndarray:
    """min over α of (M(α) + b·log 2)/(α − pole) in bits, and what the cut tails of K add to it."""
    _check(sigma, rounds)
    if participation.mean == 0:
        return np.zeros(bits.shape)  # the releases do not depend on the secret
    least = np.empty(bits.size)
    groups: dict[tuple[int, int], tuple[CountDistribution, list[int]]] = {}
    for place, length in enumerate(bits.ravel()):
        counts = _kept(participation, rounds, float(length))
        groups.setdefault((counts.first, counts.last), (counts, []))[1].append(place)
    for counts, places in groups.values():
        curve = MomentCurve([(DominatingPair(counts, float(sigma)), int(rounds))], _LARGEST_TABLE)
        some = bits.ravel()[places]
        found = _minimise(curve, some * np.log(2), pole) / np.log(2)
        # P = (1 − tail)·pair + tail·(certain detection): p1 ≤ 2^(L − b) + T·tail
        if counts.tail > 0:
            found += np.logaddexp2(0.0, np.log2(rounds * counts.tail) + some - found)
        least[places] = found
    return least.reshape(bits.shape)


def _kept(participation: Participation, rounds: int, bits: float) -> CountDistribution:
    """K with the tails cut as `renyi_preservation` cuts them at this prior; a prior of 2^−1000 cuts nothing."""
    return participation.distribution.trimmed(min(CUT * 2.0**-bits / rounds, DIVERGENCE_CUT))


def _minimise(
    moments: MomentCurve, budgets: np.ndarray, pole: float, extra: Extra = np.zeros_like
) -> np.ndarray:
    """min over α > 1 of (N(α) + c)/(α − pole) for each c of `budgets` (n,), where N = M + extra is convex.

    Along a straight line such a ratio is monotone. So on an interval where two lines bound N from below it is
    nowhere less than at the ends or where the lines cross.
    """
    orders = np.array([1.0, 1.01, 1.1, 1.5, 2.0])
    values = np.append(0.0, moments(orders[1:]))
    for _ in range(_STEPS):
        convex = values + extra(orders)
        crossings, floors = _from_below(orders, convex, float(extra(orders[1:2])[0]))
        with np.errstate(divide="ignore"):
            best = ((convex + budgets[:, None]) / (orders - pole)).min(axis=1)
            least = (floors + budgets[:, None]) / (crossings - pole)
        # a ratio below 0 stands for 0: nothing less is wanted
        enough = np.where(best > 0, best * (1 - _PRECISION) - _NEGLIGIBLE * budgets, -np.inf)
        coarse = (least < enough[:, None]).any(axis=0)
        # beyond the last order N's slope, hence the ratio in the limit, is at least the last secant's
        wider = bool(((convex[-1] - convex[-2]) / (orders[-1] - orders[-2]) < enough).any())
        if not coarse.any() and not wider:
            return best
        left, right = orders[:-1][coarse] - 1, orders[1:][coarse] - 1
        low, high = left + 0.1 * (right - left), right - 0.1 * (right - left)
        new = 1 + np.clip(crossings[coarse] - 1, np.where(left > 0, low, 0.01 * right), high)
        if wider:
            new = np.append(new, 4 * orders[-1] - 3)
        place = np.searchsorted(orders, new)
        orders, values = np.insert(orders, place, new), np.insert(values, place, moments(new))
    raise CertificationError("the least leakage over all orders was not found")


def _from_below(orders: np.ndarray, convex: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Where, in each interval, the lines cross that bound a convex function from below, and their height there.

    The lines prolong the secants of the neighbouring intervals. In the first interval the left one is the constant
    `floor` instead (M ≥ 0, and `extra` falls); in the last there is no right one, and the left runs to the end.
    """
    width = np.diff(orders)
    secants = np.diff(convex) / width
    start, before = convex[:-1].copy(), np.append(0.0, secants[:-1])
    start[0] = floor
    after = np.append(secants[1:], np.inf)
    rise = (convex[1:] - start) / width
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(np.isinf(after), 1.0, (after - rise) / (after - before))
    # where N is straight to the last bit both lines are the secant, and any place will do
    share = np.clip(np.where(after > before, share, 0.5), 0.0, 1.0)
    return orders[:-1] + share * width, start + before * share * width


def _checked(secret_bits: ArrayLike) -> np.ndarray:
    bits = np.asarray(secret_bits, dtype=np.float64)
    if not np.all(np.isfinite(bits) & (bits > 0)):
        raise InputError(
            "secret_bits", "a length is not a positive finite number", "give lengths in bits, above 0"
        )
    return bits


def _check(sigma: float, rounds: int) -> None:
    check_mechanism(noise_multiplier=sigma, rounds=rounds)
    if not (LEAST_NOISE <= sigma <= MOST_NOISE and rounds <= MOST_ROUNDS):
        raise CertificationError(
            f"certified are noise multipliers in [{LEAST_NOISE:g}, {MOST_NOISE:g}] and at most {MOST_ROUNDS} rounds"
        )


def _like(bits: np.ndarray) -> np.ndarray | float:
    return float(bits) if bits.ndim == 0 else bits
