"""The tight certificate: r = B_{P^T,Q^T}(p), the most that an event of Q-mass p can weigh under P.

Theorem 2 of Hayes et al. 2023; the Hush! paper (§3.3, §5.1) gave it up as numerically unstable. Read in the
dual form

    r = min over t of  e^t·p + δ(t),      δ(t) = Σ_{v>t} (1 − e^{t−v})·P^T(v) + P^T(∞),

it is stable: EVERY t gives a valid bound, P's masses are used as they are (Q's are never formed), and an
error of ν in a mass moves r by at most ν. What is cut or rounded is added to r: the tails of K and of the loss
(infinity mass of each round), mass beyond the window of the FFT (Chernoff), round-off (a-priori bound).

Several ways lead to the composed law (attempts.py). Every attempt is valid; the least bound counts.

The lower bound is an attack: the randomised binning that made the grid is something an adversary can do, and
"the binned loss exceeds t" is a test. Its power is P's composed masses above t, its level Q's own composed
masses (`reference`); what was cut or rounded is taken off the power and added to the level.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from hush_core.accounting.attempts import Composed, ComposedBounds, Parts, attempts, some_round
from hush_core.accounting.composition import WindowTooLong
from hush_core.errors import CertificationError

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
_RARELY = 1.0
"""Where the secret is drawn less often than this in all rounds together, the two grids are tried before the FFT."""


@dataclass(frozen=True)
class BlowUp:
    """By prior: `upper`, the certified bound; `lower`, what a test of the pair reaches; `cut`, how much of `upper`
    was added for what was cut or rounded. `lower` is 0 where it was not asked for."""

    upper: np.ndarray
    lower: np.ndarray
    cut: np.ndarray


def blow_up_posteriors(
    parts: Parts, priors: np.ndarray, *, cut: float, lower: bool = False, coarser: float = 1.0
) -> BlowUp:
    """The tight posterior after all rounds, for every prior.

    Args:
        parts: dominating pairs of a round, mass 1, and how many rounds of each. priors: (k,), each in (0, 1).
        cut: mass that P may lose per round in the tail of the loss (added at infinity).
        coarser: grids that add so many times as much to the bound will do.

    Errors: `CertificationError` where a check fails or the cuts are not small against the result.
    """
    result = BlowUp(np.full(len(priors), np.inf), np.zeros(len(priors)), np.zeros(len(priors)))
    moved_up = sum(rounds * pair.moved_up for pair, rounds in parts)
    open_ = _without_composing(result, parts, priors, moved_up)
    refusal = None
    rare = sum(rounds * pair.mean for pair, rounds in parts) < _RARELY
    while open_.any():
        prior = float(priors[open_].min())
        composed = Composed(parts, prior, cut, lower, coarser)
        if composed.detected >= _SURE:
            share = np.minimum(priors[open_] / max(composed.falsely, 1e-300), 1.0)
            sure = (composed.detected - moved_up) * share
            result.upper[open_], result.lower[open_] = 1.0, sure
            break
        own = priors[open_] == prior
        good, done = np.zeros(len(own), dtype=bool), set()
        for kind, attempt in attempts(rare):
            if kind in done:
                continue
            known = float(np.minimum(result.upper[open_][own], 1.0).max())
            try:
                found = attempt(composed, priors[open_], known)
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
            good = sound & (gap <= (_LOOSE if found.lower is None else _CLOSE) * coarser * value)
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


def _without_composing(result: BlowUp, parts: Parts, priors: np.ndarray, moved_up: float) -> np.ndarray:
    """Fill in the priors for which 1, or p and hardly more, is the bound; True for the others."""
    power = _power_of_the_sum(parts, priors)
    sure = power >= _SURE
    result.upper[sure], result.lower[sure] = 1.0, power[sure] - moved_up
    # P^T is Q^T but where the secret is drawn, so B(p) ≤ p + Pr[it is drawn at all]
    drawn = some_round([(pair.drawn, rounds) for pair, rounds in parts])
    hardly = drawn <= _HARDLY_EVER * priors
    result.upper[hardly] = (priors[hardly] + drawn) * (1 + 1e-11)
    result.lower[hardly] = priors[hardly]
    return ~(sure | hardly)


def _power_of_the_sum(parts: Parts, priors: np.ndarray) -> np.ndarray:
    """A lower bound on how surely one test of level p detects the secret: "the rounds' weighted sum is above its
    (1−p)-quantile under Q".

    A round weighs a = E[K]/σ², over the largest such. √(Σ T·a²·σ²) is the noise's scale. Σ aK, of terms in [0, 1],
    is at least half its mean M = Σ T·a·E[K], except with probability e^{−M/8} (Chernoff).
    """
    largest = max(pair.mean / pair.sigma**2 for pair, _ in parts)
    if not largest > 0:
        return np.zeros(len(priors))
    weighted = [(pair.mean / pair.sigma**2 / largest, pair, rounds) for pair, rounds in parts]
    mean = sum(a * rounds * pair.mean for a, pair, rounds in weighted)
    scale = np.sqrt(sum(rounds * (a * pair.sigma) ** 2 for a, pair, rounds in weighted))
    return np.clip(1 - np.exp(-mean / 8) - ndtr(-ndtri(priors) - mean / (2 * scale)), 0.0, 1.0)


def _improve(result: BlowUp, where: np.ndarray, found: ComposedBounds) -> None:
    """Take the smaller bound. Its excess is no more than its distance from what another composition has for
    certain, nor less than the smaller of the two cuts."""
    old, old_cut = result.upper[where], result.cut[where]
    floor = np.maximum(found.upper - found.cut, np.where(np.isfinite(old), old - old_cut, 0.0))
    least = np.where(np.isfinite(old), np.minimum(found.cut, old_cut), found.cut)
    result.upper[where] = np.minimum(old, found.upper)
    result.cut[where] = np.maximum(result.upper[where] - floor, least)
    if found.lower is not None:
        result.lower[where] = np.maximum(result.lower[where], found.lower)


def _pointless(kind: str, sound: bool, gap: float) -> set[str]:
    """Kinds of attempts that cannot correct the failure of one of this kind."""
    if kind == "fft":  # another tilt changes round-off, not the width of the grid, and the grid fits
        return {"coarse", "fft"} if sound else {"coarse"}
    if kind == "grids":
        return {"fft", "coarse"} if gap <= _FAIR else {"grids"} if gap > _HOPELESS else set()
    return set()
