"""Tight bounds of very many histories that share runs: the law of each run's rounds is composed once.

Histories in one batch are read on one grid under one tilt, so that "T rounds of this run with this binomial" is one
law for all of them. A history's law is then one convolution of as many laws as it has runs. Grid and tilt are those
that suit the history in the middle of the batch; they touch accuracy, not validity (docs/mathematics.md §5).
The same charges as in `bound_of_runs`, by the same code; only from above.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush_core.accounting.attempts import FLAT, Composed, OnePair
from hush_core.accounting.bounds import (
    CUT,
    LEAST_NOISE,
    LEAST_PRIOR,
    MOST_NOISE,
    MOST_ROUNDS,
    PosteriorCurve,
    one_method,
)
from hush_core.accounting.composition import Parts, TiltedLaw, Window, convolve, find_window
from hush_core.accounting.discretise import cut_into_cells, on_grid
from hush_core.accounting.mixture import DominatingPair
from hush_core.accounting.participation import Participation
from hush_core.accounting.reading import bound_from_above
from hush_core.accounting.runs import Run
from hush_core.errors import CertificationError

_SHARE = 0.5
"""Of the saddle's tilt."""
_NEGLIGIBLE = 1e-4
"""Relative to the prior: what windows may cut."""
_LARGEST_CUT = 5e-3
"""Relative to the bound: beyond this share for cuts and round-off it is left to `bound_of_runs`."""
_LONGEST = 1 << 18
"""Points of a law."""
_SHIFTS = np.concatenate([np.geomspace(0.02, 20.0, 8), np.geomspace(25.0, 4000.0, 10)])


@dataclass(frozen=True)
class _Rounds:
    """All rounds of one run. shift: of the law's values. log_kept: log of what is not beyond the grid of x in any
    round. tail: of K, in all rounds."""

    law: TiltedLaw
    shift: float
    log_kept: float
    tail: float

    @cached_property
    def cumulants(self) -> tuple[np.ndarray, np.ndarray]:
        """At _SHIFTS up, and down."""
        return _cumulants(self.law)


def _cumulants(law: TiltedLaw) -> tuple[np.ndarray, np.ndarray]:
    kept = law.masses > 0
    values, masses = law.values[kept], law.masses[kept]
    found = []
    for end, sign in ((values[-1], 1), (values[0], -1)):
        weight = np.exp(sign * _SHIFTS[:, None] * (values - end)) @ masses
        found.append(np.log(weight) + sign * _SHIFTS * end)
    return found[0], found[1]


def _window(parts: Parts, log_negligible: float, cumulants: Sequence[np.ndarray]) -> Window:
    up, down = (list(zip(_SHIFTS, own, strict=True)) for own in cumulants)
    window = find_window(parts, log_negligible, (up, down))
    if len(window) > _LONGEST:
        raise CertificationError("a law is too wide for its grid")
    return window


class SharedLaws:
    """Bounds of histories whose grid and tilt are those of `guide`, at the least prior `prior`."""

    def __init__(self, guide: list[Run], prior: float, coarser: float) -> None:
        self.prior = prior
        self.rounds = sum(run.rounds for run in guide)
        self.cut = CUT * prior / self.rounds
        counts = [run.participation.distribution.trimmed(self.cut) for run in guide]
        pairs = map(DominatingPair, counts, (run.noise_multiplier for run in guide))
        parts = list(zip(pairs, (run.rounds for run in guide), strict=True))
        composed = Composed(parts, prior, self.cut, False, coarser)
        tilt, spreads, _ = composed.saddle
        self.tilt = _SHARE * tilt
        self.step = float(np.sqrt(composed.tolerance / composed.curvature))
        self.spread = max(spreads)
        self.cell = float(np.sqrt(composed.tolerance / (composed.curvature * max(self.spread, 1e-300))))
        # a run's rounds widen the grid's steps once as much as each of them did alone
        self.factor = max(1, int(np.sqrt(self.rounds / len(guide))))
        self._ends: dict[float, float] = {}
        self._found: dict[tuple[float, int, Participation], _Rounds] = {}

    def _of(self, run: Run) -> _Rounds:
        key = run.noise_multiplier, run.rounds, run.participation
        if key not in self._found:
            self._found[key] = self._compose(run)
        return self._found[key]

    def _compose(self, run: Run) -> _Rounds:
        counts = run.participation.distribution.trimmed(self.cut)
        pair = DominatingPair(counts, run.noise_multiplier)
        # what lies beyond is charged wherever the end is
        high = self._ends.get(run.noise_multiplier, 0.0)
        if pair.p_above(high) > self.cut:
            high = OnePair(pair, run.rounds, self.prior, self.cut).high
            self._ends[run.noise_multiplier] = high
        origin = pair.lowest_loss if pair.lowest_loss > -FLAT else 0.0
        cells = cut_into_cells(pair, low=-9.0 * pair.sigma, high=high, cell=self.cell)
        loss = on_grid(cells, self.step, origin)
        one = TiltedLaw.of(loss.step, loss.first, loss.mass, self.tilt)
        parts = [(one, run.rounds)]
        cumulants = [run.rounds * own for own in _cumulants(one)]
        window = _window(parts, np.log(_NEGLIGIBLE * self.prior * run.rounds / self.rounds), cumulants)
        law = convolve(parts, window)
        shift = run.rounds * origin
        kept = run.rounds * np.log1p(-min(loss.infinity, 1 - 1e-9))
        return _Rounds(law.coarsened(self.factor), shift, kept, run.rounds * counts.tail)

    def curve(self, runs: list[Run], priors: np.ndarray) -> PosteriorCurve:
        """`curve_of_runs` at `priors`, method blow_up, without `lower`.

        Errors: `CertificationError` where that is no small share, or a check fails.
        """
        rounds = sum(run.rounds for run in runs)
        fine = all(LEAST_NOISE <= run.noise_multiplier <= MOST_NOISE for run in runs)
        if not (fine and rounds <= MOST_ROUNDS and min(priors.min(), self.prior) >= LEAST_PRIOR * (1 - 1e-9)):
            raise CertificationError("out of the range that is certified")
        found = [self._of(run) for run in runs]
        times = Counter(map(id, found))
        parts = [(own.law, times[id(own)]) for own in {id(own): own for own in found}.values()]
        cumulants = [sum(own.cumulants[i] for own in found) for i in (0, 1)]
        window = _window(parts, np.log(_NEGLIGIBLE * self.prior), cumulants)
        law = convolve(parts, window)
        detected = -float(np.expm1(sum(own.log_kept for own in found)))
        shift = sum(own.shift for own in found)
        value, cut, _ = bound_from_above(law, priors, rounds, detected=detected, shift=shift)
        tail = sum(own.tail for own in found)
        value, cut = np.minimum(np.maximum(value, priors) + tail, 1.0), cut + tail
        if not np.all(cut <= _LARGEST_CUT * value):
            raise CertificationError(f"round-off and cuts are {float((cut / value).max()):.1%} of the bound")
        return one_method(priors, value, "blow_up", np.where(value < 1, cut, 0.0))
