"""(ε, δ) and the f-DP trade-off curve of one secret, by dp_accounting's privacy loss distribution.

>>> k = Participation.binomial(count=100, rate=2048 / 1.2e6)
>>> profile = privacy_profile(k, noise_multiplier=3.0, rounds=2000, resolution=1e-6)
>>> round(profile.epsilon(1e-5), 1)
14.3

The neighbouring relation is ZERO-OUT OF THE SECRET: two runs are neighbours when they differ in whether ALL
examples that hold the secret contribute, or all are replaced by zero. It is group privacy of the secret's
examples with their Poisson sampling rates; as the sum is divided by the EXPECTED batch size, zero-out and removal
are one. P is the run in which they contribute, Q the reference run in which they are zero (docs/mathematics.md §2).

It shares no numerics with `blow_up`; tests compare the two.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from hush_core.accounting.bounds import Bound
from hush_core.accounting.dp.hockey_stick import HockeyStick, composed_hockey_stick
from hush_core.accounting.participation import Participation
from hush_core.accounting.runs import check_mechanism
from hush_core.errors import CertificationError, InputError

_LARGEST_SLACK = 1e-2
"""Relative to a posterior: beyond this share for shortfall and round-off, dp_accounting's number checks nothing."""

Null = Literal["reference", "real", "either"]


@dataclass(frozen=True)
class PrivacyProfile:
    """What T rounds reveal of one secret, as DP says it; made by `privacy_profile`.

    Attributes:
        participation, noise_multiplier, rounds: one secret's mechanism.
        resolution: the least prior, δ or false positive rate of interest; what is cut is 1e-6 of it.
        step: discretisation of one round's loss; None for our choice.

    Guarantee: δ, ε and the posterior are upper bounds and the trade-off a lower one. One round is checked against
    the closed form at every grid point; the composition is dp_accounting's, with its round-off bounded a priori.
    Source: Dong, Roth, Su (2022) for f-DP; Doroshenko et al. (2022) for connect-the-dots.
    """

    participation: Participation
    noise_multiplier: float
    rounds: int
    resolution: float
    step: float | None = None

    @cached_property
    def real_over_reference(self) -> HockeyStick:
        """δ_{P‖Q} (dp_accounting's REMOVE)."""
        return self._order(mixture_is_upper=True)

    @cached_property
    def reference_over_real(self) -> HockeyStick:
        """δ_{Q‖P} (dp_accounting's ADD)."""
        return self._order(mixture_is_upper=False)

    def _order(self, *, mixture_is_upper: bool) -> HockeyStick:
        return composed_hockey_stick(
            self.participation,
            noise_multiplier=self.noise_multiplier,
            rounds=self.rounds,
            resolution=self.resolution,
            step=self.step,
            mixture_is_upper=mixture_is_upper,
        )

    def posterior(self, prior: float) -> Bound:
        """min over v of e^v·p + δ_{P‖Q}(v): no adversary names the secret with probability above the value.

        Errors: `InputError` unless 0 < p < 1; `CertificationError` where round-off is not small against it.
        """
        _check_inside("prior", prior, "give the best blind guess")
        if self.participation.mean == 0:
            return Bound(prior, "dp_accounting")
        stick = self.real_over_reference
        value, low, high = 1.0, -5.0, -math.log(prior)
        for _ in range(3):
            epsilons = np.linspace(low, high, 200)
            bounds = np.exp(epsilons) * prior + stick.composed(epsilons)
            best = int(np.argmin(bounds))
            value = min(value, float(bounds[best]))
            low, high = epsilons[max(best - 1, 0)], epsilons[min(best + 1, 199)]
        if not stick.slack <= _LARGEST_SLACK * value:
            raise CertificationError(
                f"shortfall and round-off may be {stick.slack / value:.1%} of dp_accounting's posterior"
            )
        missing = stick.cut + stick.slack
        return Bound(min(value + missing, 1.0), "dp_accounting", missing)

    def delta(self, epsilon: ArrayLike) -> np.ndarray | float:
        """The least δ found with (ε, δ)-DP of the secret, in both orders; shape of `epsilon`.

        Errors: `InputError` unless every ε is finite. Below 0, e^ε·Q(E) + δ bounds P(E) and vice versa.
        """
        e = np.asarray(epsilon, np.float64)
        if not np.all(np.isfinite(e)):
            raise InputError("epsilon", "is not finite", "give finite numbers")
        up = np.maximum(self.real_over_reference(np.abs(e)), self.reference_over_real(np.abs(e)))
        # H_{e^{−a}}(A‖B) = 1 − e^{−a} + e^{−a}·H_{e^a}(B‖A): never reads the far tail, where round-off grows
        below = np.minimum(e, 0.0)
        result = np.minimum(-np.expm1(below) + np.exp(below) * up, 1.0)
        return float(result) if result.ndim == 0 else result

    def epsilon(self, delta: float) -> float:
        """The least ε ≥ 0 found with (ε, δ)-DP of the secret, in both orders; inf where δ is below what was cut.

        Errors: `InputError` unless 0 < δ < 1.
        """
        _check_inside("delta", delta, "give δ between 0 and 1")
        low, high = 0.0, max(self.real_over_reference.last_loss, self.reference_over_real.last_loss, 0.0)
        if self.delta(high) > delta:
            return math.inf
        if self.delta(low) <= delta:
            return 0.0
        for _ in range(60):  # `high` is always one at which δ was seen to hold
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high

    def trade_off(self, false_positive_rates: ArrayLike, *, null: Null = "either") -> np.ndarray:
        """f(α): no test with type I error at most α has a type II error below f(α); a certified LOWER bound.

        `f(α) = sup over ε ≥ 0 of max(1 − δ(ε) − e^ε·α, e^{−ε}·(1 − δ'(ε) − α), 0)`: Proposition 2.12 of Dong, Roth,
        Su for each order apart. δ is that of (alternative ‖ null) and δ' that of (null ‖ alternative): 1 − δ'(ε) in
        the second term takes the place of ε < 0 in the first.

        Args:
            false_positive_rates: α in [0, 1], any shape.
            null: the null hypothesis. With "reference" the secret's examples are zero, and the test claims to see
                them; 1 − f(p) is then `posterior(p)`. With "real" the orders are exchanged, which gives the
                inverse. With "either" both orders count, by max(δ, δ'): the symmetric f for which training is f-DP.

        Errors: `InputError` naming the argument.
        """
        alpha = np.asarray(false_positive_rates, np.float64)
        if not np.all((alpha >= 0) & (alpha <= 1)):
            raise InputError("false_positive_rates", "are not all in [0, 1]", "give probabilities")
        if null not in get_args(Null):
            raise InputError("null", "is not known", f"take one of {', '.join(get_args(Null))}")
        one, other = self.real_over_reference, self.reference_over_real
        top = max(one.last_loss, other.last_loss, 1e-9)
        places = np.concatenate([np.linspace(0, 1, 1500), np.geomspace(1e-6, 1, 1000)])
        epsilons = np.unique(places) * top
        first, second = one(epsilons), other(epsilons)
        if null == "real":
            first, second = second, first
        elif null == "either":
            first = second = np.maximum(first, second)
        with np.errstate(over="ignore", invalid="ignore"):
            growth = np.exp(epsilons)
            flat = alpha.ravel()
            found = np.zeros(flat.shape)
            for start in range(0, len(flat), 500):
                a = flat[start : start + 500, None]
                # e^ε may overflow, and 0·inf is no number: a test that never rejects loses δ alone
                reject = np.where(a > 0, growth * a, 0.0)
                accept = (1 - second - a) / growth
                found[start : start + 500] = np.maximum(1 - first - reject, accept).max(axis=1)
        return np.maximum(found, 0.0).reshape(alpha.shape)


def privacy_profile(
    participation: Participation,
    *,
    noise_multiplier: float,
    rounds: int,
    resolution: float = 1e-10,
    step: float | None = None,
) -> PrivacyProfile:
    """The privacy profile of one secret; composes P‖Q at once and Q‖P when first needed.

    Args:
        participation: how the secret's examples enter a round.
        noise_multiplier: σ > 0, relative to the clip norm. rounds: T ≥ 1.
        resolution: the least prior, δ or false positive rate that will be asked for; smaller ones stay valid.
        step: the discretisation of one round's loss; by default it shrinks with √T, as far as that takes seconds.

    Raises:
        InputError: an argument out of range. CertificationError: the pair is out of dp_accounting's reach, or a
            check on its numbers fails; nothing is returned in its place.
    """
    check_mechanism(noise_multiplier=noise_multiplier, rounds=rounds)
    _check_inside("resolution", resolution, "give the least probability of interest")
    if step is not None and not (np.isfinite(step) and step > 0):
        raise InputError("step", "is not a positive finite number", "leave it out, or give about 0.02/√T")
    profile = PrivacyProfile(participation, float(noise_multiplier), int(rounds), float(resolution), step)
    _ = profile.real_over_reference
    return profile


def _check_inside(where: str, number: float, hint: str) -> None:
    if not 0 < number < 1:
        raise InputError(where, "does not lie strictly between 0 and 1", hint)
