"""An f-divergence of T rounds, from above: the pessimistic law of the composed loss, read as P's and as Q's.

The pair on the grid dominates (P^T, Q^T), so its divergence is the larger (data processing). With the gauge g ≥ 0
of `divergence.Divergence`, F = Σ_v Q(v)·g(e^v): no term is negative, so F is good to a part of itself.
The masses come from several Esscher tilts; each gives an upper bound on the mass at v, and the least counts.

The lemma wants laws of mass 1. Of P, what lies above the window or beyond the grid is left out and reported as
`truncated`; what lies below is raised to the window's first loss, with as much of Q as belongs there. The rest of Q
outside is left out and reported as `absent`. Both laws are scaled to mass 1; by how much is known up to a small
interval, and g takes its largest value on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, ndtr

from hush_core.accounting.composition import LONGEST_FFT, TiltedLaw, Window, convolve, find_window, fitted
from hush_core.accounting.discretise import DiscreteLoss, discretise
from hush_core.accounting.kl import kl_divergence
from hush_core.accounting.mixture import DominatingPair
from hush_core.errors import CertificationError
from lab.divergences.divergence import Divergence

LOW = 9.0
"""Standard deviations below 0 where the grid of x begins; Φ(−9) = 1e-19."""
_TOLERANCE = 3e-5
"""Aim for the relative excess of F that the grid adds (it is part of the bound)."""
_ROUND_OFF = 1e-9
_ENOUGH = 1e-4
"""Relative to F: round-off below this share ends the search for a further tilt."""
_MOST_TILTS = 8
_LARGEST_EXPONENT = 1e5
"""Of a tilt, at the window's ends: so the rounding of the exponent stays below 1e-10."""
_REFINEMENTS = 6
_MOST_CELLS = 300_000
_HARDLY_KEPT = 1e-9
"""Where less than this of P is left, it is detected for sure."""


@dataclass(frozen=True)
class ComposedDivergence:
    """`value` ≥ F(P', Q') where P^T = (1−m)·P' + m·(anything), m ≤ truncated, and Q^T likewise with q ≤ absent.

    Where P was not to be scaled, F(P'', Q') for the part P'' of P that lacks `truncated`. noise: how much of
    `value` stands for round-off. detected: the part of `truncated` that certainly lay beyond the grid of x,
    or `certain`.
    """

    value: float
    noise: float = 0.0
    truncated: float = 0.0
    absent: float = 0.0
    detected: float = 0.0


def composed_divergence(
    pair: DominatingPair,
    rounds: int,
    divergence: Divergence,
    *,
    high: float,
    log_negligible: float,
    certain: float = np.inf,
    tail: float | None = None,
) -> ComposedDivergence:
    """F of T rounds, on a grid that is made finer until it adds little.

    Args:
        pair: one round's dominating pair, mass 1. high: the end of the grid of x.
        log_negligible: log of the mass of P that the window may leave out.
        certain: a composed loss above this counts as detection, like one beyond the grid of x.
        tail: given where P is not to be scaled to mass 1: what K's cut tail weighs in all rounds together.

    Errors: `CertificationError` where a check fails.
    """
    low = -LOW * pair.sigma
    guide = _Guide.of(pair, rounds, low, high)
    least_step = guide.reach / LONGEST_FFT
    # each round adds step²/12 to the KL divergence; where that is large, to the variance of the loss
    step = np.sqrt(12 * _TOLERANCE * min(kl_divergence(pair), 1 / rounds))
    best = None
    for _ in range(_REFINEMENTS):
        step = max(step, least_step)
        cell = max(step * guide.x_per_loss, (high - low) / _MOST_CELLS)
        discrete = discretise(pair, low=low, high=high, cell=cell, step=step)
        window = _window(discrete, rounds, log_negligible)
        if len(window) > LONGEST_FFT:  # a coarser grid is less tight, never less valid
            least_step = step = step * len(window) / LONGEST_FFT * 1.02
            continue
        masses = _Masses(discrete, rounds, window, guide)
        unseen = rounds * (pair.q_above(high) + float(ndtr(-LOW)))
        found, excess = _on_grid(masses, divergence, unseen=unseen, certain=certain, tail=tail)
        best = found if best is None or found.value < best.value else best
        allowed = _TOLERANCE * max(found.value - excess, 0.1 * found.value)
        if excess <= 1.5 * allowed or step == least_step:
            break
        step *= 0.9 * np.sqrt(allowed / excess)
    if best is None:
        raise CertificationError("the composed privacy loss does not fit the longest FFT; use method renyi")
    return best


def _window(discrete: DiscreteLoss, rounds: int, log_negligible: float) -> Window:
    """Where P lies and, below, where Q lies; wide enough that what is absent is small against a small F, too."""
    p, q = (find_window([(_law(discrete, tilt), rounds)], log_negligible) for tilt in (0.0, -1.0))
    first = min(p.first, q.first - (q.last - q.first) // 6)
    # what lies outside differs from tilt to tilt: `fitted` says it
    return Window(max(first, rounds * _law(discrete, 0.0).first), p.last, p.above, np.inf)


def _law(discrete: DiscreteLoss, tilt: float) -> TiltedLaw:
    return TiltedLaw.of(discrete.step, discrete.first, discrete.mass, tilt)


class _Masses:
    """Upper bounds on P's mass at each loss of the window: the least over the tilts that were composed."""

    def __init__(self, discrete: DiscreteLoss, rounds: int, window: Window, guide: _Guide) -> None:
        self.discrete, self.rounds, self.window, self.guide = discrete, rounds, window, guide
        # losses, weights and masses of a round are good to 1e-13 of themselves, and that grows with the rounds
        self.vague = _ROUND_OFF + rounds * 2e-13
        self.tilts: list[float] = []
        self.log_mass = self.log_noise = np.array(np.inf)
        self.first = self.compose(-1.0 if rounds > 1 else 0.0)  # one round needs no FFT, and has no round-off
        self.values = self.first.values
        largest = max(_LARGEST_EXPONENT / float(np.abs(self.values).max() + 1e-300), 1.0)
        self.choice = np.append(0.0, np.geomspace(1e-2, largest, 60)) if rounds > 1 else np.zeros(1)

    def compose(self, tilt: float) -> TiltedLaw:
        """One more tilt."""
        parts = [(_law(self.discrete, tilt), self.rounds)]
        law = convolve(parts, fitted(parts, self.window))
        weight = law.scale - tilt * law.values
        with np.errstate(divide="ignore"):
            mass = np.log(np.maximum(law.masses, 0.0) + law.error) + weight
            noise = np.log(law.error) + weight
        self.log_noise = np.where(mass < self.log_mass, noise, self.log_noise)
        self.log_mass = np.minimum(mass, self.log_mass)
        self.tilts.append(tilt)
        return law

    def beyond(self, loss: float) -> tuple[float, float]:
        """P's mass in the window above a loss, from below and from above."""
        out = self.values > loss
        if not out.any():
            return 0.0, 0.0
        nothing = np.zeros(int(out.sum()))
        tilt = self.guide.best_tilt(self.choice, self.values[out], nothing, nothing + np.inf) or 0.0
        law = self.compose(tilt)
        weight = np.exp(law.scale - tilt * law.values[out])
        mass = float(np.maximum(law.masses[out], 0.0) @ weight)
        doubt = self.vague * mass + law.error * float(weight.sum())
        return max(mass - doubt - law.aliasing * float(weight.max()), 0.0), mass + doubt

    def integral(self, ratio: np.ndarray) -> tuple[float, float]:
        """(Σ mass·e^ratio from above, how much of it is round-off); composes the tilts that this needs."""
        while True:
            with np.errstate(over="ignore"):
                value, noise = (float(np.exp(part + ratio).sum()) for part in (self.log_mass, self.log_noise))
            if noise <= _ENOUGH * value < np.inf or len(self.tilts) == _MOST_TILTS:
                return value, noise
            fresh = np.setdiff1d(np.concatenate([-self.choice, self.choice]), self.tilts)
            one_error = ratio + np.log(self.first.error)
            tilt = self.guide.best_tilt(fresh, self.values, one_error, self.log_noise + ratio)
            if tilt is None:
                return value, noise
            self.compose(tilt)


def _on_grid(
    masses: _Masses, divergence: Divergence, *, unseen: float, certain: float, tail: float | None
) -> tuple[ComposedDivergence, float]:
    """(F, how much of it comes from the width of the grid, roughly).

    `unseen`: Q's mass outside the grid of x, all rounds together.
    """
    rounds, losses, first = masses.rounds, masses.values, masses.first
    # under tilt −1 the masses are Q's: what lies outside the window is a bound on what Q lacks
    absent = unseen + first.aliasing * float(np.exp(first.scale))
    off_grid = -float(np.expm1(rounds * np.log1p(-masses.discrete.infinity)))
    beyond = masses.beyond(certain)
    detected, truncated = off_grid + beyond[0], min(off_grid + beyond[1] + first.truncated, 1.0)
    if tail is None and truncated > 1 - _HARDLY_KEPT:
        return ComposedDivergence(np.inf, truncated=1.0), 0.0
    if not max(absent, tail or 0.0) < 0.5:
        raise CertificationError("the composed privacy loss lies outside its window")
    # how far the losses move when both laws are scaled to mass 1: an interval
    shifts = (-np.log1p(-detected), -np.log1p(-truncated)) if tail is None else (np.log1p(-tail), 0.0)
    shifts = shifts[0] + np.log1p(-absent), shifts[1]
    inside = losses[losses <= certain]
    ratio = np.full(len(losses), -np.inf)
    # g falls until 0 and rises from there, so it is largest at an end
    ratio[: len(inside)] = np.maximum(*(s + divergence.log_gauge_per_loss(inside + s) for s in shifts))
    below = absent * float(np.exp(losses[0] + ratio[0]))
    value, noise = masses.integral(ratio)
    growth = (1 + masses.vague) / (1 - absent)
    found = ComposedDivergence(
        (value + below) * growth, (noise + below) * growth, truncated, absent, detected
    )
    return found, rounds / 6 * _spread_once_more(masses.log_mass, ratio, masses.discrete.step)


def _spread_once_more(log_mass: np.ndarray, ratio: np.ndarray, step: float) -> float:
    """What F gains when each mass is shared between its two neighbours, keeping P's and Q's."""
    up = np.exp(step)
    with np.errstate(over="ignore", invalid="ignore"):
        here, after, before = (np.exp(log_mass[1:-1] + r) for r in (ratio[1:-1], ratio[2:], ratio[:-2]))
        gain = ((up * after + before) / (1 + up) - here).sum()
    return float(gain) if gain > 0 else 0.0


@dataclass(frozen=True)
class _Guide:
    """One round's loss on a coarse table. Only accuracy hangs on it, never validity."""

    rounds: int
    loss: np.ndarray
    log_p: np.ndarray
    x_per_loss: float

    @classmethod
    def of(cls, pair: DominatingPair, rounds: int, low: float, high: float) -> _Guide:
        x, table = pair.uniform(low, high, pair.fine_step, np.zeros(1))
        loss = table[:, 0]
        log_p = pair.log_q(x[:, 0]) + loss
        slope = np.gradient(loss, x[:, 0]) if len(x) > 1 else np.zeros(1)
        mass = np.exp(log_p - log_p.max())
        spread = float(mass @ slope**2 / mass.sum())
        return cls(rounds, loss, log_p, 1 / np.sqrt(spread) if spread > 0 else np.inf)

    @property
    def reach(self) -> float:
        return float(self.loss[-1] - self.loss[0])

    def best_tilt(
        self, tilts: np.ndarray, losses: np.ndarray, noise: np.ndarray, others: np.ndarray
    ) -> float | None:
        """The tilt under which the least round-off is left; None where none takes a third of it away.

        Args: noise: log of what an error of tilted mass e^0 adds to the sum at each of `losses`, were the tilt 0.
            others: log of what is left there under the tilts composed so far.
        """
        every = max(1, len(losses) // 2000)
        losses, noise, others = losses[::every], noise[::every], others[::every]
        top = np.concatenate([self.log_p + tilt * self.loss for tilt in tilts]).reshape(len(tilts), -1)
        cumulants = self.rounds * (logsumexp(top, axis=1) - logsumexp(self.log_p))
        here = cumulants[:, None] - tilts[:, None] * losses + noise
        left = logsumexp(np.minimum(here, others), axis=1)
        best = int(left.argmin())
        return float(tilts[best]) if left[best] < logsumexp(others) - 0.4 else None
