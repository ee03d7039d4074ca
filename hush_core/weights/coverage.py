"""Weights that let the most distinct examples be seen: a concave program, solved and certified through its dual.

    max Σ 1 − e^{−λ·w_i}   s.t.   Σ_{i∋j} w_i ≤ cap_j,   0 ≤ w_i ≤ 1,   Σ w_i ≥ W

With λ = T·B/Σw the objective is the expected number of distinct examples that T rounds of expected batch B draw
(Poisson's 1 − e^{−Tρ}, at most (1 − (1−ρ)^T)). The total weight Σw alone favours examples with few secrets: those
are drawn again and again and others never. W keeps Σw, which decides the noise, near the most that is possible.

For prices y ≥ 0 of the capacities and μ ≥ 0 of the last line, weak duality bounds every feasible objective:

    cap·y − μ·W + Σ_i max_{0≤w≤1} [1 − e^{−λw} − w·((Aᵀy)_i − μ)]

Its minimum over (y, μ) is the optimum. Multiplicative steps (each price scaled by how far its load is from its
capacity) come near; Newton's method with conjugate gradients ends it, or tangents where that stops at a kink. None
is trusted: the weights are repaired, and the bound holds for any prices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hush_core.weights.solvers import repair, solve_glop

LEAST_SHARE = 0.9
"""W, as a share of the most weight. σ grows with 1/Σw at most, so this bounds what coverage may cost in noise."""
_TOLERANCE = 1e-5
"""Certified relative gap at which the search ends."""
_TANGENT_EDGES = 12_000
"""Where Newton's method stops early, programs of at most so many edges are solved once more by tangents."""
_SCALINGS, _NEWTON, _CONJUGATE = 40, 60, 40
_LOWEST = -50.0
"""Log of the least price, relative to λ: below it an example is seen but for e^{−50}."""
_FASTEST = 2.0
"""Most that a multiplicative step moves a log price."""


@dataclass(frozen=True)
class Coverage:
    """The objective. `draws`: λ, the expected draws of an example of weight 1 in all rounds. `least`: W, below
    which the sum of the weights of all n examples of the program may not fall."""

    draws: float
    least: float

    def value(self, weights: np.ndarray) -> float:
        """Σ 1 − e^{−λw}: expected distinct examples."""
        return float(-np.expm1(-self.draws * weights).sum())


@dataclass(frozen=True, eq=False)
class _Dual:
    """The dual at one point: its value, its gradient in the prices, net prices and the weights that answer them."""

    value: float
    gradient: np.ndarray
    net: np.ndarray
    reply: np.ndarray


def reply(net: np.ndarray, draws: float) -> np.ndarray:
    """The w in [0, 1] that maximises 1 − e^{−λw} − w·net, for any net prices."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.log(draws / net) / draws
    return np.where(net > 0, np.clip(inner, 0.0, 1.0), 1.0)


def dual_value(
    coverage: Coverage, capacities: np.ndarray, prices: np.ndarray, net: np.ndarray, least_price: float
) -> float:
    """The bound for examples of these net prices (Aᵀy)_i − μ: valid for any y, μ ≥ 0."""
    w = reply(net, coverage.draws)
    best = (-np.expm1(-coverage.draws * w) - w * net).sum()
    return float(capacities @ prices - least_price * coverage.least + best)


def most_distinct(
    matrix: sparse.csc_matrix, capacities: np.ndarray, upper: np.ndarray, coverage: Coverage
) -> tuple[np.ndarray, np.ndarray, float]:
    """Maximise Σ u·(1 − e^{−λx/u}) over matrix·x ≤ capacities (all positive), 0 ≤ x ≤ u, Σx ≥ W.

    Returns (x, y, μ): (g,) within the capacities, (m,), and the price of the last line. x may miss W by the
    repair's loss, which the caller corrects.
    """
    rows, draws, least = matrix.tocsr(), coverage.draws, coverage.least
    program = _Program(rows, capacities, upper, draws)
    prices = _near(program)
    if float(upper @ program.dual(prices).reply) >= least:
        x, prices = _solved(program, matrix, capacities, prices)
        if x.sum() >= least * (1 - _TOLERANCE):
            return x, prices, 0.0
    # Σw ≥ W as one more row: −Σw ≤ −W
    total = sparse.csr_matrix(-np.ones((1, len(upper))))
    program = _Program(
        sparse.vstack([rows, total], format="csr"), np.append(capacities, -least), upper, draws
    )
    x, prices = _solved(program, matrix, capacities, np.append(prices, 0.1))
    return x, prices[:-1], float(prices[-1])


def _near(program: _Program) -> np.ndarray:
    """Prices by multiplicative steps, each by how far its load is from its capacity."""
    equal = np.minimum(program.limits / program.count, 1.0)
    prices = program.draws * np.exp(np.maximum(-program.draws * equal, _LOWEST))
    for _ in range(_SCALINGS):
        at = program.dual(prices)
        inner = program.rows @ (program.upper * ((at.reply > 0) & (at.reply < 1)))
        step = -at.gradient * program.draws / np.maximum(inner, 0.05 * program.count)
        prices = np.maximum(prices * np.exp(np.clip(step, -_FASTEST, _FASTEST)), program.lowest)
    return prices


def _solved(
    program: _Program, matrix: sparse.csc_matrix, capacities: np.ndarray, prices: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """x kept to the capacities, and prices, that prove each other best: by Newton's method or by tangents."""
    upper, draws, limits = program.upper, program.draws, program.limits

    def proof(prices: np.ndarray, x: np.ndarray | None = None) -> tuple[float, np.ndarray, np.ndarray]:
        """The relative gap of the prices and of x, once repaired (what answers the prices, if none is given)."""
        at = program.dual(prices)
        x = repair(matrix, capacities, upper * at.reply if x is None else x, upper)
        reached = float(upper @ -np.expm1(-draws * x / upper))
        if len(limits) > len(capacities):
            # the last row: what x misses of W costs at most λ each
            reached -= max(draws, prices[-1]) * max(-limits[-1] - float(x.sum()), 0.0)
        return (at.value - reached) / abs(at.value), x, prices

    prices = program.newton(prices, lambda each: proof(each)[0] <= _TOLERANCE)
    found = [proof(prices)]
    if found[0][0] > _TOLERANCE and program.rows.nnz <= _TANGENT_EDGES:
        for x, each in by_tangents(program.rows, limits, upper, draws):
            found.append(proof(each, x))
            if found[-1][0] <= _TOLERANCE:
                break
    _, x, prices = min(found, key=lambda each: each[0])
    return x, prices


def _reach(prices: np.ndarray, direction: np.ndarray, least: np.ndarray, most: np.ndarray) -> float:
    """The length beyond which every price is at its limit: where nothing bends, directions are huge."""
    moves = direction != 0
    room = np.where(direction > 0, most - prices, least - prices)
    return float((room[moves] / direction[moves]).max(initial=0.0))


class _Program:
    """The dual of one program; rows may hold −1 (the least total weight)."""

    def __init__(self, rows: sparse.csr_matrix, limits: np.ndarray, upper: np.ndarray, draws: float) -> None:
        self.rows, self.columns, self.limits, self.upper, self.draws = (
            rows,
            rows.T.tocsr(),
            limits,
            upper,
            draws,
        )
        self.absolute, self.absolute_columns = abs(rows), abs(self.columns)
        self.count = self.absolute @ upper
        self.lowest = draws * np.exp(_LOWEST)

    def dual(self, prices: np.ndarray) -> _Dual:
        net = self.columns @ prices
        w = reply(net, self.draws)
        value = self.limits @ prices + self.upper @ (-np.expm1(-self.draws * w) - net * w)
        return _Dual(float(value), self.limits - self.rows @ (self.upper * w), net, w)

    def newton(self, prices: np.ndarray, close: Callable[[np.ndarray], bool]) -> np.ndarray:
        """Fewer and fewer prices are far from their best; ends when `close`, or where no step goes down."""
        at = self.dual(prices)
        for _ in range(_NEWTON):
            if close(prices):
                break
            direction = self._direction(prices, at)
            least, most = np.maximum(0.1 * prices, self.lowest), 10 * prices + 1e-3 * self.draws
            length = longest = min(1.0, _reach(prices, direction, least, most))
            while length > 1e-5 * longest:
                tried = np.clip(prices + length * direction, least, most)
                then = self.dual(tried)
                if then.value <= at.value + 1e-4 * float(at.gradient @ (tried - prices)):
                    break
                length /= 2
            if not then.value < at.value:
                break
            prices, at = tried, then
        return prices

    def _direction(self, prices: np.ndarray, at: _Dual) -> np.ndarray:
        """Newton's, by conjugate gradients; the diagonal that scales them bounds the curvature from above."""
        free = ~((prices <= self.lowest) & (at.gradient > 0))
        inner = (at.reply > 0) & (at.reply < 1)
        bend = np.where(inner, self.upper / (self.draws * np.maximum(at.net, self.lowest)), 0.0)
        bound = self.absolute @ (bend * (self.absolute_columns @ prices)) / prices
        bound = np.maximum(bound, 1e-9 * self.count / self.draws**2)
        ridge, scale = 1e-3 * bound, free / (1.001 * bound)
        residual = -at.gradient * free
        direction, scaled = np.zeros_like(prices), scale * residual
        search, size = scaled.copy(), float(residual @ scaled)
        first = size
        for _ in range(_CONJUGATE):
            if size <= 1e-4 * first or size == 0:
                break
            curved = free * (self.rows @ (bend * (self.columns @ search))) + ridge * search
            step = size / float(search @ curved)
            direction += step * search
            residual -= step * curved
            scaled = scale * residual
            before, size = size, float(residual @ scaled)
            search = scaled + size / before * search
        return direction


_FIRST, _ROUNDS = 8, 12
_NEAR = 1e-7
"""Points of the same example, in units of its largest weight, that lie nearer than this are one."""


def by_tangents(
    rows: sparse.csr_matrix, limits: np.ndarray, upper: np.ndarray, draws: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """x (g,) and prices ≥ 0 (m,) for max Σ u·(1 − e^{−λx/u}) over rows·x ≤ limits, 0 ≤ x ≤ u, better each time.

    Linear programs: each example's 1 − e^{−λw} is under tangents, more each round. Newton's method stops at a kink
    of the dual, where an example is at 0 or 1 on both sides of a price: few examples, equal capacities. There the
    tangents are exact where it matters after a few rounds, and the linear program's prices prove it. The segments
    between the tangents' crossings fall in slope, so a linear program fills them in their order.

    Rows may hold −1. Neither is trusted: x may exceed a limit by a rounding.

    Raises:
        CertificationError: the solver of the linear programs failed.
    """
    points = np.tile(np.linspace(0.0, 1.0, _FIRST), (len(upper), 1))
    for _ in range(_ROUNDS):
        lengths, slopes = _segments(points, draws)
        columns = sparse.csc_matrix(sparse.kron(rows, np.ones((1, points.shape[1]))))
        most = upper[:, None] * lengths
        x, prices = solve_glop(columns, limits, slopes.ravel(), most.ravel())
        x = x.reshape(most.shape).sum(1)
        yield x, np.maximum(np.nan_to_num(prices), 0.0)
        points = np.sort(np.column_stack([points, np.clip(x / upper, 0.0, 1.0)]), axis=1)


def _segments(points: np.ndarray, draws: float) -> tuple[np.ndarray, np.ndarray]:
    """Lengths and slopes, (g, k) each, of the least of the tangents at points (g, k) that ascend in [0, 1]."""
    height, slopes = -np.expm1(-draws * points), draws * np.exp(-draws * points)
    left, right = slice(None, -1), slice(1, None)
    fall = slopes[:, left] - slopes[:, right]
    apart = (height[:, right] - slopes[:, right] * points[:, right]) - (
        height[:, left] - slopes[:, left] * points[:, left]
    )
    near = points[:, right] - points[:, left] <= _NEAR
    crossing = np.where(
        near, points[:, right], np.divide(apart, fall, out=points[:, right].copy(), where=fall > 0)
    )
    crossing = np.clip(crossing, points[:, left], points[:, right])
    ends = np.column_stack([np.zeros(len(points)), crossing, np.ones(len(points))])
    return np.diff(ends, axis=1), slopes
