"""The tight certificate: r = B_{P^T,Q^T}(p), the most that an event of Q-mass p can weigh under P.

Theorem 2 of Hayes et al. 2023; the Hush! paper (§3.3, §5.1) gave it up as numerically unstable. Read in the
dual form

    r = min over t of  e^t·p + δ(t),      δ(t) = Σ_{v>t} (1 − e^{t−v})·P^T(v) + P^T(∞),

it is stable: EVERY t gives a valid bound, P's masses are used as they are (Q's are never formed), and an
error of ν in a mass moves r by at most ν. What is cut or rounded is added to r: the tails of K and of the loss
(infinity mass of each round), mass beyond the window of the FFT (Chernoff), round-off (a-priori bound).

Two ways lead to the composed law: the FFT under an Esscher tilt (composition.py), and two grids without FFT where
the secret is drawn so rarely that no tilt suits (two_scales.py). Every attempt is valid; the least bound counts.

The lower bound is an attack: the randomised binning that made the grid is something an adversary can do, and
"the binned loss exceeds t" is a test. Its power is P's composed masses above t, its level Q's own composed
masses (`reference`); what was cut or rounded is taken off the power and added to the level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.special import ndtr, ndtri

from hush_core.accounting.composition import TiltedLaw, WindowTooLong, self_compose
from hush_core.accounting.discretise import Cells, DiscreteLoss, cut_into_cells, on_grid
from hush_core.accounting.mixture import DominatingPair
from hush_core.accounting.reading import Law, bound_from_above, bound_from_below
from hush_core.accounting.two_scales import compose_on_two_scales
from hush_core.errors import CertificationError

_TOLERANCE = 5e-5
"""Aim for the relative excess of r that each of the discretisations adds (it is part of the bound)."""
_NEGLIGIBLE = 1e-9
"""Relative to r: what the window may cut."""
_ENOUGH = 2e-4
"""Relative to r: cuts and round-off below this share end the search for a better tilt."""
_CLOSE = 1e-3
"""Relative to r: so near should the lower bound be, where it is computed."""
_FAIR, _HOPELESS = 1e-2, 0.9
"""Relative to r: a lower bound so near is worth no coarse grid; so far, finer grids will not help."""
_LOOSE = 5e-4
"""Relative to r: what the width of the grids may seem to add, where it is not."""
_LARGEST_CUT = 0.1
"""Relative to r: beyond this share for cuts and round-off the number is valid but not tight."""
_SURE = 1 - 1e-9
"""Where a simple test is this sure to detect the secret, 1 is the bound without computing."""
_HARDLY_EVER = 1e-5
"""Relative to p: drawn less often than this in all rounds together, p and that is the bound without computing."""
_TILTS = (0.5, 0.75, 1.0)
"""Shares of the saddle's tilt. Half of it first: round-off is nearly as small there, and rare large losses need a
shorter window."""
_POINTS = (512, 2048, 4096, 8192)
"""Sizes of the two grids, tried in turn, where no tilt suits (two_scales.py)."""
_RARELY = 1.0
"""Where the secret is drawn less often than this in all rounds together, the two grids are tried before the FFT."""
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
class BlowUp:
    """By prior: `upper`, the certified bound; `lower`, what a test of the pair reaches; `cut`, how much of `upper`
    was added for what was cut or rounded. `lower` is 0 where it was not asked for."""

    upper: np.ndarray
    lower: np.ndarray
    cut: np.ndarray


@dataclass(frozen=True)
class _Attempt:
    """One composition, read at the open priors. excess: about how much of `upper` is for the width of the grid."""

    upper: np.ndarray
    cut: np.ndarray
    lower: np.ndarray | None
    excess: np.ndarray


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
    sure = power >= _SURE
    result.upper[sure], result.lower[sure] = 1.0, power[sure] - rounds * moved_up
    # P^T is Q^T but where the secret is drawn, so B(p) ≤ p + Pr[it is drawn at all]
    drawn = some_round(pair.drawn, rounds)
    hardly = drawn <= _HARDLY_EVER * priors
    result.upper[hardly] = (priors[hardly] + drawn) * (1 + 1e-11)
    result.lower[hardly] = priors[hardly]
    open_ = ~(sure | hardly)
    refusal = None
    while open_.any():
        prior = float(priors[open_].min())
        round_ = _Round(pair, rounds, prior, cut, moved_up, lower)
        if round_.detected >= _SURE:
            falsely = rounds * pair.q_above(round_.high)
            sure = (round_.detected - rounds * moved_up) * np.minimum(
                priors[open_] / max(falsely, 1e-300), 1.0
            )
            result.upper[open_], result.lower[open_] = 1.0, sure
            break
        own = priors[open_] == prior
        good, done = np.zeros(len(own), dtype=bool), set()
        for kind, attempt in _attempts(rounds * pair.mean < _RARELY):
            if kind in done:
                continue
            known = float(np.minimum(result.upper[open_][own], 1.0).max())
            try:
                found = attempt(round_, priors[open_], known)
            except WindowTooLong as error:
                refusal = error
                done.add(kind)
                continue
            except CertificationError as error:
                refusal = error
                continue
            _improve(result, open_, found)
            value = result.upper[open_]
            gap = found.excess if found.lower is None else value - result.lower[open_]
            sound = result.cut[open_] <= _ENOUGH * value
            good = sound & (gap <= (_LOOSE if found.lower is None else _CLOSE) * value)
            if good[own].all():
                break
            done |= _pointless(kind, bool(sound[own].all()), float((gap / value)[own].max()))
        open_[open_] = ~good & ~own
    if not np.all(result.cut <= _LARGEST_CUT * result.upper) or not np.all(np.isfinite(result.upper)):
        if refusal and not np.all(np.isfinite(result.upper)):
            raise refusal
        worst = float((result.cut / result.upper).max())
        raise CertificationError(f"round-off and cuts are {worst:.1%} of the blow-up bound")
    return result


def _power_of_the_sum(pair: DominatingPair, rounds: int, priors: np.ndarray) -> np.ndarray:
    """From below, how surely "the rounds' sum exceeds √T·σ·Φ⁻¹(1−p)", a test of level p, detects the secret.

    ΣK is at least half its mean T·E[K] but with probability e^{−T·E[K]/8} (Chernoff), and σ√T is the noise's scale.
    """
    shift = np.sqrt(rounds) * pair.mean / (2 * pair.sigma)
    return np.clip(1 - np.exp(-rounds * pair.mean / 8) - ndtr(-ndtri(priors) - shift), 0.0, 1.0)


def _improve(result: BlowUp, where: np.ndarray, found: _Attempt) -> None:
    """Take the smaller bound. Its excess is no more than its distance from what another composition has for
    certain, nor less than the smaller of the two cuts."""
    old, old_cut = result.upper[where], result.cut[where]
    floor = np.maximum(found.upper - found.cut, np.where(np.isfinite(old), old - old_cut, 0.0))
    least = np.where(np.isfinite(old), np.minimum(found.cut, old_cut), found.cut)
    result.upper[where] = np.minimum(old, found.upper)
    result.cut[where] = np.maximum(result.upper[where] - floor, least)
    if found.lower is not None:
        result.lower[where] = np.maximum(result.lower[where], found.lower)


class _Round:
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
    ) -> _Attempt:
        """What P's law, and with `lower` the reference's, prove for `priors`."""
        detected = some_round(cells.infinity, self.rounds)
        found = bound_from_above(laws[0], priors, self.rounds, detected=detected, shift=shift)
        least = None
        if len(laws) > 1:
            sure = detected + laws[0].fires, self.rounds * cells.infinity_reference + laws[1].fires
            power = bound_from_below(*laws, priors, self.rounds, sure=sure, shift=shift)
            least = (1 - self.rounds * (cells.moved_up + self.moved_up)) * power
        return _Attempt(found[0], found[1], least, found[2])


Try = Callable[[_Round, np.ndarray, float], _Attempt]
"""Takes the round, the open priors and what is known for the least of them."""


def _attempts(rare: bool) -> Iterator[tuple[str, Try]]:
    """What to try in turn, by kind. A grid that is coarser than it should be is the last resort."""
    by_fft = [("fft", partial(_by_fft, share=share, coarser=0)) for share in _TILTS]
    on_grids = [("grids", partial(_on_two_scales, points=points)) for points in _POINTS]
    by_coarse_fft = [("coarse", partial(_by_fft, share=share, coarser=6)) for share in _TILTS]
    yield from (*on_grids, *by_fft, *by_coarse_fft) if rare else (*by_fft, *on_grids, *by_coarse_fft)


def _pointless(kind: str, sound: bool, gap: float) -> set[str]:
    """Kinds of attempts that cannot mend what is wrong after one of this kind."""
    if kind == "fft":  # another tilt mends round-off, not the width of the grid, and the grid fits
        return {"coarse", "fft"} if sound else {"coarse"}
    if kind == "grids":
        return {"fft", "coarse"} if gap <= _FAIR else {"grids"} if gap > _HOPELESS else set()
    return set()


def _by_fft(round_: _Round, priors: np.ndarray, known: float, *, share: float, coarser: int) -> _Attempt:
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


def _on_two_scales(round_: _Round, priors: np.ndarray, known: float, *, points: int) -> _Attempt:
    cells = round_.cells
    cap = min(float(np.log(known / round_.prior)) + _BEYOND_THRESHOLD, _BEYOND_ENDS * float(cells.ends[-1]))
    laws = compose_on_two_scales(
        cells, round_.rounds, origin=round_.origin, cap=cap, prior=round_.prior, points=points
    )
    return round_.read(laws, cells, priors)


def some_round(mass: float, rounds: int) -> float:
    """How likely an event of this mass is in at least one of the rounds."""
    return -float(np.expm1(rounds * np.log1p(-min(mass, _SURE))))


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
