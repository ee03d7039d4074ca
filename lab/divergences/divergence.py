"""A convex f, and what is read of it: divergences by name, by formula, and what is refused.

>>> one = Divergence("JS", lambda y: y * np.log(y) - (y + 1) * np.log((y + 1) / 2), np.log(2), np.log(2))
>>> bool(one.limits[0] > 0)
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush_core.accounting.bernoulli import log_kl_gauge
from hush_core.errors import InputError

_ROUND_OFF, _NEAR_ONE = 1e-9, 1e-14
"""What is trusted of a gauge, relative to itself, and of f around 1, relative to its size at 1/2 and 2."""


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
