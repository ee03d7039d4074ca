"""Ways to the law of all rounds' loss: what is composed, on which grid, and under which tilt.

Each attempt is valid for any grid, tilt and window; `blow_up.py` takes the least bound, and continues until one is
near enough. The usual way is an FFT under a share of the saddle's tilt (composition.py). If the secret is drawn so
rarely that no tilt suits, two grids without FFT serve (two_scales.py).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from hush_core.accounting.composition import Parts as TiltedParts
from hush_core.accounting.composition import TiltedLaw, WindowTooLong, compose
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
FLAT = 5.0
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
class ComposedBounds:
    """One composition, read at the open priors. excess: about how much of `upper` is for the width of the grid."""

    upper: np.ndarray
    cut: np.ndarray
    lower: np.ndarray | None
    excess: np.ndarray


Parts = Sequence[tuple[DominatingPair, int]]
"""Pairs of a round, and how many rounds of each: all that one secret goes through."""


class OnePair:
    """One round of one pair, and how many there are. Arguments as of `Composed`.

    high: losses of x above it lie beyond the grid and count as detection.
    """

    def __init__(self, pair: DominatingPair, rounds: int, prior: float, cut: float) -> None:
        self.pair, self.rounds = pair, rounds
        self.low = -9.0 * pair.sigma
        self.end = pair.upper_end(cut)
        self.high = pair.inverse_loss(_BEYOND_PRIOR - np.log(prior), self.low, self.end)
        self.origin = pair.lowest_loss if pair.lowest_loss > -FLAT else 0.0


class Composed:
    """What all attempts share. Arguments as of `blow_up_posteriors`; `prior` is the least open one.

    rounds: of all pairs. detected: how surely some round's loss lies beyond its grid, which counts as detection.
    moved_up: mass that all rounds together hold above its true place.
    """

    def __init__(self, parts: Parts, prior: float, cut: float, lower: bool, coarser: float = 1.0) -> None:
        self.parts = [OnePair(pair, rounds, prior, cut) for pair, rounds in parts]
        self.rounds = sum(part.rounds for part in self.parts)
        self.prior, self.lower, self.tolerance = prior, lower, _TOLERANCE * coarser
        self.moved_up = sum(part.rounds * part.pair.moved_up for part in self.parts)
        self.detected = some_round([(part.pair.p_above(part.high), part.rounds) for part in self.parts])

    @property
    def falsely(self) -> float:
        """How surely, at most, Q's loss lies there."""
        return sum(part.rounds * part.pair.q_above(part.high) for part in self.parts)

    @cached_property
    def saddle(self) -> tuple[float, list[float], float]:
        return _saddle(self.parts, self.prior)

    @cached_property
    def curvature(self) -> float:
        tilt = self.saddle[0]
        return max(tilt * (tilt + 1), 0.25) * self.rounds / 12

    @cached_property
    def finest_cells(self) -> list[Cells]:
        """Cells that suit the saddle's tilt, by part."""
        found = []
        for part, spread in zip(self.parts, self.saddle[1], strict=True):
            cell = np.sqrt(self.tolerance / (self.curvature * spread)) if spread > 0 else np.inf
            found.append(cut_into_cells(part.pair, low=part.low, high=part.high, cell=cell))
        return found

    def on_grid(self, step: float) -> list[DiscreteLoss]:
        return [
            on_grid(cells, step, part.origin)
            for cells, part in zip(self.finest_cells, self.parts, strict=True)
        ]

    @cached_property
    def finest(self) -> list[DiscreteLoss]:
        return self.on_grid(np.sqrt(self.tolerance / self.curvature))

    @cached_property
    def cells(self) -> list[Cells]:
        """Cells for the two grids, by part: as far up only as P's mass counts against p."""
        unseen = _UNSEEN * self.prior / self.rounds
        return [
            cut_into_cells(
                part.pair,
                low=part.low,
                high=min(part.high, part.pair.upper_end(unseen)),
                cell=part.pair.fine_step / 24,
            )
            for part in self.parts
        ]

    def laws(self, losses: Sequence[DiscreteLoss], tilt: float) -> list[TiltedParts]:
        """P's, and with `lower` the reference's, under the tilt that suits it."""
        counts = [part.rounds for part in self.parts]
        rows = [[TiltedLaw.of(d.step, d.first, d.mass, tilt) for d in losses]]
        if self.lower:
            rows.append([TiltedLaw.of(d.step, d.first, d.reference, tilt + 1) for d in losses])
        return [list(zip(row, counts, strict=True)) for row in rows]

    def read(
        self,
        laws: list[Law],
        binned: Sequence[Cells | DiscreteLoss],
        priors: np.ndarray,
        *,
        shift: float = 0.0,
    ) -> ComposedBounds:
        """What P's law, and with `lower` the reference's, prove for `priors`."""
        parts = [(own, part.rounds) for own, part in zip(binned, self.parts, strict=True)]
        detected = some_round([(own.infinity, rounds) for own, rounds in parts])
        found = bound_from_above(laws[0], priors, self.rounds, detected=detected, shift=shift)
        least = None
        if len(laws) > 1:
            falsely = sum(rounds * own.infinity_reference for own, rounds in parts)
            sure = detected + laws[0].fires, falsely + laws[1].fires
            power = bound_from_below(*laws, priors, self.rounds, sure=sure, shift=shift)
            moved_up = sum(rounds * own.moved_up for own, rounds in parts)
            least = (1 - moved_up - self.moved_up) * power
        return ComposedBounds(found[0], found[1], least, found[2])


Try = Callable[[Composed, np.ndarray, float], ComposedBounds]
"""Takes the rounds, the open priors and what is known for the least of them."""


def attempts(rare: bool) -> Iterator[tuple[str, Try]]:
    """What to try in turn, by kind. A grid that is coarser than it should be is the last resort."""
    by_fft = [("fft", partial(_by_fft, share=share, coarser=0)) for share in _TILTS]
    on_grids = [("grids", partial(_on_two_scales, points=points)) for points in _POINTS]
    by_coarse_fft = [("coarse", partial(_by_fft, share=share, coarser=6)) for share in _TILTS]
    yield from (*on_grids, *by_fft, *by_coarse_fft) if rare else (*by_fft, *on_grids, *by_coarse_fft)


def _by_fft(
    composed: Composed, priors: np.ndarray, known: float, *, share: float, coarser: int
) -> ComposedBounds:
    """With half the saddle's tilt, say; the grid is made coarser up to so many times where the FFT is too short."""
    tilt, _, log_r = composed.saddle
    losses, negligible = composed.finest, log_r + np.log(_NEGLIGIBLE)
    while True:
        try:
            laws = compose(composed.laws(losses, share * tilt), negligible)
        except WindowTooLong as refusal:  # a coarser grid is less tight, never less valid
            if not coarser:
                raise
            coarser -= 1
            losses = composed.on_grid(losses[0].step * refusal.excess * 1.05)
        else:
            shift = sum(part.rounds * part.origin for part in composed.parts)
            return composed.read(laws, losses, priors, shift=shift)


def _on_two_scales(composed: Composed, priors: np.ndarray, known: float, *, points: int) -> ComposedBounds:
    largest = max(float(cells.ends[-1]) for cells in composed.cells)
    cap = min(float(np.log(known / composed.prior)) + _BEYOND_THRESHOLD, _BEYOND_ENDS * largest)
    parts = [
        (cells, part.rounds, part.origin) for cells, part in zip(composed.cells, composed.parts, strict=True)
    ]
    return composed.read(
        compose_on_two_scales(parts, cap=cap, prior=composed.prior, points=points), composed.cells, priors
    )


def some_round(parts: Sequence[tuple[float, int]]) -> float:
    """How likely events of these masses a round are in at least one of so many rounds each."""
    return -float(np.expm1(sum(rounds * np.log1p(-min(mass, _MOST)) for mass, rounds in parts)))


def _saddle(parts: Sequence[OnePair], prior: float) -> tuple[float, list[float], float]:
    """(θ, E_θ[L'²] by part, log r). θ is the tilt at which the tilted mean loss is the threshold of Q-mass p; next
    comes the loss's slope there, then a rough lower estimate of log r.

    These numbers affect accuracy only, never validity.
    """
    tables = []
    for part in parts:
        x, table = part.pair.uniform(part.low, part.high, part.pair.fine_step, np.zeros(1))
        loss = table[:, 0]
        log_p = part.pair.log_q(x[:, 0]) + loss
        tables.append((x[:, 0], loss, log_p, np.exp(log_p).sum(), part.rounds))

    def tilted(theta: float) -> list[tuple[np.ndarray, float, float]]:
        found = []
        for _, loss, log_p, base, _ in tables:
            weighted = log_p + theta * loss
            top = weighted.max()
            mass = np.exp(weighted - top)
            total = mass.sum()
            mass /= total
            found.append((mass, float(mass @ loss), float(top + np.log(total) - np.log(base))))
        return found

    def excess(theta: float) -> float:
        surplus = sum(
            table[-1] * (mean * (theta + 1) - log_moment)
            for table, (_, mean, log_moment) in zip(tables, tilted(theta), strict=True)
        )
        return surplus + np.log(prior)

    theta = 0.0
    if excess(0.0) < 0:
        theta = _root(excess, 1e-3, 1e12)
    at_saddle = tilted(theta)
    moment = sum(table[-1] * found[2] for table, found in zip(tables, at_saddle, strict=True))
    # near the saddle point log r is about Λ(θ) − θ·t with (θ+1)·t = Λ(θ) − log p; it is at least log p
    log_r = max(np.log(prior), min(moment - theta * (moment - np.log(prior)) / (theta + 1), 0.0))
    slopes = [np.gradient(loss, x) if len(x) > 1 else np.zeros(1) for x, loss, *_ in tables]
    spreads = [float(found[0] @ slope**2) for found, slope in zip(at_saddle, slopes, strict=True)]
    return theta, spreads, float(log_r)


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Bisection in the logarithm for the sign change of an increasing function."""
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
        if high / low < 1.001:
            break
    return high
