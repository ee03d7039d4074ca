"""Certificates by any divergence of Lemma 3.2: F(P^T, Q^T) ≤ F(Bern(r), Bern(p)) for a convex f by choice.

>>> from hush_core.accounting import Participation
>>> k = Participation.binomial(count=50, rate=1e-3)
>>> by = {"noise_multiplier": 2.0, "rounds": 500, "prior": 1e-4}
>>> f"{posterior_by_divergence(k, divergence=hockey_stick(2.3), **by).value:.3g}"
'0.00105'
>>> halfway = Divergence("JS", lambda y: y * np.log(y) - (y + 1) * np.log((y + 1) / 2), np.log(2), np.log(2))
>>> f"{posterior_by_divergence(k, divergence=halfway, **by).value:.3g}"
'0.117'

None is tighter than `blow_up`, and the best hockey-stick is equal to it. F is read from the composed loss law
(composed_divergence.py). What is cut there leaves laws P', Q' with P^T(A) ≤ (1−m)·P'(A) + m and
Q'(A) ≤ Q^T(A)/(1−q). F(P', Q') is bounded, and r ≤ (1−m)·r' + m with r' read at p/(1−q): nothing need be known of
f's tails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush_core.accounting.bernoulli import largest_posterior, log_kl_gauge, log_ratios
from hush_core.accounting.bounds import (
    CUT,
    LEAST_NOISE,
    LEAST_PRIOR,
    MOST_NOISE,
    MOST_ROUNDS,
    Bound,
    check_mechanism,
)
from hush_core.accounting.f_divergences.composed import LOW, ComposedDivergence, composed_divergence
from hush_core.accounting.mixture import DominatingPair
from hush_core.accounting.participation import Participation
from hush_core.accounting.renyi import RenyiMoments
from hush_core.errors import CertificationError, InputError

_ROUND_OFF, _NEAR_ONE = 1e-9, 1e-14
"""What is trusted of a gauge, relative to itself, and of f around 1, relative to its size at 1/2 and 2."""
_LARGEST_CUT = 0.1
"""Relative to the result: beyond this share for cuts and round-off it is refused."""
_NEGLIGIBLE = 1e-9
"""Relative to the prior: what the window may cut."""
_BEYOND_PRIOR = 32.0
"""A loss above log(1/p) + 32, of one round or of all, counts as detection: Q gives it less than e^{−32}·p."""


@dataclass(frozen=True)
class Divergence:
    """F(P, Q) = E_Q[f(P/Q)].

    Attributes:
        name: what certificates call it.
        f: convex on (0, ∞) with f(1) = 0; takes and returns an array. Trusted to 1e-9 of itself, and around 1
            to 1e-14 of its size at 1/2 and 2; very small F need a `gauge`.
        slope_at_infinity: lim f(y)/y, may be inf. value_at_zero: f(0+), may be inf.
        gauge: L ↦ f(e^L) − s·(e^L − 1) ≥ 0 for a slope s of f at 1, to 1e-9 of itself also around L = 0; made
            from f where it is left out.

    Errors: `InputError` naming the divergence, for what a grid of y from e^−120 to e^120 shows to be wrong.
    Source: Hush! Lemma 3.2.
    """

    name: str
    f: Callable[[np.ndarray], np.ndarray]
    slope_at_infinity: float
    value_at_zero: float
    gauge: Callable[[np.ndarray], np.ndarray] | None = None

    def __post_init__(self) -> None:
        y = np.exp(np.unique(np.concatenate([np.linspace(-120, 120, 961), np.linspace(-3, 3, 301)])))
        with np.errstate(all="ignore"):
            value = self._value("f", y)
            if np.isnan(value).any() or not np.all(np.isfinite(value[y <= 100])):
                self._refuse("f has values that are no finite numbers", "give f convex and finite on (0, ∞)")
            at_one = float(self._value("f", np.ones(1))[0])
            if not abs(at_one) <= 1e-14 * self._size:
                self._refuse(f"f(1) is {at_one:.3g}, not 0", "subtract f(1)")
            y, value = y[np.isfinite(value)], value[np.isfinite(value)]
            width = np.diff(y)
            slopes = np.diff(value) / width
            doubt = 1e-13 * (np.abs(value[1:]) + np.abs(value[:-1]) + self._size * (1 + y[1:])) / width
            bent = np.diff(slopes) < -doubt[1:] - doubt[:-1]
            if bent.any():
                self._refuse(f"f is not convex near {y[1:-1][bent][0]:.3g}", "give a convex f")
            if not self.slope_at_infinity >= slopes[-1] - doubt[-1] - 1e-9 * abs(slopes[-1]):
                self._refuse("slope_at_infinity is below a slope of f", "give the limit of f(y)/y, or inf")
            if not self.value_at_zero >= value[0] - (slopes[0] + doubt[0]) * y[0] - 1e-9 * abs(value[0]):
                self._refuse("value_at_zero is below what f tends to", "give the limit of f at 0, or inf")
            if sum(self.limits) <= 1e-12 * self._size:
                self._refuse("f is a straight line and tells no laws apart", "give f with a bend")
            if self.gauge is not None:
                y = y[(y >= 1e-3) & (y <= 1e3)]
                slope, given = self.tangent[0], self._value("gauge", np.log(y))
                expected = self._value("f", y) - slope * (y - 1)
                unsure = 1e-8 * np.abs(expected) + 1e-13 * (self._size + abs(slope)) * (1 + y)
                if not np.all((given >= 0) & (np.abs(given - expected) <= unsure)):
                    self._refuse("gauge is not f(e^L) − s·(e^L − 1) ≥ 0", "leave it out")

    def _refuse(self, what: str, hint: str) -> None:
        raise InputError(f"divergence {self.name}", what, hint)

    def _value(self, which: str, at: np.ndarray) -> np.ndarray:
        """f or the gauge at an array."""
        try:
            value = np.asarray(getattr(self, which)(at), dtype=np.float64)
        except (TypeError, ValueError):
            value = np.empty(0)
        if value.shape != at.shape:
            self._refuse(f"{which} does not map an array to an array of its shape", "write it with numpy")
        return value

    @cached_property
    def _size(self) -> float:
        """f's size around 1."""
        return float(np.abs(self._value("f", np.array([0.5, 2.0]))).max())

    @cached_property
    def tangent(self) -> tuple[float, float]:
        """(s, η): s is within η of a slope of f at 1; by convexity one lies between two secants."""
        if self.gauge is not None:
            return float(self._value("f", np.array([2.0]))[0] - self._value("gauge", np.log([2.0]))[0]), 0.0
        width = 2.0**-26
        below, here, above = self._value("f", np.array([1 - width, 1.0, 1 + width]))
        low, high = (here - below) / width, (above - here) / width
        return float(low + high) / 2, float(abs(high - low)) / 2 + _NEAR_ONE * self._size / width

    @property
    def limits(self) -> tuple[float, float]:
        """g's slope at infinity and g(0): what a unit of mass costs where the other law has none."""
        return self.slope_at_infinity - self.tangent[0], self.value_at_zero + self.tangent[0]

    def gauge_bounds(self, loss: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f(e^L) − s·(e^L − 1) from below and from above, shape of `loss`; the upper one is never negative."""
        with np.errstate(all="ignore"):
            if self.gauge is not None:
                value = self._value("gauge", loss)
                return value * (1 - _ROUND_OFF), value * (1 + _ROUND_OFF)
            y = np.exp(np.clip(loss, -690.0, 700.0))
            slope, doubt = self.tangent
            value, rise = self._value("f", y) - slope * (y - 1), np.abs(y - 1)
            noise = _ROUND_OFF * np.abs(value) + _NEAR_ONE * (self._size + abs(slope)) * (1 + y)
            upper = np.where(loss < -690, np.maximum(value, self.value_at_zero + slope), value) + noise
            lower = np.where(value == np.inf, np.inf, np.maximum(value - noise, -doubt * rise))
            return lower, np.where(np.isnan(upper), np.inf, np.maximum(upper, 0.0))

    def log_gauge_per_loss(self, loss: np.ndarray) -> np.ndarray:
        """log of g(e^L)/e^L from above; g(y)/y never exceeds its limit."""
        with np.errstate(divide="ignore", over="ignore"):
            limit = np.log(max(self.slope_at_infinity - self.tangent[0], 0.0))
            return np.where(loss > 690, limit, np.log(self.gauge_bounds(np.minimum(loss, 690.0))[1]) - loss)


CHI_SQUARED = Divergence("chi_squared", lambda y: (y - 1) ** 2, np.inf, 1.0, lambda loss: np.expm1(loss) ** 2)
TOTAL_VARIATION = Divergence(
    "total_variation", lambda y: np.abs(y - 1) / 2, 0.5, 0.5, lambda loss: np.abs(np.expm1(loss)) / 2
)
SQUARED_HELLINGER = Divergence(
    "squared_hellinger", lambda y: (np.sqrt(y) - 1) ** 2, 1.0, 1.0, lambda loss: np.expm1(loss / 2) ** 2
)
KL = Divergence(
    "kl_divergence", lambda y: y * np.log(y), np.inf, 0.0, lambda loss: np.exp(log_kl_gauge(loss))
)


def hockey_stick(epsilon: float) -> Divergence:
    """f(y) = max(0, y − e^ε) − max(0, 1 − e^ε): F = δ(ε) for ε ≥ 0, and δ(ε) − 1 + e^ε below.

    The bound is r ≤ e^ε·p + δ(ε): its least over ε is the tight one. Errors: `InputError` unless −20 ≤ ε ≤ 100.
    """
    if not -20 <= epsilon <= 100:
        raise InputError("epsilon", "is not a number in [−20, 100]", "give a privacy loss in nats")
    corner, side = np.exp(epsilon), 1.0 if epsilon >= 0 else -1.0
    return Divergence(
        f"hockey_stick({epsilon:g})",
        lambda y: np.maximum(y - corner, 0.0) - max(1 - corner, 0.0),
        1.0,
        min(corner - 1, 0.0),
        lambda loss: corner * np.maximum(side * np.expm1(loss - epsilon), 0.0),
    )


@dataclass(frozen=True)
class DivergenceBound:
    """F(P'‖Q') ≤ `value`, where P^T = (1 − cut)·P' + cut·(anything), and Q^T likewise with `reference_cut`.

    `cut` is 0 where f has a finite slope at infinity, `reference_cut` where f(0) is finite: what is cut is then in
    `value`. numerical_error: how much of `value` is for round-off and cuts.
    """

    value: float
    cut: float
    reference_cut: float
    numerical_error: float


def f_divergence(
    participation: Participation,
    *,
    noise_multiplier: float,
    rounds: int,
    divergence: Divergence,
    cut: float = 1e-20,
) -> DivergenceBound:
    """F(P^T‖Q^T) of one secret after T rounds, from above.

    Args:
        participation, noise_multiplier, rounds: one secret's mechanism, as for `posterior_bound`.
        cut: mass that P^T may lose: so much in K's tail, in a round's loss and in the composed loss.

    Guarantee: all error of discretisation is upwards; see `DivergenceBound` for what is cut.
    Raises:
        InputError: an argument out of range. CertificationError: round-off or cuts are not small against F.
    """
    sigma, rounds = _checked(noise_multiplier, rounds)
    if not 0 < cut < 1:
        raise InputError("cut", "does not lie strictly between 0 and 1", "leave it out")
    if participation.mean == 0:
        return DivergenceBound(0.0, 0.0, 0.0, 0.0)
    counts = participation.distribution.trimmed(cut / rounds)
    pair, tail = DominatingPair(counts, sigma), rounds * counts.tail
    slope, zero = divergence.limits
    keeps_p, keeps_q = np.isfinite(slope), np.isfinite(zero)
    if divergence == CHI_SQUARED:
        found = _chi_squared(pair, rounds)
    else:
        window = {"high": pair.upper_end(cut / rounds), "log_negligible": np.log(cut)}
        found = composed_divergence(pair, rounds, divergence, tail=tail if keeps_p else None, **window)
    truncated = min(found.truncated + tail, 1.0)
    added = (truncated * slope if keeps_p else 0.0) + (found.absent * zero if keeps_q else 0.0)
    value, error = found.value + added, found.noise + added
    if not value < np.inf:
        raise CertificationError(f"{divergence.name} exceeds what a float64 holds")
    if not error <= _LARGEST_CUT * value:
        raise CertificationError(f"{divergence.name}: round-off and cuts are {error:.1e} of {value:.1e}")
    return DivergenceBound(value, 0.0 if keeps_p else truncated, 0.0 if keeps_q else found.absent, error)


def posterior_by_divergence(
    participation: Participation,
    *,
    noise_multiplier: float,
    rounds: int,
    prior: float,
    divergence: Divergence,
) -> Bound:
    """No adversary who sees T rounds names the secret with probability above the returned value.

    The largest r ≥ p with F(Bern(r), Bern(p)) ≤ F(P'^T, Q'^T), and what was cut; 1 where every r has it.

    Args and errors: as for `posterior_bound`; method is the divergence's name.
    Guarantee: Definition 3.1 of Hush!, by Lemma 3.2 in one direction (docs/guarantee.md §2-3).
    """
    sigma, rounds = _checked(noise_multiplier, rounds)
    if not 0 < prior < 1:
        raise InputError(
            "prior", f"{prior:g} does not lie strictly between 0 and 1", "give the best blind guess"
        )
    if participation.mean == 0:  # the releases do not depend on the secret
        return Bound(prior, divergence.name)
    if prior < LEAST_PRIOR * (1 - 1e-9):
        raise CertificationError(f"certified are priors from {LEAST_PRIOR:g}")
    cut = CUT * prior / rounds
    counts = participation.distribution.trimmed(cut)
    pair, tail = DominatingPair(counts, sigma), rounds * counts.tail
    if rounds * pair.mean**2 / (2 * sigma**2) > 200 - 4 * np.log(prior):
        return Bound(1.0, divergence.name)  # the shift alone is more than enough to detect
    if divergence == CHI_SQUARED:
        found = _chi_squared(pair, rounds)
    else:
        certain = _BEYOND_PRIOR - float(np.log(prior))
        ends = {
            "high": pair.inverse_loss(certain, -LOW * sigma, pair.upper_end(cut)),
            "log_negligible": float(np.log(_NEGLIGIBLE * prior)),
        }
        found = composed_divergence(pair, rounds, divergence, certain=certain, **ends)
    truncated = min(found.truncated + tail, 1.0)
    value = posterior_from_divergence(divergence, found.value, prior / (1 - found.absent))
    value += truncated * (1 - value)  # P^T(A) = (1 − m)·P'(A) + m·(anything)
    if not value < 1:
        return Bound(1.0, divergence.name)
    sound = posterior_from_divergence(divergence, found.value - found.noise, prior)
    error = max(value - sound - found.detected * (1 - sound), 0.0)
    if not error <= _LARGEST_CUT * value:
        raise CertificationError(
            f"{divergence.name}: round-off and cuts are {error / value:.1%} of the bound"
        )
    return Bound(max(value, prior), divergence.name, error)


def posterior_from_divergence(divergence: Divergence, budget: float, prior: float) -> float:
    """The largest r ≥ p with F(Bern(r), Bern(p)) ≤ `budget`, from above; 1 where every r has it."""
    if not prior < 1:
        return 1.0

    def exceeds(gap: np.ndarray) -> np.ndarray:
        up, down = (divergence.gauge_bounds(ratio)[0] for ratio in log_ratios(prior, gap))
        return prior * up + (1 - prior) * down > budget

    return float(largest_posterior(exceeds, np.array([prior]))[0])


def _checked(noise_multiplier: float, rounds: int) -> tuple[float, int]:
    check_mechanism(noise_multiplier=noise_multiplier, rounds=rounds)
    if not (LEAST_NOISE <= noise_multiplier <= MOST_NOISE and rounds <= MOST_ROUNDS):
        raise CertificationError(
            f"certified are noise multipliers in [{LEAST_NOISE:g}, {MOST_NOISE:g}] and at most {MOST_ROUNDS} rounds"
        )
    return float(noise_multiplier), int(rounds)


def _chi_squared(pair: DominatingPair, rounds: int) -> ComposedDivergence:
    """1 + χ² is multiplicative over rounds."""
    with np.errstate(over="ignore"):
        return ComposedDivergence(float(np.expm1(rounds * RenyiMoments(pair, 2.0).log_moment(2.0))))
