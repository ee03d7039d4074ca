"""The one-shot estimate (Andrew, Kairouz, Oh, Oprea, McMahan, Suriyakumar 2023): ε of one run, by random canaries.

    canaries = RandomCanaries(count=1000, dimension=10**6, seed=1)
    canaries.add_to(total, C)                                  # in the sum of a round, before the noise
    one_shot_final(canaries.cosines(release), dimension=canaries.dimension, delta=1e-6)

Each canary is a gradient of length C in a direction of its own, uniform on the sphere. What a direction that was
NOT used has in common with a release is known in closed form, whatever the model and the data: its cosine x has
(1 + x)/2 ~ Beta((d − 1)/2, (d − 1)/2), which is N(0, 1/d) for the d in question. The cosines of those that were
used are measured; ε is that of telling the two laws apart, both taken for Gaussian.

An ESTIMATE, not a bound: nothing is proven about a canary that is not one of these, and the canaries of one run
are not independent. The interval tells the chance of the canaries alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from hush_core.errors import InputError
from lab.statistical_audits.gaussian import epsilon_of_pair, epsilon_of_shift
from lab.statistical_audits.lower_bound import check_confidence

_OTHER_SPREAD = 1e-3
"""So unlikely must a measured deviation be under the law of unused directions, to be taken in its place: at
δ = 1e-6 a deviation that is a few per cent off by chance would be worth as much as the shift."""
_AT_ONCE = 16
"""Directions that are multiplied with all releases at a time."""


@dataclass(frozen=True)
class OneShotEstimate:
    """epsilon: the estimate at `delta`; low, high: for the mean and the spread of so many cosines, at `confidence`;
    ceiling: what k canaries in d dimensions would have shown in a sum of nothing but themselves, without noise."""

    epsilon: float
    low: float
    high: float
    confidence: float
    ceiling: float
    delta: float
    method: str


@dataclass(frozen=True)
class RandomCanaries:
    """count directions, each uniform on the unit sphere in `dimension` dimensions; made anew from the seed whenever
    they are needed, so that a thousand of a million dimensions need no memory."""

    count: int
    dimension: int
    seed: int

    def direction(self, place: int) -> np.ndarray:
        """(d,) float32 of length 1."""
        drawn = np.random.default_rng((self.seed, place)).standard_normal(self.dimension, dtype=np.float32)
        return drawn / np.float32(math.sqrt(float(drawn @ drawn)))

    def add_to(self, total: np.ndarray, clip_norm: float, which: np.ndarray | None = None) -> None:
        """total (d,) += C · Σ directions, of all canaries or of those in `which`: what the clipped canaries add."""
        for place in range(self.count) if which is None else which:
            total += clip_norm * self.direction(int(place))

    def cosines(self, releases: np.ndarray) -> np.ndarray:
        """(T, d) or (d,) releases → (k, T) or (k,) cosines with each canary."""
        rows = np.atleast_2d(releases)
        lengths = np.linalg.norm(rows, axis=1)
        if not (lengths > 0).all():
            raise InputError("releases", "hold one that is 0 in all coordinates", "leave it out")
        found = np.empty((self.count, len(rows)), np.result_type(rows.dtype, np.float32))
        for first in range(0, self.count, _AT_ONCE):
            few = range(first, min(first + _AT_ONCE, self.count))
            found[first : few.stop] = np.array([self.direction(place) for place in few]) @ rows.T / lengths
        return found if np.ndim(releases) == 2 else found[:, 0]


def one_shot_final(
    cosines: np.ndarray, *, dimension: int, delta: float, confidence: float = 0.95
) -> OneShotEstimate:
    """From the cosines (k,) with the final model less its start (their Algorithm 1): the adversary sees no step.

    Raises:
        InputError: fewer than ten canaries, or something that is no cosine.
    """
    cosines = _checked(cosines, 1)
    null = (0.0, 1 / math.sqrt(dimension))
    return _estimate(cosines, null, dimension, delta, confidence, "one shot, final model")


def one_shot_all(
    cosines: np.ndarray,
    *,
    dimension: int,
    delta: float,
    confidence: float = 0.95,
    unused: np.ndarray | None = None,
) -> OneShotEstimate:
    """From the largest of the cosines (k, T) with what is seen of each round (their Algorithm 3): the adversary
    sees all steps, and needs not know when a canary took part.

    Args:
        unused: (k', T) cosines of directions that no round had, as its authors take them. Then both laws are the
            measured ones. Needed where rounds resemble each other, as the steps of an optimizer with momentum do.

    Without `unused`: the cosines of one unused direction with T releases are as good as independent where d is far
    above k·T, since releases are then nearly orthogonal; the largest of T has the law F^T. Where every canary is in
    every round, the sum of the rounds tells more: `one_shot_final` of the cosines with `sum_of_rounds`.

    An estimate that can err far to either side: both laws are taken for Gaussian, and the largest of many is not.
    Over 512 releases, each canary in one of them, it gave 3 to 5 times the analytical ε; it refutes nothing.
    """
    cosines = _checked(cosines, 2)
    seen, method = cosines.max(1), "one shot, largest over all rounds"
    if unused is None:
        null = _largest_of(cosines.shape[1], dimension)
        return _estimate(seen, null, dimension, delta, confidence, method)
    other = _checked(unused, 2).max(1)
    null = (float(other.mean()), float(other.std(ddof=1)))
    return _estimate(seen, null, dimension, delta, confidence, method, unused=len(other))


def sum_of_rounds(releases: np.ndarray) -> np.ndarray:
    """(T, d) → (d,) the sum of all releases, each at length 1: what an adversary that sees all of them looks at."""
    return (releases / np.linalg.norm(releases, axis=1, keepdims=True)).sum(0)


def _checked(cosines: np.ndarray, axes: int) -> np.ndarray:
    cosines = np.asarray(cosines, dtype=np.float64)
    if cosines.ndim != axes or len(cosines) < 10 or not np.all(np.abs(cosines) <= 1 + 1e-6):
        raise InputError(
            "cosines", "must be those of at least ten canaries", f"give {axes} axes, canaries first"
        )
    return cosines


def _largest_of(rounds: int, dimension: int) -> tuple[float, float]:
    """Mean and deviation of the largest of T cosines of an unused direction, by quadrature of its density."""
    half = (dimension - 1) / 2
    x = np.linspace(-1, 1, 20_001) * min(1.0, 12 / math.sqrt(dimension))
    density = rounds * special.betainc(half, half, (1 + x) / 2) ** (rounds - 1)
    density *= stats.beta.pdf((1 + x) / 2, half, half) / 2
    density /= np.trapezoid(density, x)
    mean = float(np.trapezoid(x * density, x))
    return mean, math.sqrt(float(np.trapezoid((x - mean) ** 2 * density, x)))


def _estimate(
    seen: np.ndarray,
    null: tuple[float, float],
    dimension: int,
    delta: float,
    confidence: float,
    method: str,
    *,
    unused: int = 0,
) -> OneShotEstimate:
    """`unused`: from so many cosines the law of unused directions was measured; 0: it is known."""
    alpha, count = check_confidence(confidence), len(seen)
    mean, deviation = float(seen.mean()), float(seen.std(ddof=1))

    def epsilon(mean: float, deviation: float) -> float:
        return epsilon_of_pair(*null, mean, deviation, delta)

    # where the spread of an unused direction is known and the measured one agrees with it, it is taken
    ratio = (deviation / null[1]) ** 2 * (count - 1)
    low_r, high_r = stats.chi2.interval(1 - _OTHER_SPREAD, count - 1)
    if not unused and low_r <= ratio <= high_r:
        deviation = null[1]
    error = math.hypot(deviation / math.sqrt(count), null[1] / math.sqrt(unused) if unused else 0.0)
    reach = stats.norm.ppf(1 - alpha / 2) * error
    return OneShotEstimate(
        epsilon(mean, deviation),
        epsilon(max(mean - reach, null[0]), deviation),
        epsilon(mean + reach, deviation),
        confidence,
        epsilon_of_shift(math.sqrt(dimension / count), delta),
        delta,
        method,
    )
