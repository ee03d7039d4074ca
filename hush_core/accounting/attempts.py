"""Ways to the law of T rounds' loss: what is composed, on which grid, and under which tilt.

Each attempt is valid whatever its grid, tilt and window are; `blow_up.py` takes the least bound, and goes on until
one is near enough. By FFT under a share of the saddle's tilt (composition.py), or, where the secret is drawn so
rarely that no tilt suits, on two grids without FFT (two_scales.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from hush_core.accounting.composition import TiltedLaw, WindowTooLong, self_compose
from hush_core.accounting.discretise import Cells, DiscreteLoss, cut_into_cells, on_grid
from hush_core.accounting.mixture import DominatingPair
from hush_core.accounting.reading import Law, bound_from_above, bound_from_below
from hush_core.accounting.two_scales import compose_on_two_scales

_MOST = 1 - 1e-9
"""A larger mass counts as this much, so that its logarithm is finite."""
_TOLERANCE = 5e-5
"""Aim for the relative excess of r that each of the discretisations adds (it is part of the bound)."""
_NEGLIGIBLE = 1e-9
"""Relative to r: what the window may cut."""
_TILTS = (0.5, 0.75, 1.0)
"""Shares of the saddle's tilt. Half of it first: round-off is nearly as small there, and rare large losses need a
shorter window."""
_POINTS = (512, 2048, 4096, 8192)
"""Sizes of the two grids, tried in turn, where no tilt suits (two_scales.py)."""
_FLAT = 5.0
"""A loss of −log P(K = 0) up to this is taken for the origin of the grid: most rounds have hardly any other."""
_BEYOND_PRIOR = 32.0
"""A loss above log(1/p) + 32 counts as certain detection: Q gives it less than e^{−32}·p."""
_BEYOND_THRESHOLD = 16.0
"""The same above log(r/p) on the two grids: the best threshold is at most there, as e^t·p ≤ r."""
_BEYOND_ENDS = 1.25
"""Nor, where large losses are rare, does a sum of them that counts lie so far above the largest that counts."""
_UNSEEN = 1e-5
"""Relative to p: what the two grids may leave above their ends for that."""


@dataclass(frozen=True)
class Attempt:
    """One composition, read at the open priors. excess: about how much of `upper` is for the width of the grid."""

    upper: np.ndarray
    cut: np.ndarray
    lower: np.ndarray | None
    excess: np.ndarray


class Round:
    """One round and what all attempts share. Arguments as of `blow_up_posteriors`; `prior` is the least open one.

    detected: how surely some round's loss lies beyond the grid, which counts as detection.
    """

    def __init__(
        self, pair: DominatingPair, rounds: int, prior: float, cut: float, moved_up: float, lower: bool
    ) -> None:
        self.pair, self.rounds, self.prior, self.moved_up, self.lower = pair, rounds, prior, moved_up, lower
        self.low = -9.0 * pair.sigma
        self.end = pair.upper_end(cut)
        self.high = pair.inverse_loss(_BEYOND_PRIOR - np.log(prior), self.low, self.end)
        self.detected = some_round(pair.p_above(self.high), rounds)
        self.origin = pair.lowest_loss if pair.lowest_loss > -_FLAT else 0.0

    @cached_property
    def saddle(self) -> tuple[float, float, float]:
        return _saddle(self.pair, self.rounds, self.prior, self.low, self.high)

    @cached_property
    def curvature(self) -> float:
        tilt = self.saddle[0]
        return max(tilt * (tilt + 1), 0.25) * self.rounds / 12

    @cached_property
    def finest_cells(self) -> Cells:
        """Cells that suit the saddle's tilt."""
        spread = self.saddle[1]
        cell = np.sqrt(_TOLERANCE / (self.curvature * spread)) if spread > 0 else np.inf
        return cut_into_cells(self.pair, low=self.low, high=self.high, cell=cell)

    @cached_property
    def finest(self) -> DiscreteLoss:
        return on_grid(self.finest_cells, np.sqrt(_TOLERANCE / self.curvature), self.origin)

    @cached_property
    def cells(self) -> Cells:
        """Cells for the two grids: as far up only as P's mass counts against p."""
        high = min(self.high, self.pair.upper_end(_UNSEEN * self.prior / self.rounds))
        return cut_into_cells(self.pair, low=self.low, high=high, cell=self.pair.fine_step / 24)

    def read(
        self, laws: list[Law], cells: Cells | DiscreteLoss, priors: np.ndarray, *, shift: float = 0.0
    ) -> Attempt:
        """What P's law, and with `lower` the reference's, prove for `priors`."""
        detected = some_round(cells.infinity, self.rounds)
        found = bound_from_above(laws[0], priors, self.rounds, detected=detected, shift=shift)
        least = None
        if len(laws) > 1:
            sure = detected + laws[0].fires, self.rounds * cells.infinity_reference + laws[1].fires
            power = bound_from_below(*laws, priors, self.rounds, sure=sure, shift=shift)
            least = (1 - self.rounds * (cells.moved_up + self.moved_up)) * power
        return Attempt(found[0], found[1], least, found[2])


Try = Callable[[Round, np.ndarray, float], Attempt]
"""Takes the round, the open priors and what is known for the least of them."""


def attempts(rare: bool) -> Iterator[tuple[str, Try]]:
    """What to try in turn, by kind. A grid that is coarser than it should be is the last resort."""
    by_fft = [("fft", partial(_by_fft, share=share, coarser=0)) for share in _TILTS]
    on_grids = [("grids", partial(_on_two_scales, points=points)) for points in _POINTS]
    by_coarse_fft = [("coarse", partial(_by_fft, share=share, coarser=6)) for share in _TILTS]
    yield from (*on_grids, *by_fft, *by_coarse_fft) if rare else (*by_fft, *on_grids, *by_coarse_fft)


def _by_fft(round_: Round, priors: np.ndarray, known: float, *, share: float, coarser: int) -> Attempt:
    """With half the saddle's tilt, say; the grid is made coarser up to so many times where the FFT is too short."""
    tilt, _, log_r = round_.saddle
    discrete, negligible = round_.finest, log_r + np.log(_NEGLIGIBLE)
    while True:
        try:
            laws = self_compose(_laws(discrete, share * tilt, round_.lower), round_.rounds, negligible)
        except WindowTooLong as refusal:  # a coarser grid is less tight, never less valid
            if not coarser:
                raise
            coarser -= 1
            discrete = on_grid(round_.finest_cells, discrete.step * refusal.excess * 1.05, discrete.origin)
        else:
            return round_.read(laws, discrete, priors, shift=round_.rounds * discrete.origin)


def _on_two_scales(round_: Round, priors: np.ndarray, known: float, *, points: int) -> Attempt:
    cells = round_.cells
    cap = min(float(np.log(known / round_.prior)) + _BEYOND_THRESHOLD, _BEYOND_ENDS * float(cells.ends[-1]))
    laws = compose_on_two_scales(
        cells, round_.rounds, origin=round_.origin, cap=cap, prior=round_.prior, points=points
    )
    return round_.read(laws, cells, priors)


def some_round(mass: float, rounds: int) -> float:
    """How likely an event of this mass is in at least one of the rounds."""
    return -float(np.expm1(rounds * np.log1p(-min(mass, _MOST))))


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
