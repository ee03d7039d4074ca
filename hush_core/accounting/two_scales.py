"""T rounds from one without FFT: repeated squaring on two grids, for rare large losses beside a narrow bulk.

A tilt makes the FFT's round-off small against the result only if one tilt suits all that matters. It does not if
nearly every round loses about log P(K = 0), and a rare one some 1e3 times as much. The losses then have a tail like
a log-normal's, and no uniform grid is both fine enough for the bulk and wide enough for the rest. So here

- the bulk is on a fine grid, the rest on a coarse one, and the law of T rounds is a binary tree of convolutions.
  A path that leaves the bulk is rounded to the coarse grid once a level, by connect-the-dots;
- convolutions are plain sums of products of masses. Nothing is subtracted, so the relative error of every mass is
  small, however small the mass, without a tilt or an allowance for absolute round-off;
- losses above `cap` after any number of rounds count as detection, with their masses under both laws.

Each grid is `origin` a round plus multiples of a step. `origin` is the loss of a round without the secret, so the
most frequent loss is not rounded at all (docs/mathematics.md §5).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hush_core.accounting.discretise import Cells, connect_the_dots
from hush_core.errors import CertificationError

_JUMPS = 0.1
"""So many paths, about, leave the bulk at each level of the tree."""
_RAISED = 1e-9
"""Relative to the least prior: what all rounds together may raise at the bottom of the coarse grid."""
_TINY = 1e-150
"""Masses below this are left out. Least priors are 1e-30, and products stay clear of underflow."""
_LONGEST = 1 << 17
"""Points of the coarse grid; beyond it, refused."""
_LEAST_SPREADS = 8.0
"""Standard deviations of the bulk's sum that a cap leaves room for, at least."""
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class PlainLaw:
    """Masses as they are at ascending `values`, each good to `growth` of itself, in the form of a `TiltedLaw`.

    truncated, fires: the mass above the cap, which counts as detection.
    """

    values: np.ndarray
    masses: np.ndarray
    growth: float
    truncated: float
    tilt: ClassVar[float] = 0.0
    scale: ClassVar[float] = 0.0
    aliasing: ClassVar[float] = 0.0
    error: ClassVar[float] = 0.0
    cut: ClassVar[float] = 0.0
    added_variance: ClassVar[float] = 0.0
    step: ClassVar[float] = 1.0

    @property
    def fires(self) -> float:
        return self.truncated


Piece = tuple[int, np.ndarray]
"""Index of the first point, and masses by law and point."""


@dataclass(frozen=True)
class _Plan:
    """rounds: of all parts. coarse: step of the coarse grid. points: what the fine grid has at most.
    cap: loss that counts as detection. outside, moved_up: shares of mass a round."""

    rounds: int
    coarse: float
    points: int
    cap: float
    outside: float
    moved_up: float


@dataclass(frozen=True)
class _Block:
    """The law of some rounds: the sum of a fine and a coarse piece, and what is above the cap, by law.

    origin: of all these rounds together. terms: sums of at most so many roundings led here, at each level.
    """

    rounds: int
    origin: float
    step: float
    fine: Piece
    coarse: Piece
    truncated: np.ndarray
    terms: int = 0


Part = tuple[Cells, int, float]
"""One round, how many of it, and its origin: at most its least loss."""


def compose_on_two_scales(parts: Sequence[Part], *, cap: float, prior: float, points: int) -> list[PlainLaw]:
    """P's law after all rounds of all parts, and the reference's under the same binning.

    Args:
        parts: see `Part`. cap: losses above it, after any number of rounds, count as detection. prior: the least
            that is asked for. points: size of the grids, for accuracy only.

    Errors: `CertificationError` where the grids grow too long or masses do not add up.
    """
    rounds = sum(n for _, n, _ in parts)
    outside = _JUMPS / rounds
    splits = [_split(cells, outside) for cells, _, _ in parts]
    widths = [float(c.ends[split - 1] - c.ends[0]) for (c, _, _), split in zip(parts, splits, strict=True)]
    cap += _drift(parts, splits, prior)
    wanted = max(cap - min(float(cells.ends[0]) for cells, _, _ in parts), *widths) / points
    steps = [max(2 * width / points, wanted * 2.0**-40) for width in widths]
    least = min(steps)
    factor = 2 ** max(0, int(np.ceil(np.log2(wanted / least))))
    plan = _Plan(rounds, least * factor, points, cap, outside, _RAISED * prior / rounds)
    blocks = []
    for part, split, step in zip(parts, splits, steps, strict=True):
        # a part's own step, on the ladder of powers of two that leads to the coarse grid
        own = least * 2 ** int(np.log2(min(step / least, factor)))
        blocks.append(_power(_one_round(part, split, own, plan), part[1], plan))
    while len(blocks) > 1:
        pairs = [_product(*blocks[i : i + 2], plan) for i in range(0, len(blocks) - 1, 2)]
        blocks = pairs + ([blocks[-1]] if len(blocks) % 2 else [])
    beyond = sum(n * np.log1p(-min(cells.infinity, 1 - _EPS)) for cells, n, _ in parts)
    return _read(blocks[0], plan, -np.expm1(beyond))


def _split(cells: Cells, outside: float) -> int:
    """So many of the cells' ends are the bulk."""
    above = np.cumsum(cells.mass[::-1])[::-1]
    return int(np.clip(np.searchsorted(-above, -outside), 2, len(cells.ends)))


def _one_round(part: Part, split: int, step: float, plan: _Plan) -> _Block:
    cells, _, origin = part
    rows = cells.mass, cells.reference
    values = cells.ends - origin
    fine = connect_the_dots(values[:split], step, tuple(r[:split] for r in rows))
    if split < len(values):
        first, binned = connect_the_dots(values[split:], plan.coarse, tuple(r[split:] for r in rows))
        coarse = first, np.stack(binned)
    else:
        coarse = 0, np.zeros((len(rows), 0))
    return _settled(_Block(1, origin, step, (fine[0], np.stack(fine[1])), coarse, np.zeros(len(rows))), plan)


def _power(block: _Block, rounds: int, plan: _Plan) -> _Block:
    result = None
    while rounds:
        if rounds & 1:
            result = block if result is None else _product(result, block, plan)
        rounds >>= 1
        if rounds:
            block = _product(block, block, plan)
    return result


def _drift(parts: Sequence[Part], splits: Sequence[int], prior: float) -> float:
    """How far the bulk may take a sum down again, and up: a cap that is higher by this loses nothing.

    A normal sum is √(−2·log p) spreads up where Q's tail is p; twice that, as the bulk's tail is heavier.
    """
    mean = spread = 0.0
    for (cells, rounds, _), split in zip(parts, splits, strict=True):
        losses, mass = cells.ends[:split], cells.mass[:split]
        share = mass / mass.sum()
        own = float(share @ losses)
        mean += rounds * own
        spread += rounds * float(share @ (losses - own) ** 2)
    spreads = max(_LEAST_SPREADS, 2 * np.sqrt(-2 * np.log(prior)))
    return max(0.0, -mean) + spreads * np.sqrt(spread)


def _product(a: _Block, b: _Block, plan: _Plan) -> _Block:
    step = max(a.step, b.step)
    a, b = _on(a, step), _on(b, step)
    pieces = [_convolved(a.coarse, b.coarse)]
    if a is b:
        first, masses = _binned(a.fine, step, plan)
        pieces[0] = _convolved(a.coarse, _sum([a.coarse, (first, 2 * masses)]))
    else:
        pieces.append(_convolved(a.coarse, _binned(b.fine, step, plan)))
        pieces.append(_convolved(_binned(a.fine, step, plan), b.coarse))
    # disjoint from what lies beyond a round's grid, which is in neither block
    truncated = a.truncated * (_mass(b) + b.truncated) + _mass(a) * b.truncated
    terms = max(a.terms, b.terms, *(_terms(block) for block in (a, b)))
    origin, rounds = a.origin + b.origin, a.rounds + b.rounds
    joint = _Block(rounds, origin, step, _convolved(a.fine, b.fine), _sum(pieces), truncated, terms)
    return _settled(joint, plan)


def _mass(block: _Block) -> np.ndarray:
    return block.fine[1].sum(axis=1) + block.coarse[1].sum(axis=1)


def _terms(block: _Block) -> int:
    """So many roundings are between this block's masses and those of a product with it, at most."""
    return block.fine[1].shape[1] + 3 * block.coarse[1].shape[1] + 64


def _settled(block: _Block, plan: _Plan) -> _Block:
    """What is outside the bulk goes to the coarse grid, above the cap it is lost, far below it is raised.

    Raising merges points of both laws alike, so it is part of the binning: the test of the lower bound does it too.
    """
    allowed = plan.outside * block.rounds / 2
    while True:
        first, masses = block.fine
        low = int(np.searchsorted(np.cumsum(masses[0]), allowed, side="right"))
        high = masses.shape[1] - int(np.searchsorted(np.cumsum(masses[0, ::-1]), allowed, side="right"))
        if high - low <= plan.points or block.step >= plan.coarse:
            break
        block = _on(block, 2 * block.step)
    low, high = min(low, masses.shape[1] - 1), max(high, low + 1)
    outer = [(first, masses[:, :low]), (first + high, masses[:, high:])]
    first_coarse, coarse = _sum([block.coarse, *(_binned(piece, block.step, plan) for piece in outer)])
    top = int(np.floor((plan.cap - block.origin) / plan.coarse)) - first_coarse + 1
    truncated = block.truncated + coarse[:, max(top, 0) :].sum(axis=1)
    coarse = coarse[:, : max(top, 0)]
    if coarse.shape[1]:
        far = int(np.searchsorted(np.cumsum(coarse[0]), plan.moved_up * block.rounds, side="right"))
        far = min(far, coarse.shape[1] - 1)
        moved_up = coarse[:, :far].sum(axis=1)
        first_coarse, coarse = first_coarse + far, coarse[:, far:].copy()
        coarse[:, 0] += moved_up
        coarse[coarse < _TINY] = 0.0
    if coarse.shape[1] > _LONGEST:
        raise CertificationError("the composed privacy loss is too wide for its grids")
    kept = masses[:, low:high].copy()
    kept[kept < _TINY] = 0.0
    return replace(block, fine=(first + low, kept), coarse=(first_coarse, coarse), truncated=truncated)


def _on(block: _Block, step: float) -> _Block:
    """With the fine piece on a grid coarser by a power of two."""
    if step == block.step:
        return block
    first, masses = block.fine
    first, binned = connect_the_dots(_values(first, masses, block.step), step, tuple(masses))
    return replace(block, step=step, fine=(first, np.stack(binned)))


def _binned(fine: Piece, step: float, plan: _Plan) -> Piece:
    first, masses = fine
    if not masses.shape[1]:
        return fine
    if step == plan.coarse:
        return fine
    first, binned = connect_the_dots(_values(first, masses, step), plan.coarse, tuple(masses))
    return first, np.stack(binned)


def _values(first: int, masses: np.ndarray, step: float) -> np.ndarray:
    return (first + np.arange(masses.shape[1])) * step


def _convolved(a: Piece, b: Piece) -> Piece:
    if not (a[1].shape[1] and b[1].shape[1]):
        return 0, np.zeros((len(a[1]), 0))
    return a[0] + b[0], np.stack([np.convolve(x, y) for x, y in zip(a[1], b[1], strict=True)])


def _sum(pieces: list[Piece]) -> Piece:
    pieces = [p for p in pieces if p[1].shape[1]] or pieces[:1]
    first = min(p[0] for p in pieces)
    size = max(p[0] + p[1].shape[1] for p in pieces) - first
    out = np.zeros((len(pieces[0][1]), size))
    for start, masses in pieces:
        out[:, start - first : start - first + masses.shape[1]] += masses
    return first, out


def _read(block: _Block, plan: _Plan, infinity: float) -> list[PlainLaw]:
    values = (
        np.concatenate([_values(*block.fine, block.step), _values(*block.coarse, plan.coarse)]) + block.origin
    )
    masses = np.concatenate([block.fine[1], block.coarse[1]], axis=1)
    order = np.argsort(values, kind="stable")
    total = float(masses[0].sum() + block.truncated[0] + infinity)
    # a binary tree with T leaves has T − 1 products, and each adds its roundings
    growth = plan.rounds * (block.terms + _terms(block)) * _EPS
    if not abs(total - 1) <= growth + 1e-9:
        raise CertificationError(f"the composed masses sum to {total!r}, not 1")
    return [
        PlainLaw(values[order], row[order], growth, float(truncated))
        for row, truncated in zip(masses, block.truncated, strict=True)
    ]
