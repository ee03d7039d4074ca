"""The tight certificate: r = B_{P^T,Q^T}(p), the most that an event of Q-mass p can weigh under P.

Theorem 2 of Hayes et al. 2023; the Hush! paper (§3.3, §5.1) gave it up as numerically unstable. Read in the
dual form

    r = min over t of  e^t·p + δ(t),      δ(t) = Σ_{v>t} (1 − e^{t−v})·P^T(v) + P^T(∞),

it is stable: EVERY t gives a valid bound, P's masses are used as they are (Q's are never formed), and an
error of ν in a mass moves r by at most ν. What is cut or rounded is added to r: the tails of K and of the loss
(infinity mass of each round), mass beyond the window of the FFT (Chernoff), round-off (a-priori bound).

The lower bound is an attack: the randomised binning that made the grid is something an adversary can do, and
"the binned loss exceeds t" is a test. Its power is P's composed masses above t, its level Q's own composed
masses (`reference`); what was cut or rounded is taken off the power and added to the level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from hush_core.accounting.composition import TiltedLaw, WindowTooLong, self_compose
from hush_core.accounting.discretise import DiscreteLoss, discretise
from hush_core.accounting.mixture import DominatingPair
from hush_core.errors import CertificationError

_TOLERANCE = 5e-5
"""Aim for the relative excess of r that each of the discretisations adds (it is part of the bound)."""
_NEGLIGIBLE = 1e-9
"""Relative to r: what the window may cut."""
_ENOUGH = 5e-5
"""Relative to r: cuts and round-off below this share end the search for a better tilt."""
_CLOSE = 2e-3
"""Relative to r: so near should the lower bound be, where it is asked for."""
_LARGEST_CUT = 0.1
"""Relative to r: beyond this share for cuts and round-off the number is valid but not tight."""
_SURE = 1 - 1e-9
"""Where a simple test is this sure to detect the secret, 1 is the bound without computing."""
_TILTS = ((0.5, True), (0.75, True), (1.0, True), (0.92, False), (0.97, False))
"""Shares of the saddle's tilt, and whether to compose in stages. Half the tilt first: round-off is nearly as small
there, and rare large losses need a shorter window."""
_TRIES = 3
"""So many are tried for accuracy alone; the others, for laws of two scales (a rare event or none), only where the
result would be refused."""
_BEYOND_PRIOR = 32.0
"""A loss above log(1/p) + 32 counts as certain detection: Q gives it less than e^{−32}·p."""


@dataclass(frozen=True)
class BlowUp:
    """By prior: `upper`, the certified bound; `lower`, what a test of the pair reaches; `cut`, how much of `upper`
    was added for what was cut or rounded. `lower` is 0 where it was not asked for."""

    upper: np.ndarray
    lower: np.ndarray
    cut: np.ndarray


def blow_up_posteriors(
    pair: DominatingPair,
    rounds: int,
    priors: np.ndarray,
    *,
    cut: float,
    moved_up: float = 0.0,
    lower: bool = False,
) -> BlowUp:
    """The tight posterior after T rounds, for every prior.

    Args:
        pair: one round's dominating pair, mass 1. priors: (k,), each in (0, 1).
        cut: mass that P may lose per round in the tail of the loss (added at infinity).
        moved_up: mass of K that `pair` holds above its true place (taken off `lower`).

    Errors: `CertificationError` where a check fails or the cuts are not small against the result.
    """
    result = BlowUp(np.full(len(priors), np.inf), np.zeros(len(priors)), np.zeros(len(priors)))
    power = _power_of_the_sum(pair, rounds, priors)
    open_ = power < _SURE
    result.upper[~open_], result.lower[~open_] = 1.0, power[~open_] - rounds * moved_up
    while open_.any():
        prior = float(priors[open_].min())
        low = -9.0 * pair.sigma
        high = pair.inverse_loss(_BEYOND_PRIOR - np.log(prior), low, pair.upper_end(cut))
        # a loss beyond the grid in any round: detected for sure
        detected = -float(np.expm1(rounds * np.log1p(-min(pair.p_above(high), _SURE))))
        if detected >= _SURE:
            result.upper[open_], result.lower[open_] = 1.0, detected - rounds * moved_up
            break
        for tries, (law, reference, loss) in enumerate(_compositions(pair, rounds, prior, low, high, lower)):
            _improve(result, open_, _upper(law, priors[open_], rounds, detected))
            if reference is not None:
                share = 1 - rounds * (loss.moved_up + moved_up)
                sure = (detected, rounds * loss.infinity_reference)
                found = share * _lower(law, reference, priors[open_], *sure)
                result.lower[open_] = np.maximum(result.lower[open_], found)
            good = result.cut <= _ENOUGH * result.upper
            if lower:
                good &= result.lower >= (1 - _CLOSE) * result.upper
            own = priors == prior
            enough = good if tries < _TRIES - 1 else result.cut <= _LARGEST_CUT * result.upper
            if enough[open_ & own].all():
                break
        open_ &= ~good & ~own
    if not np.all(result.cut <= _LARGEST_CUT * result.upper):
        worst = float((result.cut / result.upper).max())
        raise CertificationError(f"round-off and cuts are {worst:.1%} of the blow-up bound")
    return result


def _power_of_the_sum(pair: DominatingPair, rounds: int, priors: np.ndarray) -> np.ndarray:
    """From below, how surely "the rounds' sum exceeds √T·σ·Φ⁻¹(1−p)", a test of level p, detects the secret.

    ΣK is at least half its mean T·E[K] but with probability e^{−T·E[K]/8} (Chernoff), and σ√T is the noise's scale.
    """
    shift = np.sqrt(rounds) * pair.mean / (2 * pair.sigma)
    return np.clip(1 - np.exp(-rounds * pair.mean / 8) - ndtr(-ndtri(priors) - shift), 0.0, 1.0)


def _improve(result: BlowUp, where: np.ndarray, found: tuple[np.ndarray, np.ndarray]) -> None:
    """Take the smaller bound. Its excess is no more than its distance from what another composition has for
    certain, nor less than the smaller of the two cuts."""
    upper, cut = found
    old, old_cut = result.upper[where], result.cut[where]
    floor = np.maximum(upper - cut, np.where(np.isfinite(old), old - old_cut, 0.0))
    least = np.where(np.isfinite(old), np.minimum(cut, old_cut), cut)
    result.upper[where] = np.minimum(old, upper)
    result.cut[where] = np.maximum(result.upper[where] - floor, least)


def _compositions(pair: DominatingPair, rounds: int, prior: float, low: float, high: float, lower: bool):
    """Compositions under several tilts, the one that should suit `prior` best first."""
    tilt, spread, log_r = _saddle(pair, rounds, prior, low, high)
    curvature = max(tilt * (tilt + 1), 0.25) * rounds / 12
    step = np.sqrt(_TOLERANCE / curvature)
    cell = np.sqrt(_TOLERANCE / (curvature * spread)) if spread > 0 else np.inf
    grid = {"low": low, "high": high, "cell": cell}
    finest = discretise(pair, **grid, step=step)
    for share, staged in dict.fromkeys((share * bool(tilt), staged) for share, staged in _TILTS):
        discrete = finest
        for _ in range(6):
            try:
                laws = self_compose(
                    _laws(discrete, share * tilt, lower), rounds, log_r + np.log(_NEGLIGIBLE), staged=staged
                )
                break
            except WindowTooLong as refusal:  # a coarser grid is less tight, never less valid
                discrete = discretise(pair, **grid, step=discrete.step * refusal.excess * 1.05)
        else:
            raise WindowTooLong(1.0)
        yield laws[0], laws[1] if lower else None, discrete


def _laws(loss: DiscreteLoss, tilt: float, lower: bool) -> list[TiltedLaw]:
    laws = [TiltedLaw.of(loss.step, loss.first, loss.mass, tilt)]
    if lower:
        laws.append(TiltedLaw.of(loss.step, loss.first, loss.reference, tilt + 1))
    return laws


def _saddle(
    pair: DominatingPair, rounds: int, prior: float, low: float, high: float
) -> tuple[float, float, float]:
    """(θ, E_θ[L'²], log r): the tilt at which the tilted mean loss is the threshold of Q-mass p, the loss's
    slope there, and r roughly, from below.

    Only accuracy hangs on these numbers, never validity.
    """
    x, table = pair.uniform(low, high, pair.fine_step, np.zeros(1))
    loss = table[:, 0]
    log_p = pair.log_q(x[:, 0]) + loss
    base = np.exp(log_p).sum()

    def tilted(theta: float) -> tuple[np.ndarray, float, float]:
        weighted = log_p + theta * loss
        top = weighted.max()
        mass = np.exp(weighted - top)
        total = mass.sum()
        mass /= total
        return mass, float(mass @ loss), float(top + np.log(total) - np.log(base))

    def excess(theta: float) -> float:
        _, mean, log_moment = tilted(theta)
        return rounds * (mean * (theta + 1) - log_moment) + np.log(prior)

    theta = 0.0
    if excess(0.0) < 0:
        theta = _root(excess, 1e-3, 1e12)
    mass, _, log_moment = tilted(theta)
    moment = rounds * log_moment
    # near the saddle point log r is about Λ(θ) − θ·t with (θ+1)·t = Λ(θ) − log p; it is at least log p
    log_r = max(np.log(prior), min(moment - theta * (moment - np.log(prior)) / (theta + 1), 0.0))
    slope = np.gradient(loss, x[:, 0]) if len(x) > 1 else np.zeros(1)
    return theta, float(mass @ slope**2), float(log_r)


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Bisection in the logarithm for the sign change of an increasing function."""
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
        if high / low < 1.001:
            break
    return high


@dataclass(frozen=True)
class _Tails:
    """Untilted sums of a law above each threshold; `weight` is what one tilted unit counts at each value."""

    values: np.ndarray
    weight: np.ndarray
    at_least: np.ndarray
    """Σ masses from this value on."""
    error: np.ndarray
    """Σ error from this value on, and what is astray."""


def _tails(law: TiltedLaw) -> _Tails:
    # weights far below the threshold overflow and those far above vanish: keep to where they are finite
    log_weight = law.scale - law.tilt * law.values
    usable = log_weight < 600
    if not usable.any():
        raise CertificationError("the composed privacy loss lies outside its window")
    weight = np.exp(log_weight[usable])
    masses = np.maximum(law.masses[usable], 0.0) * weight
    return _Tails(law.values[usable], weight, _from_above(masses), law.error * _from_above(weight))


def _from_above(array: np.ndarray) -> np.ndarray:
    return np.cumsum(array[::-1])[::-1]


def _upper(law: TiltedLaw, priors: np.ndarray, rounds: int, detected: float) -> tuple[np.ndarray, np.ndarray]:
    """(bound, how much of it was cut or rounded): the least of e^t·p + δ(t) near where Q's tail is p."""
    tails = _tails(law)
    masses = np.maximum(law.masses[-len(tails.values) :], 0.0) * tails.weight
    q_above = _from_above(masses * np.exp(-np.maximum(tails.values, -700.0)))
    factor = np.exp(np.minimum(tails.values, 700.0))
    # both sums are of the same non-negative masses, so rounding upwards is right for either
    delta = np.maximum(tails.at_least - factor * q_above, 0.0)
    # losses, weights and masses of a round are good to 1e-13 of themselves, and that grows with the rounds
    growth = 1 + 1e-11 + rounds * 2e-13
    summing = 4 * np.finfo(np.float64).eps * len(masses) * tails.at_least
    # the best threshold is where Q's tail is p; rounding may put it one or two places off
    place = len(q_above) - np.searchsorted(q_above[::-1], priors, side="right")
    places = np.clip(place[:, None] + np.arange(-2, 3), 0, len(q_above) - 1)
    round_off = tails.error[places] + summing[places]
    value = (factor[places] * priors[:, None] + delta[places]) * growth + round_off + law.truncated + detected
    best = value.argmin(axis=1)[:, None]
    upper = np.take_along_axis(value, best, axis=1)[:, 0]
    # what is astray is in the masses already; it may stand for nothing, too
    cut = (
        np.take_along_axis(round_off + law.aliasing * tails.weight[places], best, axis=1)[:, 0]
        + law.truncated
    )
    # t → −∞: the trivial event
    return np.minimum(upper, 1.0), np.where(upper < 1, cut, 0.0)


def _lower(
    law: TiltedLaw, reference: TiltedLaw, priors: np.ndarray, detected: float, falsely: float
) -> np.ndarray:
    """The power of tests on the binned loss whose level is at most p, randomised between two thresholds.

    A loss beyond the grid always fires: power `detected`, level at most `falsely`.
    """
    p_tails, q_tails = _tails(law), _tails(reference)
    size = min(len(p_tails.values), len(q_tails.values))
    power = p_tails.at_least[-size:] - p_tails.error[-size:] - law.aliasing * p_tails.weight[-size:]
    level = q_tails.at_least[-size:] + q_tails.error[-size:] + reference.aliasing * q_tails.weight[-size:]
    power = np.maximum(power, 0.0) + detected
    level = level + falsely
    # from the highest threshold down; (0, 0) is the test that never fires
    level, power = np.concatenate([[0.0], level[::-1]]) * (1 + 1e-9), np.concatenate([[0.0], power[::-1]])
    place = np.clip(np.searchsorted(level, priors, side="right") - 1, 0, len(level) - 2)
    width = level[place + 1] - level[place]
    share = np.clip(
        np.where(width > 0, (priors - level[place]) / np.where(width > 0, width, 1.0), 0.0), 0.0, 1.0
    )
    found = power[place] + share * np.maximum(power[place + 1] - power[place], 0.0)
    return np.minimum(np.maximum(found * (1 - 1e-9), 0.0), 1.0)
