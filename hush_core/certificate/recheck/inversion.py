"""The tight bound by Laplace inversion: r = min over t of e^t·p + δ(t), with no grid of losses and no composition.

With S the sum of all rounds' losses and M the product of all rounds' moments (a round's to the power T, or of
several runs with laws of their own), for every c > 0

    δ(t) = E_P[(1 − e^{t−S})₊] = 1/(2πi) ∫_{c−i∞}^{c+i∞} M(z)·e^{−zt} / (z(z+1)) dz,
    e^t·Q(S > t)               = the same with 1/(z+1) in place of 1/(z(z+1)).

c is the saddle point (the tilt), so the integrand is as large as the result and its error relative to it. Every t
gives a bound; the least is at Q(S > t) = p, where the derivative vanishes, so that t need not be exact.

Where a round seldom holds any example, S has an atom at its least value s₀ (nothing drawn), and M(c + iω) does
not decay. The integrand is then multiplied by a flat-topped filter; in t this is smoothing on a scale far below
t − s₀, to which all below s₀ and all that is smooth at t are blind. Two filters must agree.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc, ndtri

from hush_core.certificate.recheck.counts import NotConfirmed, count_law
from hush_core.certificate.recheck.extremes import excess_over_prior, shortfall_from_one
from hush_core.certificate.recheck.loss import RoundLoss

ACCURACY = 1e-5
"""Relative: a result with a larger error estimate is not returned."""
CUT = 1e-9
"""Relative to the prior: what may be left out of the law of K, in all rounds."""
_STEPS, _WIDENINGS = 60, 4
_RARE = 3.0
"""Fewer rounds with any draw than this, in expectation, count as rare."""
_MOST_POINTS = 40_000
_ORDER, _FLAT, _PERIODS = 9, 45.0, 90.0
"""The filter is Q(9, v), v = 45·(ω/Ω)²: 1 − 1e-10 up to Ω/6, 1e-11 at Ω = 90/(t − s₀)."""
_NARROWER = 1.3
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_HIGHEST = (
    _WEIGHTS[:, None] * np.polynomial.legendre.legvander(_NODES, 19)[:, 16:] * (np.arange(16, 20) + 0.5)
)
"""Gives the coefficients of degree 16 to 19: where they are small, the rule (exact to degree 39) errs far less."""


@dataclass(frozen=True)
class Rechecked:
    """The posterior by this route, and what it may be off by."""

    value: float
    error: float


def posterior(
    rates: np.ndarray, times: np.ndarray, *, noise_multiplier: float, rounds: int, prior: float
) -> Rechecked:
    """B(p) of the pair (N(K, σ²), N(0, σ²))^T, K the number of drawn examples.

    Args:
        rates: (d,) sampling rates in [0, 1]. times: (d,) how many examples have each.

    Raises:
        NotConfirmed: where it is not sure to be accurate.
    """
    return posterior_of_runs([(rates, times, noise_multiplier, rounds)], prior=prior)


Drawn = tuple[np.ndarray, np.ndarray, float, int]
"""One run: rates and times as of `posterior`, σ, T."""


def posterior_of_runs(runs: Sequence[Drawn], *, prior: float) -> Rechecked:
    """B(p) of the product of the runs' pairs, each to the power of its rounds; errors as of `posterior`."""
    drawing = []
    for rates, times, sigma, rounds in runs:
        own = (rates > 0) & (times > 0)
        if own.any():
            drawing.append((rates[own], times[own], sigma, rounds))
    if not drawing:
        return Rechecked(prior, 0.0)
    means = [(float(rates @ times), sigma, rounds) for rates, times, sigma, rounds in drawing]
    short = shortfall_from_one(means, prior)
    if short <= ACCURACY:
        return Rechecked(1.0, short)
    cut = CUT * prior / sum(run[-1] for run in drawing)
    parts, left_out = [], 0.0
    for rates, times, sigma, rounds in drawing:
        counts = count_law(rates, times, cut=cut)
        parts.append((RoundLoss(counts, sigma), rounds))
        left_out += rounds * counts.cut
    half = excess_over_prior(parts, prior) / 2
    if half <= ACCURACY:
        return Rechecked(prior * (1 + half), prior * half + left_out)
    found = _Inversion(parts).least(prior)
    return Rechecked(min(max(found.value, prior), 1.0), found.error + left_out)


class _Inversion:
    def __init__(self, parts: Sequence[tuple[RoundLoss, int]]) -> None:
        self.parts, self.rounds = parts, sum(rounds for _, rounds in parts)
        self.bottom = sum(rounds * one.least for one, rounds in parts)

    def cumulants(self, tilt: float) -> tuple[float, float, float]:
        """log M and its first two derivatives at a real z = tilt."""
        found = [(rounds, one.cumulants(tilt)) for one, rounds in self.parts]
        return tuple(sum(rounds * own[i] for rounds, own in found) for i in range(3))

    def least(self, prior: float) -> Rechecked:
        """min over t of e^t·p + δ(t)."""
        low, high = self.bottom, -math.log(prior)
        t = self._start(prior)
        line = None
        for _ in range(_STEPS):
            if line is None or abs(t - line.centre) > line.reach:
                line = _Line(self, _root(lambda tilt, t=t: self.cumulants(tilt)[1] - t, 0.0), t, prior)
            delta, level, density, error = line.at(t)
            off = math.log(level / prior) if level > 0 else -math.inf
            low, high = (t, high) if off > 0 else (low, t)
            if abs(off) < 1e-5:
                break
            t = self._next(t, off * level / density if level > 0 and density > 0 else math.inf, low, high)
        value = math.exp(t) * prior + delta
        error += value * off**2
        if not (abs(off) < 1e-3 and error <= ACCURACY * value):
            raise NotConfirmed(f"an error of {error / value:.0e} is estimated")
        return Rechecked(value, error)

    def _next(self, t: float, step: float, low: float, high: float) -> float:
        """Newton's step, where it stays between what is known and does not go far; else half the way."""
        if self.bottom == -math.inf:
            inside = low < t + step < high
            return t + step if inside else (t + (high if t == low else max(low, t - 4))) / 2
        above = t - self.bottom
        if low < t + step < high and above / 3 < above + step < above * 3:
            return t + step
        if t == low:
            return self.bottom + min(above * 3, (above + high - self.bottom) / 2)
        return self.bottom + max(above / 3, (above + low - self.bottom) / 2)

    def _start(self, prior: float) -> float:
        """t where Q(S > t) is about p: by one round alone where draws are rare, else the saddle point."""
        if -self.bottom < _RARE:
            above = 0.0
            for one, _ in self.parts:
                threshold = -one.sigma * ndtri(np.array([prior / self.rounds]))
                above = max(above, float(one.loss(threshold)[0]) - one.least)
            return max(self.bottom + above, self.bottom * 0.99)

        def surplus(tilt: float) -> float:
            log_m, mean, variance = self.cumulants(tilt)
            level = log_m - (1 + tilt) * mean
            return math.log(prior) - level + math.log1p((1 + tilt) * math.sqrt(variance) * 2.5)

        return self.cumulants(_root(surplus, 0.0))[1]


def _root(rising: Callable[[float], float], least: float) -> float:
    """Where a rising function passes 0, to 1 %; `least` if it is above 0 there."""

    def value(at: float) -> float:
        try:
            return rising(at)
        except NotConfirmed:
            return math.inf

    if value(least) >= 0:
        return least
    low, high = least, 1.0
    while value(high) < 0:
        low, high = high, high * 4
        if high > 1e15:
            raise NotConfirmed("no tilt is found")
    while high - low > 0.01 * high and high > 1e-9:
        middle = math.sqrt(low * high) if low else high / 8
        low, high = (middle, high) if value(middle) < 0 else (low, middle)
    return low or high


class _Line:
    """The integrals along Re z = c, on panels of Im z that are halved until the error is small."""

    def __init__(self, inversion: _Inversion, tilt: float, t: float, prior: float) -> None:
        self.centre, self.prior = t, prior
        spread = math.sqrt(inversion.cumulants(tilt)[2])
        self.tilt = max(tilt, 0.5 / spread)
        self.tables = [(one.table(self.tilt), rounds) for one, rounds in inversion.parts]
        self.size = sum(rounds * table.log_total for table, rounds in self.tables)
        self.atoms: list[tuple[float, float]] | None = None
        distance = t - inversion.bottom
        if not distance > 0:
            raise NotConfirmed("the threshold is below every loss")
        self.reach = min(2 / max(self.tilt, 1 / spread), distance / 4)
        self.filter, own = math.inf, self._decay(spread)
        self.end = max(_PERIODS / distance, 60 / spread, 60 * self.tilt)
        if own <= self.end:
            self._integrate(own, t)
            return
        width = min(1.0, distance / 4)
        pairs = zip(self.tables, inversion.parts, strict=True)
        self.atoms = [table.atom(one.least, width) for (table, _), (one, _) in pairs]
        pairs = zip(self.tables, self.atoms, strict=True)
        self.size = sum(rounds * atom[0] for (_, rounds), atom in pairs)
        for _ in range(_WIDENINGS):
            self.filter = self.end / math.sqrt(_FLAT)
            self._integrate(self.end, t)
            delta, _, _, error = self.at(t)
            if error <= ACCURACY / 4 * (delta + math.exp(t) * prior):
                break
            self.end *= 2

    def _integrate(self, end: float, t: float) -> None:
        """Panels on [0, end], halved until the error at t is small."""
        edges = np.append(0.0, end * 4.0 ** np.arange(-14, 1))
        self.left, self.right = edges[:-1], edges[1:]
        self.power = self._powers(self.left, self.right)
        goal = ACCURACY / 40
        for _ in range(40):
            delta, error = self._delta(t)
            bad = error * self._scale(t) > goal * (
                math.fsum(delta) * self._scale(t) + math.exp(t) * self.prior
            )
            if not bad.any():
                return
            if (len(bad) + bad.sum()) * len(_NODES) > _MOST_POINTS:
                raise NotConfirmed("the integral needs too many points")
            middle = (self.left[bad] + self.right[bad]) / 2
            left, right = np.append(self.left[bad], middle), np.append(middle, self.right[bad])
            self.power = np.concatenate([self.power[~bad], self._powers(left, right)])
            self.left = np.append(self.left[~bad], left)
            self.right = np.append(self.right[~bad], right)
        raise NotConfirmed("the integral does not settle")

    def _decay(self, spread: float) -> float:
        """Where |M| has fallen to e^{−34} of its value at the tilt."""
        probe = 2.0 ** np.arange(0, 60) / spread / 4
        size = sum(rounds * table.log_moment(probe).real for table, rounds in self.tables)
        significant = np.flatnonzero(size > -34)
        return float(probe[min(significant[-1] + 1, len(probe) - 1)] if len(significant) else probe[0])

    def _frequencies(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return (right + left)[:, None] / 2 + (right - left)[:, None] / 2 * _NODES

    def _powers(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """M, less the atom of no draw in any round, relative to e^{size}: (panels, nodes)."""
        shape = (len(left), len(_NODES))
        frequency = self._frequencies(left, right).ravel()
        if self.atoms is None:
            # any branch: rounds are whole
            return np.exp(sum(rounds * table.log_moment(frequency) for table, rounds in self.tables)).reshape(
                shape
            )
        pairs = list(zip(self.tables, self.atoms, strict=True))
        beyond = np.expm1(sum(rounds * table.log_beyond(frequency, *atom) for (table, rounds), atom in pairs))
        least = sum(rounds * atom[1] for (_, rounds), atom in pairs)
        return (beyond * np.exp(1j * frequency * least)).reshape(shape)

    def _values(self, t: float, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """M·e^{−iωt}, filtered, and z: (panels, nodes) each."""
        frequency = self._frequencies(self.left, self.right)
        value = self.power * np.exp(-1j * frequency * t)
        if scale < math.inf:
            value = value * gammaincc(_ORDER, (frequency / scale) ** 2)
        return value, self.tilt + 1j * frequency

    def _sums(self, values: np.ndarray, rule: np.ndarray) -> np.ndarray:
        half = (self.right - self.left) / (2 * np.pi)
        return (values.real @ rule).T * half

    def _delta(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """δ(t) by panel, and the error of each, relative to `_scale`."""
        value, z = self._values(t, self.filter)
        value = value / z / (z + 1)
        return self._sums(value, _WEIGHTS), np.abs(self._sums(value, _HIGHEST)).max(axis=0)

    def _scale(self, t: float) -> float:
        return math.exp(self.size - self.tilt * t)

    def at(self, t: float) -> tuple[float, float, float, float]:
        """(δ(t), Q(S > t), minus the derivative of that, the error of δ(t))."""
        value, z = self._values(t, self.filter)
        deltas, errors = self._delta(t)
        delta = math.fsum(deltas)
        level = math.fsum(self._sums(value / (z + 1), _WEIGHTS))
        density = math.fsum(self._sums(value, _WEIGHTS))
        error = math.fsum(errors) + math.fsum(abs(deltas)) * 1e-14
        if self.filter < math.inf:
            other, z = self._values(t, self.filter / _NARROWER)
            error += abs(math.fsum(self._sums(other / z / (z + 1), _WEIGHTS)) - delta)
        size = self._scale(t)
        return delta * size, level * size * math.exp(-t), density * size * math.exp(-t), error * size
