"""The tight certificate: r = B_{P^T,Q^T}(p), the most that an event of Q-mass p can weigh under P.

Theorem 2 of Hayes et al. 2023; the Hush! paper (§3.3, §5.1) gave it up as numerically unstable. Read in the
dual form

    r = min over t of  e^t·p + δ(t),      δ(t) = Σ_{v>t} (1 − e^{t−v})·P^T(v) + P^T(∞),

it is stable: EVERY t gives a valid bound, P's masses are used as they are (Q's are never formed), and an
error of ν in a mass moves r by at most ν. The T-fold convolution is one power of an FFT. What is cut or
rounded is added to r:

- K's tail and the loss's tail: infinity mass of each round; 1 − (1 − m)^T after T rounds;
- mass beyond the window of the FFT (it would wrap around): a Chernoff bound on it from the discrete masses;
- round-off: an a-priori bound ν on each mass, from the spectrum itself.

Esscher tilt: the masses are weighted by e^{θv} before and e^{−θv} after. θ is the saddle point at which the
tilted mean is the threshold t, so that round-off is relative to r however small r is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from hush_core.accounting.discretise import DiscreteLoss, discretise
from hush_core.accounting.mixture import DominatingPair
from hush_core.errors import CertificationError

_TOLERANCE = 5e-5
"""Aim for the relative excess of r that each of the two discretisations adds (it is part of the bound)."""
_LONGEST_FFT = 1 << 20
_NEGLIGIBLE = 1e-9
"""Relative to r: what the window may cut."""
_LARGEST_CUT = 0.1
"""Relative to r: beyond this share for cuts and round-off the number is valid but not tight."""
_WRAPPED = 1e-13
"""Tilted mass on either side of the window; it wraps around and only raises the bound."""
_BEYOND_PRIOR = 32.0
"""A loss above log(1/p) + 32 counts as certain detection: Q gives it less than e^{−32}·p."""
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class BlowUp:
    """posterior: the certified bound; cut: how much of it was added for what was cut or rounded."""

    posterior: float
    cut: float


def blow_up_posterior(pair: DominatingPair, rounds: int, prior: float, cut: float) -> BlowUp:
    """The tight posterior after T rounds.

    Args:
        pair: one round's dominating pair, mass 1.
        cut: mass that P may lose per round in the tail of the loss (added at infinity).

    Errors: `CertificationError` where a check fails or the cuts are not small against the result.
    """
    if rounds * pair.mean**2 / (2 * pair.sigma**2) > 200 - 4 * np.log(prior):
        return BlowUp(1.0, 0.0)  # the shift is more than enough to detect; 1 is valid without computing
    low = -9.0 * pair.sigma
    high = pair.inverse_loss(_BEYOND_PRIOR - np.log(prior), low, pair.upper_end(cut))
    tilt, spread = _saddle(pair, rounds, prior, low, high)
    curvature = max(tilt * (tilt + 1), 0.25) * rounds / 12
    step = np.sqrt(_TOLERANCE / curvature)
    cell = np.sqrt(_TOLERANCE / (curvature * spread)) if spread > 0 else np.inf
    discrete = discretise(pair, low=low, high=high, cell=cell, step=step)
    found: BlowUp | None = None
    # half the saddle's tilt first: round-off is nearly as small there, and rare large losses need a shorter
    # window
    for trial in dict.fromkeys((tilt / 2, tilt, tilt / 8, 0.0)):
        discrete, window = _fitting_window(pair, discrete, rounds, prior, trial, low, high, cell)
        result = _compose(discrete, rounds, prior, trial, *window)
        if found is None or result.posterior < found.posterior:
            found = result
        if result.cut <= 1e-6 * result.posterior:
            break
    assert found is not None
    if not found.cut <= _LARGEST_CUT * found.posterior:
        raise CertificationError(
            f"round-off and cuts are {found.cut / found.posterior:.1%} of the blow-up bound"
        )
    return found


def _saddle(pair: DominatingPair, rounds: int, prior: float, low: float, high: float) -> tuple[float, float]:
    """(θ, E_θ[L'²]): the tilt at which the tilted mean loss is the threshold of Q-mass p, and the loss's
    slope there.

    Only accuracy hangs on these two numbers, never validity.
    """
    x, table = pair.uniform(low, high, pair.fine_step, np.zeros(1))
    loss = table[:, 0]
    log_p = pair.log_q(x[:, 0]) + loss

    def tilted(theta: float) -> tuple[np.ndarray, float, float]:
        weighted = log_p + theta * loss
        top = weighted.max()
        mass = np.exp(weighted - top)
        total = mass.sum()
        mass /= total
        base = np.exp(log_p).sum()
        return mass, float(mass @ loss), float(top + np.log(total) - np.log(base))

    def excess(theta: float) -> float:
        _, mean, log_moment = tilted(theta)
        return rounds * (mean * (theta + 1) - log_moment) + np.log(prior)

    theta = 0.0
    if excess(0.0) < 0:
        theta = _root(excess, 1e-3, 1e12)
    mass, _, _ = tilted(theta)
    slope = np.gradient(loss, x[:, 0]) if len(x) > 1 else np.zeros(1)
    return theta, float(mass @ slope**2)


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


def _log_moment(discrete: DiscreteLoss, theta: float) -> float:
    """log Σ mass·e^{θv}, infinity left out."""
    values, mass = discrete.values[discrete.mass > 0], discrete.mass[discrete.mass > 0]
    exponent = theta * values
    top = exponent.max()
    return float(top + np.log(mass @ np.exp(exponent - top)))


def _window(discrete: DiscreteLoss, rounds: int, prior: float, tilt: float) -> tuple[int, int, float]:
    """(first, last, above): grid indices of the composed loss to keep, and a bound on P's mass above them.

    Chernoff's bound, computed from the very masses that are composed, so it is rigorous for them.
    """
    logs: dict[float, float] = {}

    def moment(theta: float) -> float:
        if theta not in logs:
            logs[theta] = rounds * _log_moment(discrete, theta)
        return logs[theta]

    base = moment(tilt)
    # log r ≥ log p always; near the saddle point it is about Λ(θ) − θ·t with (θ+1)·t = Λ(θ) − log p
    log_r = max(np.log(prior), min(base - tilt * (base - np.log(prior)) / (tilt + 1), 0.0))
    wanted = log_r + np.log(_NEGLIGIBLE)
    scale = 1 / max(np.sqrt(rounds) * discrete.step, 1e-12)
    shifts = np.geomspace(1e-3, 1.0, 10) * scale
    offsets = np.concatenate([np.geomspace(0.02, 20, 24), tilt + np.geomspace(0.05, 3, 12) * max(tilt, 0.05)])
    candidates = np.unique(np.concatenate([shifts[shifts < 1e9], offsets]))
    exponents = np.array([moment(t) for t in candidates])
    ends = np.where(np.isfinite(exponents), (exponents - wanted) / candidates, np.inf)
    # tilted mass above the window would wrap to its bottom, where undoing the tilt makes it large: none may
    # be left
    ups = np.concatenate([shifts, np.geomspace(0.02, 20, 24)])
    tilted_end = min((moment(tilt + s) - base - np.log(_WRAPPED)) / s for s in ups)
    last = int(np.ceil(max(ends.min(), tilted_end) / discrete.step)) + 1
    lasting = np.min(exponents - candidates * (last * discrete.step))
    # below: mass of the TILTED law only; it would wrap to the top and raise the bound, so this is for
    # accuracy alone
    downs = np.concatenate([shifts, np.geomspace(0.02, 20, 24)])
    starts = [(base - moment(tilt - s) + np.log(_WRAPPED)) / s for s in downs]
    first = int(np.floor(max(starts) / discrete.step)) - 1
    smallest, largest = rounds * discrete.first, rounds * (discrete.first + len(discrete.mass) - 1)
    above = 0.0 if last >= largest else float(np.exp(min(lasting, 0.0)))
    return max(first, smallest), min(last, largest), above


def _fitting_window(
    pair: DominatingPair,
    discrete: DiscreteLoss,
    rounds: int,
    prior: float,
    tilt: float,
    low: float,
    high: float,
    cell: float,
) -> tuple[DiscreteLoss, tuple[int, int, float]]:
    """Coarsen the grid until its window fits the longest FFT; the result is then less tight, never less
    valid."""
    window = _window(discrete, rounds, prior, tilt)
    for _ in range(6):
        excess = (window[1] - window[0] + 1) / _LONGEST_FFT
        if excess <= 1:
            return discrete, window
        discrete = discretise(pair, low=low, high=high, cell=cell, step=discrete.step * excess * 1.05)
        window = _window(discrete, rounds, prior, tilt)
    raise CertificationError("the composed privacy loss does not fit the longest FFT; use method renyi")


def _compose(
    discrete: DiscreteLoss, rounds: int, prior: float, tilt: float, first: int, last: int, above: float
) -> BlowUp:
    """min over t of e^t·p + δ(t), from the T-fold convolution on grid indices first..last."""
    step = discrete.step
    size = next_fast_len(last - first + 1, real=True)
    log_moment = _log_moment(discrete, tilt)
    with np.errstate(divide="ignore"):
        tilted = np.exp(np.log(discrete.mass) + tilt * discrete.values - log_moment)
    wrapped = np.bincount(np.mod(discrete.first + np.arange(len(tilted)), size), tilted, size)
    spectrum = rfft(wrapped)
    magnitude = np.abs(spectrum)
    # the standard bound for a radix-r FFT, |error| ≤ c·log2(n)·eps·‖input‖_1, with c = 4 and ‖input‖_1 = 1
    one = 4 * _EPS * (np.log2(size) + 2)
    composed = irfft(_power(spectrum, rounds), size)
    grown = np.exp(rounds * np.log(np.minimum(magnitude + one, 1 + one)))
    doubled = np.full(len(grown), 2.0)
    doubled[0] = 1.0
    noise = float(doubled @ grown) / size * (rounds * (one + 8 * _EPS) + one)
    total = float(composed.sum())
    if not (np.all(np.isfinite(composed)) and abs(total - 1) <= rounds * one + one):
        raise CertificationError(f"the composed masses sum to {total!r} after tilting, not 1")
    if composed.min() < -noise:
        raise CertificationError(
            f"a composed mass is {composed.min():.1e}, more than round-off ({noise:.1e}) below 0"
        )

    indices = np.arange(first, first + size)
    values = indices * step
    masses = composed[np.mod(indices, size)]
    scale = rounds * log_moment
    return _least(values, masses, noise, scale, tilt, rounds, prior, discrete.infinity, above)


def _power(spectrum: np.ndarray, rounds: int) -> np.ndarray:
    """spectrum^rounds by repeated squaring: relative error at most 2·rounds·eps per entry."""
    result, square = None, spectrum.copy()
    while rounds:
        if rounds & 1:
            result = square.copy() if result is None else result * square
        rounds >>= 1
        if rounds:
            square = square * square
    return result


def _least(
    values: np.ndarray,
    masses: np.ndarray,
    noise: float,
    scale: float,
    tilt: float,
    rounds: int,
    prior: float,
    infinity: float,
    above: float,
) -> BlowUp:
    """The least of e^t·p + δ(t) over the grid's t, with all that was cut; masses are e^{θv − scale} times
    P's."""
    lost = -float(np.expm1(rounds * np.log1p(-infinity))) + above
    # weights far below the threshold overflow and those far above vanish: keep to where they are finite
    log_weight = scale - tilt * values
    usable = log_weight < 600
    values, masses, log_weight = values[usable], masses[usable], log_weight[usable]
    if not len(values):
        raise CertificationError("the composed privacy loss lies outside its window")
    weight = np.exp(log_weight)
    p_mass = masses * weight
    p_above = np.cumsum(p_mass[::-1])[::-1]
    q_above = np.cumsum((p_mass * np.exp(-np.maximum(values, -700.0)))[::-1])[::-1]
    w_above = noise * np.cumsum(weight[::-1])[::-1]
    t_factor = np.exp(np.minimum(values, 700.0))
    rough = t_factor * prior + (p_above - t_factor * q_above) + w_above
    best: BlowUp | None = None
    for i in np.unique(np.clip(int(np.argmin(rough)) + np.arange(-1, 2), 0, len(values) - 1)):
        part = -np.expm1(values[i] - values[i:])
        delta = float(part @ p_mass[i:])
        round_off = noise * float(part @ weight[i:])
        # losses, weights and masses of a round are good to 1e-13 of themselves, and that grows with the
        # rounds
        growth = 1 + 1e-11 + rounds * 2e-13
        value = (float(t_factor[i]) * prior + max(delta, 0.0)) * growth + lost + round_off
        if best is None or value < best.posterior:
            best = BlowUp(value, above + round_off)
    # t → −∞: the trivial event
    return best if best.posterior < 1 else BlowUp(1.0, 0.0)
