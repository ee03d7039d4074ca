"""One round's privacy loss on a grid, pessimistic: connect the dots, under P (Doroshenko et al. 2022).

The x-axis is cut into cells. The mass of a cell goes to its two ends so that its masses under P and under Q are
both kept: this is connect-the-dots on the grid of the cells' losses. By the same rule each end's mass goes to the
two neighbouring points of the uniform grid of losses. Both steps dominate what they replace, for any widths, and
err by the square of the width. The share of a cell that goes to its upper end is an integral of a positive function
(Gauss–Legendre on the densities). It is no difference of CDFs, so it stays accurate deep into the tails.

The same two steps are a randomised binning of x, which an adversary could do too. The masses that it gives Q
(`reference`) therefore make a pair that P and Q dominate: from it comes the lower bound.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from hush_core.accounting.mixture import DominatingPair
from hush_core.errors import CertificationError

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(4)
_PLACES = np.concatenate([[0.0, 1.0], (1 + _NODES) / 2])


@dataclass(frozen=True)
class Cells:
    """One round's law on the losses at the ends of the cells, ascending, shape (n,).

    mass: P's masses; with `infinity` they sum to 1. moved_up: the share of mass[0] from below `low`.
    reference, infinity_reference: the masses of Q when x is binned as P's was; they leave out x below `low`.
    below_reference: Q's mass there.
    """

    ends: np.ndarray
    mass: np.ndarray
    infinity: float
    reference: np.ndarray
    infinity_reference: float
    moved_up: float
    below_reference: float


@dataclass(frozen=True)
class DiscreteLoss:
    """P(L = origin + (first + i)·step) = mass[i]; P(L = ∞) = infinity. Sums to 1. Q's masses are e^{−L}·mass.

    reference, infinity_reference, moved_up: as in `Cells`.
    """

    step: float
    first: int
    mass: np.ndarray
    infinity: float
    reference: np.ndarray
    infinity_reference: float
    moved_up: float
    origin: float = 0.0

    @property
    def values(self) -> np.ndarray:
        return self.origin + (self.first + np.arange(len(self.mass))) * self.step


def discretise(
    pair: DominatingPair, *, low: float, high: float, cell: float, step: float, origin: float = 0.0
) -> DiscreteLoss:
    """Connect the dots on losses that are `origin` and multiples of `step`, from cells of width ≤ `cell` in
    x ∈ [low, high].

    Mass of P below `low` is raised to L(low); above `high` it goes to infinity.

    Errors: `CertificationError` if the masses under P or Q do not add up.
    """
    return on_grid(cut_into_cells(pair, low=low, high=high, cell=cell), step, origin)


def cut_into_cells(pair: DominatingPair, *, low: float, high: float, cell: float) -> Cells:
    """The first of the two steps; arguments and errors as for `discretise`."""
    cell = min(cell, pair.fine_step / 8)  # keeps the 4-point rule below 1e-12, tails included
    x, loss = pair.uniform(low, high, cell, _PLACES)
    ends = _ends(loss)
    left, inside = ends[:-1], loss[:, 2:]
    rise = ends[1:] - left
    with np.errstate(invalid="ignore", divide="ignore"):
        share = -np.expm1(np.minimum(left[:, None] - inside, 0.0)) / -np.expm1(-rise)[:, None]
    # a cell flat to the last bit goes up as a whole
    share = np.where(rise[:, None] > 0, np.clip(share, 0.0, 1.0), 1.0)
    log_q = pair.log_q(x[:, 2:])
    weights = _NODE_WEIGHTS * (high - low) / len(x) / 2
    end_mass = _to_ends(np.exp(log_q + inside) * weights, share)
    end_reference = _to_ends(np.exp(log_q) * weights, share)
    below, above = float(pair.weights @ ndtr((low - pair.k) / pair.sigma)), pair.p_above(high)
    end_mass[0] += below

    total = end_mass.sum() + above
    # each mass is off by rounding only, relative to itself: scaling up keeps the result pessimistic
    if not abs(total - 1) < 1e-10:
        raise CertificationError(f"the discretised loss has mass {total!r} under P, not 1")
    end_mass *= (1 - above) / (total - above)
    return Cells(ends, end_mass, above, end_reference, pair.q_above(high), below, pair.q_above(-low))


def on_grid(cells: Cells, step: float, origin: float = 0.0) -> DiscreteLoss:
    """The second step."""
    first, (mass, reference) = connect_the_dots(cells.ends - origin, step, (cells.mass, cells.reference))
    result = DiscreteLoss(
        step, first, mass, cells.infinity, reference, cells.infinity_reference, cells.moved_up, origin
    )
    with np.errstate(over="ignore"):
        under_q = float((mass * np.exp(-np.maximum(result.values, -700.0))).sum())
    # raised mass (below) keeps P's share only, so Q may miss up to Q(X < low); it can never have more than 1
    least = 1 - cells.below_reference - cells.infinity_reference - 1e-9
    if not (least <= under_q <= 1 + 1e-9 and least <= reference.sum() <= 1 + 1e-9):
        raise CertificationError(f"the discretised loss has mass {under_q!r} under Q, not 1")
    return result


def connect_the_dots(
    values: np.ndarray, step: float, masses: tuple[np.ndarray, ...], tilts: tuple[float, ...] = (0.0, 0.0)
) -> tuple[int, tuple[np.ndarray, ...]]:
    """Share masses at ascending `values` between the two neighbouring multiples of `step`.

    The shares keep the first law's mass under P and, weighted e^{−v}, under Q; every law is binned by the same
    shares. A law with tilt θ holds e^{θv} times its masses.

    Returns: the index of the first multiple, and the laws on the grid that starts there.
    """
    place = values / step
    index = np.floor(place).astype(np.int64)
    down = (index - place) * step
    up = np.expm1(down) / np.expm1(-step)
    first, size = int(index[0]), int(index[-1] - index[0]) + 2
    binned = []
    for mass, tilt in zip(masses, tilts, strict=False):
        lower, upper = mass * (1 - up), mass * up
        if tilt:
            lower, upper = lower * np.exp(tilt * down), upper * np.exp(tilt * (down + step))
        binned.append(np.bincount(index - first, lower, size) + np.bincount(index - first + 1, upper, size))
    return first, tuple(binned)


def _ends(loss: np.ndarray) -> np.ndarray:
    """The losses at the cells' ends, never falling."""
    raw = np.append(loss[:, 0], loss[-1, 1])
    # where the loss is flat to the last bit, rounding may let it fall; raising it again is on the safe side
    ends = np.maximum.accumulate(raw)
    if not (np.all(np.isfinite(loss)) and np.all(ends - raw <= 1e-11 * (1 + np.abs(raw)))):
        raise CertificationError("the privacy loss is not increasing in floating point; no certificate here")
    return ends


def _to_ends(density: np.ndarray, share: np.ndarray) -> np.ndarray:
    to_right = (density * share).sum(axis=1)
    ends = np.zeros(len(density) + 1)
    ends[:-1] += np.maximum(density.sum(axis=1) - to_right, 0.0)
    ends[1:] += to_right
    return ends
