"""δ(ε) of T rounds for one order of the dominating pair, composed by dp_accounting and checked.

Only connect-the-dots is used: with `use_connect_dots=False` dp_accounting 0.6.0 returns values BELOW the truth
for this mixture (docs/mathematics.md §3). Its adjacency REMOVE has the mixture P as
upper distribution, ADD has it as the lower one. What is checked and added here:

- one round against the closed form at every grid point (for rates near 1e-9 connect-the-dots falls below it too);
- the composition against the same one in extended precision; the mass of K's tail, and what dp_accounting cuts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtr

from hush_core.accounting.participation import CountDistribution, Participation
from hush_core.errors import CertificationError

if TYPE_CHECKING:  # a second of imports, which only (ε, δ) needs
    from dp_accounting.pld import privacy_loss_mechanism as mechanism
    from dp_accounting.pld.pld_pmf import PLDPmf

CUT = 1e-6
"""Mass of K's tail and of the composed loss, over all rounds and relative to the resolution, that is cut."""
MOST_COUNTS = 400
"""More values of K than this take dp_accounting minutes."""
LEAST_POINTS, USUAL_POINTS, MOST_POINTS = 600, 60_000, 4_000_000
"""Points of one round's grid: our choice of step gives at least the first (accuracy) and at most the second
(seconds). The composed loss has about the third at most: coarser then, and a given step is refused."""
_DEVIATIONS = 20.0
_WIDEST_STEP = 50.0
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class HockeyStick:
    """An upper bound on δ(ε) = sup_E (A(E) − e^ε·B(E)) for T rounds of one ordered pair (A, B), any real ε.

    Attributes:
        step: width of the grid of losses. first: index of its first point; losses are (first + i)·step.
        deltas: δ at those losses, shape (n,), as composed; between them it is linear in e^ε, exactly.
        total: mass of A, the infinite loss included.
        cut: what K's cut tail can add to δ.
        slack: what T times the one-round shortfall and the FFT's rounding can add.
    """

    step: float
    first: int
    deltas: np.ndarray
    total: float
    cut: float
    slack: float

    @property
    def last_loss(self) -> float:
        return (self.first + len(self.deltas) - 1) * self.step

    def composed(self, epsilons: ArrayLike) -> np.ndarray:
        """δ of the composed masses alone, without cut and slack."""
        place = np.asarray(epsilons, np.float64) / self.step - self.first
        end = len(self.deltas) - 1
        index = np.clip(np.floor(place), 0, max(end - 1, 0)).astype(np.int64)
        part = np.expm1(np.clip(place - index, 0.0, 1.0) * self.step) / math.expm1(self.step)
        here, above = self.deltas[index], self.deltas[np.minimum(index + 1, end)]
        below = self.total - np.exp(np.minimum(place, 0) * self.step) * (self.total - self.deltas[0])
        return np.where(place < 0, below, here + part * (above - here))

    def __call__(self, epsilons: ArrayLike) -> np.ndarray:
        return np.clip(self.composed(epsilons) + self.cut + self.slack, 0.0, 1.0)


def composed_hockey_stick(
    participation: Participation,
    *,
    noise_multiplier: float,
    rounds: int,
    resolution: float,
    step: float | None,
    mixture_is_upper: bool,
) -> HockeyStick:
    """P‖Q where `mixture_is_upper`, else Q‖P; arguments as in `privacy_profile`. Seconds a call.

    Errors: `CertificationError` where dp_accounting cannot do it or a check fails.
    """
    if participation.mean == 0:
        return HockeyStick(1.0, 0, np.zeros(1), 1.0, 0.0, 0.0)  # the loss is 0
    # dp_accounting's cost grows with the number of counts, so more of K's tail is cut than in our own route
    kept = participation.distribution.trimmed(CUT * resolution / rounds)
    if len(kept.pmf) > MOST_COUNTS:
        raise CertificationError(f"{len(kept.pmf)} values of K are beyond dp_accounting's reach")
    # P‖Q loses T·tail. Q‖P: P ≥ (1 − tail)^T·P_kept, and e^ε·P(E) ≤ Q(E) ≤ 1 at the best event, so it loses
    # (1 − tail)^{−T} − 1. Small K are only raised, which is on the safe side in both.
    cut = rounds * kept.tail if mixture_is_upper else math.expm1(-rounds * math.log1p(-kept.tail))
    try:
        loss = _one_loss(kept, noise_multiplier, math.log(resolution / rounds) - 25, mixture_is_upper)
        one_round = _one_round(loss, rounds, step)
        composed = one_round.self_compose(rounds, tail_mass_truncation=CUT * resolution)
    except (TypeError, ValueError, ArithmeticError, MemoryError, RecursionError) as error:
        raise CertificationError(f"dp_accounting refuses: {type(error).__name__}") from None
    width, first, masses, infinity = dense_masses(one_round)
    found = _hockey_stick(masses, infinity, width)
    shortfall = _shortfall(
        kept, noise_multiplier, mixture_is_upper, (first + np.arange(len(found))) * width, found
    )
    _, start, many, lost = dense_masses(composed)
    round_off = _round_off(masses, many, start - rounds * first, rounds, width)
    slack = rounds * shortfall + round_off
    total = float(many.sum() + lost)
    if not total >= 1 - slack - 1e-9:
        raise CertificationError(f"dp_accounting's composed masses sum to {total!r}, not 1")
    deltas = _hockey_stick(many, lost, width) * (1 + 8 * _EPS * len(many))  # its sums round
    return HockeyStick(width, start, deltas, total, cut, slack)


def _one_loss(
    kept: CountDistribution, sigma: float, log_mass_cut: float, mixture_is_upper: bool
) -> mechanism.MonotonePrivacyLoss:
    from dp_accounting.pld import privacy_loss_mechanism as mechanism

    adjacency = mechanism.AdjacencyType.REMOVE if mixture_is_upper else mechanism.AdjacencyType.ADD
    common = {"log_mass_truncation_bound": log_mass_cut, "adjacency_type": adjacency}
    if len(kept.pmf) == 1:  # the mixture's search for its tail finds nothing where K is sure
        return mechanism.GaussianPrivacyLoss(sigma, sensitivity=kept.first, **common)
    counts = (kept.first + np.arange(len(kept.pmf))).astype(float)
    return mechanism.MixtureGaussianPrivacyLoss(sigma, counts, kept.pmf / kept.pmf.sum(), **common)


def _one_round(loss: mechanism.MonotonePrivacyLoss, rounds: int, given: float | None) -> PLDPmf:
    """Connect-the-dots. It errs by the square of the step, T times, against the spread of the composed loss."""
    ends = loss.connect_dots_bounds()
    reach = float(ends.epsilon_upper - ends.epsilon_lower)
    if not 0 < reach < np.inf:
        raise CertificationError("a round's losses have no finite range for dp_accounting")
    step = given or max(min(1e-2, 0.02 / math.sqrt(rounds), reach / LEAST_POINTS), reach / USUAL_POINTS)
    if not (reach / step <= MOST_POINTS and step <= _WIDEST_STEP):
        raise CertificationError(f"a round's losses spread over {reach:.1g}, beyond dp_accounting's reach")
    found = _connected(loss, step)
    width, first, masses, _ = dense_masses(found)
    losses = (first + np.arange(len(masses))) * width
    spread = math.sqrt(rounds * max(float(masses @ losses**2 - (masses @ losses) ** 2), 0.0))
    # dp_accounting's window: some deviations, or what its coarsest Chernoff order leaves where T is very large
    coarser = max(_DEVIATIONS * spread, spread**2 / reach) / (step * MOST_POINTS)
    if coarser <= 1:
        return found
    if given or not coarser * step <= _WIDEST_STEP:
        raise CertificationError("the composed loss has too many points for dp_accounting's reach")
    return _connected(loss, step * coarser)


def _connected(loss: mechanism.MonotonePrivacyLoss, step: float) -> PLDPmf:
    from dp_accounting.pld import privacy_loss_distribution as pld

    # the public constructor computes both adjacencies and answers with the worse one
    return pld._create_pld_pmf_from_monotone_privacy_loss(
        loss, pessimistic_estimate=True, value_discretization_interval=step, use_connect_dots=True
    )


def dense_masses(masses: PLDPmf) -> tuple[float, int, np.ndarray, float]:
    """step, index of the first loss, masses, infinite mass. The fields are private; constraints.txt pins them."""
    dense = masses.to_dense_pmf()
    found = np.asarray(dense._probs, np.float64)
    if not (np.all(np.isfinite(found)) and np.isfinite(dense._infinity_mass)):
        raise CertificationError("dp_accounting's masses are not finite")
    return float(dense._discretization), int(dense._lower_loss), found, float(dense._infinity_mass)


def _hockey_stick(masses: np.ndarray, infinity: float, step: float) -> np.ndarray:
    """δ at each grid loss: D_i = e^{−h}·D_{i+1} + (1 − e^{−h})·Σ_{j>i} m_j, a recurrence without a difference."""
    from scipy.signal import lfilter

    above = np.append(np.cumsum(masses[:0:-1])[::-1], 0.0)
    return lfilter([-math.expm1(-step)], [1.0, -math.exp(-step)], above[::-1])[::-1] + infinity


def _shortfall(
    kept: CountDistribution, sigma: float, mixture_is_upper: bool, losses: np.ndarray, found: np.ndarray
) -> float:
    """How far one round's δ lies below the closed form, at most, over its whole grid; 1e-15 where it is sound.

    Between grid points connect-the-dots interpolates a convex function, so it is above if it is at the points.
    """
    counts, law = kept.first + np.arange(len(kept.pmf), dtype=np.float64), kept.pmf / kept.pmf.sum()
    worst = 0.0
    chunk = max(1, 2_000_000 // len(counts))
    for i in range(0, len(losses), chunk):
        exact = one_round_delta(counts, law, sigma, losses[i : i + chunk], mixture_is_upper=mixture_is_upper)
        worst = max(worst, float((exact - found[i : i + chunk]).max()))
    return worst


def one_round_delta(
    counts: np.ndarray, law: np.ndarray, sigma: float, epsilons: np.ndarray, *, mixture_is_upper: bool
) -> np.ndarray:
    """δ(ε) of one round in closed form: P(X > x) − e^ε·Q(X > x) where L(x) = ε, or the other order; float64.

    Args:
        counts, law: the values of K and their probabilities, shape (c,). epsilons: shape (n,).
        mixture_is_upper: P‖Q, the event {X > x}; else Q‖P, the event {X < x} where L(x) = −ε.

    Every x gives a lower bound and the best one has slope 0: an error in x enters by its square only.
    """
    counts, law = counts[law > 0], law[law > 0]
    log_law = np.log(law) - counts**2 / (2 * sigma**2)

    def loss(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        terms = log_law + x[:, None] * (counts / sigma**2)
        top = terms.max(axis=1, keepdims=True)
        weights = np.exp(terms - top)
        total = weights.sum(axis=1)
        return top[:, 0] + np.log(total), weights @ counts / (sigma**2 * total)

    target = epsilons if mixture_is_upper else -epsilons
    table = np.linspace(-40 * sigma, counts[-1] + 40 * sigma, 4001)
    known = np.maximum.accumulate(loss(table)[0])
    place = np.clip(np.searchsorted(known, target), 1, len(table) - 1)
    x = np.interp(target, known, table)
    for _ in range(6):  # Newton, kept between two points of the table
        value, slope = loss(x)
        with np.errstate(divide="ignore", invalid="ignore"):
            move = (target - value) / slope
        x = np.clip(np.where(np.isfinite(move), x + move, x), table[place - 1], table[place])
    sign = 1.0 if mixture_is_upper else -1.0
    p, q = ndtr(sign * (counts - x[:, None]) / sigma) @ law, ndtr(-sign * x / sigma)
    upper, lower = (p, q) if mixture_is_upper else (q, p)
    with np.errstate(over="ignore", invalid="ignore"):
        exact = np.nan_to_num(upper - np.exp(epsilons) * lower, nan=0.0)
    return np.maximum(exact, -np.expm1(np.minimum(epsilons, 0.0)))  # at least the empty and the full event's


def _round_off(one_round: np.ndarray, composed: np.ndarray, offset: int, rounds: int, step: float) -> float:
    """The most that the rounding of dp_accounting's FFTs took from a δ.

    The circular convolution is repeated in extended precision, with its a-priori bound. The spectrum s has an error
    of c·log2(n)·eps (mass 1, radix-r FFT; c = 4), so that of s^T is T·|s|^(T−1) times as large, and powers and the
    transform back add 8·T·eps and c·log2(n)·eps of |s|^T. δ sums the masses with
    weights 1 − e^{ε−v} in [0, 1]. They rise once and fall once: their k-th Fourier coefficient is at most n/(2k).
    """
    size = next_fast_len(max(len(composed), len(one_round)))
    spectrum = rfft(one_round.astype(np.longdouble), size)
    again = np.roll(irfft(_power(spectrum, rounds), size), -offset)[: len(composed)]
    missing = _hockey_stick((again - composed).astype(np.float64), 0.0, step)
    eps = float(np.finfo(again.dtype).eps)
    one = 4 * eps * (math.log2(size) + 2)
    magnitude = np.abs(spectrum).astype(np.float64)
    log = np.log(np.minimum(magnitude + one, magnitude[0] + one))
    grown, before = np.exp(rounds * log), np.exp((rounds - 1) * log)
    weights = np.minimum(1.0, 1 / np.maximum(2.0 * np.arange(len(grown)), 1.0))
    doubled = np.full(len(grown), 2.0)
    doubled[0] = 1.0
    rest = float(doubled @ (before * rounds * one * weights + grown * (rounds * 8 * eps * weights + one)))
    return max(float(missing.max()), 0.0) + rest


def _power(spectrum: np.ndarray, rounds: int) -> np.ndarray:
    """spectrum^rounds by repeated squaring: relative error at most 2·rounds·eps per entry."""
    result = np.ones_like(spectrum)
    while rounds:
        if rounds & 1:
            result = result * spectrum
        rounds >>= 1
        if rounds:
            spectrum = spectrum * spectrum
    return result
