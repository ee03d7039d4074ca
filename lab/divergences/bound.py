"""Certificates by any divergence of Lemma 3.2: F(P^T, Q^T) ≤ F(Bern(r), Bern(p)) for a convex f by choice.

>>> from hush_core.accounting import Participation
>>> from lab.divergences.divergence import hockey_stick
>>> k = Participation.binomial(count=50, rate=1e-3)
>>> by = {"noise_multiplier": 2.0, "rounds": 500, "prior": 1e-4}
>>> f"{posterior_by_divergence(k, divergence=hockey_stick(2.3), **by).value:.3g}"
'0.00105'
>>> halfway = Divergence("JS", lambda y: y * np.log(y) - (y + 1) * np.log((y + 1) / 2), np.log(2), np.log(2))
>>> f"{posterior_by_divergence(k, divergence=halfway, **by).value:.3g}"
'0.117'

None is tighter than `blow_up`, and the best hockey-stick is equal to it. F is read from the composed loss law
(composed.py). What is cut there leaves laws P', Q' with P^T(A) ≤ (1−m)·P'(A) + m and
Q'(A) ≤ Q^T(A)/(1−q). F(P', Q') is bounded, and r ≤ (1−m)·r' + m with r' read at p/(1−q): nothing need be known of
f's tails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hush_core.accounting.bernoulli import largest_posterior, log_ratios
from hush_core.accounting.bounds import (
    CUT,
    LEAST_NOISE,
    LEAST_PRIOR,
    MOST_NOISE,
    MOST_ROUNDS,
    Bound,
)
from hush_core.accounting.mixture import DominatingPair
from hush_core.accounting.participation import Participation
from hush_core.accounting.renyi import RenyiMoments
from hush_core.accounting.runs import check_mechanism
from hush_core.errors import CertificationError, InputError
from lab.divergences.composed import LOW, ComposedDivergence, composed_divergence
from lab.divergences.divergence import CHI_SQUARED, Divergence

_LARGEST_CUT = 0.1
"""Relative to the result: beyond this share for cuts and round-off it is refused."""
_NEGLIGIBLE = 1e-9
"""Relative to the prior: what the window may cut."""
_BEYOND_PRIOR = 32.0
"""A loss above log(1/p) + 32, of one round or of all, counts as detection: Q gives it less than e^{−32}·p."""


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
    Guarantee: Definition 3.1 of Hush!, by Lemma 3.2 in one direction (docs/mathematics.md §2-3).
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
