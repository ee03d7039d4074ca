"""The linear program as sparse arrays, checked, and exactly reduced to what needs a solver.

max Σ w_i   s.t.   Σ_{i∋j} w_i ≤ cap_j for every secret j,   0 ≤ w_i ≤ 1            (paper, eq. 1)

A solver's tolerance is the same in every row, however far capacities lie apart. So what is left of the program
after reduction is solved in units of its own. Variable i can be at most k_i = min(u_i, least capacity of its
secrets). In units of k_i, and with every row divided by its capacity, the program is max Σ k_i·v_i, Σ_{i∋j}
(k_i/cap_j)·v_i ≤ 1, 0 ≤ v ≤ u_i/k_i: coefficients in (0, 1]. Where u_i is above k_i a row says v_i ≤ 1, and the
limit on v_i is put at 2, so that the price is the row's.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from hush_core.errors import InputError
from hush_core.weights.solvers import LEAST


@dataclass(frozen=True)
class WeightProgram:
    """`incidence`: (m, n) CSC of 0/1, row j marks the examples that hold secret j; `capacities`: (m,)."""

    incidence: sparse.csc_matrix
    capacities: np.ndarray


def build_program(edges: pl.DataFrame, n_examples: int, capacities: np.ndarray) -> WeightProgram:
    """Check the inputs and build the program.

    Raises:
        InputError: a capacity that is negative or not finite, an edge out of range, an edge given twice.
    """
    capacities = np.asarray(capacities, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(capacities) | (capacities < 0))
    if bad.size:
        raise InputError(
            f"secret {bad[0]}", f"capacity {capacities[bad[0]]:g}", "give a finite capacity of 0 or more"
        )
    examples, secrets = edges["example_id"].to_numpy(), edges["secret_id"].to_numpy()
    for what, ids, limit in (("example", examples, n_examples), ("secret", secrets, len(capacities))):
        if ids.size and int(ids.max()) >= limit:
            raise InputError("edges", f"{what} {ids.max()} of {limit}", f"number the {what}s from 0, densely")
    ones = np.ones(edges.height)
    matrix = sparse.csc_matrix((ones, (secrets, examples)), shape=(len(capacities), n_examples))
    if matrix.nnz != edges.height:
        raise InputError("edges", "an edge is given twice", "keep each (example, secret) pair once")
    return WeightProgram(matrix, capacities)


@dataclass(frozen=True, eq=False)
class Scaled:
    """max worth·v over matrix·v ≤ 1, 0 ≤ v ≤ most, and how to get back. capacities: (m,) those of the core."""

    matrix: sparse.csc_matrix
    worth: np.ndarray
    most: np.ndarray
    capacities: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """The right-hand sides, all 1."""
        return np.ones(len(self.capacities))

    def back(self, v: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """x (g,) and y (m,) of the core from the scaled program's."""
        return v * self.worth, np.divide(
            z, self.capacities, out=np.ones_like(z), where=self.capacities >= LEAST
        )


def scaled(matrix: sparse.csc_matrix, capacities: np.ndarray, upper: np.ndarray) -> Scaled:
    """A capacity below the least weight leaves its variables at 0: they are not in the scaled program, and their
    row's dual is 1, at next to no cost."""
    if not matrix.nnz:
        return Scaled(matrix, upper, upper, capacities)
    # every variable of a core has a secret
    worth = np.minimum(upper, np.minimum.reduceat(capacities[matrix.indices], matrix.indptr[:-1]))
    each = np.repeat(worth, np.diff(matrix.indptr))
    limit = capacities[matrix.indices]
    worth = np.where(worth < LEAST, 0.0, worth)
    data = np.divide(each, limit, out=np.zeros(matrix.nnz), where=each >= LEAST)
    rows = sparse.csc_matrix((data, matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)
    rows.eliminate_zeros()
    return Scaled(rows, worth, np.where(worth < upper, 2.0, 1.0), capacities)


@dataclass(frozen=True, eq=False)
class Reduced:
    """The core max Σx over matrix·x ≤ capacities, 0 ≤ x ≤ upper, and how to get back.

    Attributes:
        weights: (n,) decided weights; NaN where the core decides. dual: (m,) decided duals, 0 elsewhere.
        matrix: (m', g) CSC of 0/1. capacities: (m',). upper: (g,) examples merged into each variable.
        secrets: (m',) original numbers. group: (n,) the variable of an open example, −1 for a decided one.
    """

    weights: np.ndarray
    dual: np.ndarray
    matrix: sparse.csc_matrix
    capacities: np.ndarray
    upper: np.ndarray
    secrets: np.ndarray
    group: np.ndarray

    def expand(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights (n,) and duals (m,) of the original program from those of the core; x is shared equally."""
        weights, dual = self.weights.copy(), self.dual.copy()
        open_ = self.group >= 0
        weights[open_] = (x / self.upper)[self.group[open_]]
        dual[self.secrets] = y
        return weights, dual


def reduce_program(program: WeightProgram, *, singles_first: bool = True) -> Reduced:
    """Decide what can be decided without a solver; the core is empty where nothing is left.

    Three steps, each of which keeps an optimum, repeated while they change anything:

    - A secret with no more open examples than capacity never binds: it is dropped. An example without an open
      secret gets weight 1.
    - An example that holds one open secret is worth as much as any other of that secret and costs the others
      nothing, so such examples are filled first. If they exhaust the capacity, they share it equally, the secret's
      other examples get 0, and its dual is 1. Else they get 1 and the capacity shrinks.
    - Examples with the same set of open secrets are one variable, with their number as its upper bound.

    The second step (`singles_first`) is for total weight only. If more weight has less marginal value
    (coverage.py), no example comes first; there, examples of a secret without capacity get 0.
    """
    m, n = program.incidence.shape
    # the open edges, by example and then by secret, an order that every step keeps: nothing is sorted again
    example = np.repeat(np.arange(n), np.diff(program.incidence.indptr))
    secret = program.incidence.indices.astype(np.int64)
    capacity = program.capacities.copy()
    weights, dual = np.full(n, np.nan), np.zeros(m)
    while True:
        binding = np.bincount(secret, minlength=m) > capacity
        # integer positions: numpy selects by them several times faster than by a mask
        keep = np.flatnonzero(binding[secret])
        secret, example = secret[keep], example[keep]
        held = np.zeros(n, dtype=bool)
        held[example] = True
        weights[np.isnan(weights) & ~held] = 1.0
        if not singles_first:
            return _merged(*_without_closed(secret, example, capacity, weights, dual))
        first = _is_first(example)
        single = first & np.append(first[1:], True)
        if not single.any():
            break
        alone = np.flatnonzero(single)
        filled = np.bincount(secret[alone], minlength=m)
        exhausted = (filled > 0) & (filled >= capacity)
        share = np.divide(capacity, filled, out=np.ones(m), where=exhausted)
        weights[example[alone]] = share[secret[alone]]
        weights[example[np.flatnonzero(exhausted[secret] & ~single)]] = 0.0
        dual[exhausted] = 1.0
        capacity = np.where(exhausted, 0.0, capacity - filled)
        keep = np.flatnonzero(np.isnan(weights[example]))
        secret, example = secret[keep], example[keep]
    return _merged(secret, example, capacity, weights, dual)


def _without_closed(
    secret: np.ndarray, example: np.ndarray, capacity: np.ndarray, weights: np.ndarray, dual: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Examples of a secret whose capacity is nothing get 0; its dual is as large as any value of weight."""
    closed = capacity < LEAST
    weights[example[closed[secret]]] = 0.0
    dual[secret[closed[secret]]] = np.inf
    keep = np.flatnonzero(np.isnan(weights[example]))
    return secret[keep], example[keep], capacity, weights, dual


def _merged(
    secret: np.ndarray, example: np.ndarray, capacity: np.ndarray, weights: np.ndarray, dual: np.ndarray
) -> Reduced:
    """Merge open examples with equal secret sets, and number what is left densely."""
    group = np.full(len(weights), -1)
    start = np.flatnonzero(_is_first(example))
    if not len(start):
        nothing = sparse.csc_matrix((0, 0))
        return Reduced(weights, dual, nothing, np.empty(0), np.empty(0), np.empty(0, np.int64), group)
    degree = np.diff(start, append=len(example))
    first, which, upper = _renumbered(_equal_sets(secret, start, degree, len(capacity)), len(start))
    group[example[start]] = which
    ends = np.cumsum(degree[first])
    places = np.repeat(start[first] - ends + degree[first], degree[first]) + np.arange(ends[-1])
    secrets, row, _ = _renumbered(secret[places], len(capacity))
    matrix = sparse.csc_matrix((np.ones(len(row)), row, np.append(0, ends)), shape=(len(secrets), len(first)))
    return Reduced(weights, dual, matrix, capacity[secrets], upper.astype(np.float64), secrets, group)


def _is_first(ordered: np.ndarray) -> np.ndarray:
    """Where a run of equal values begins."""
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def _renumbered(values: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """np.unique of integers in [0, limit) with inverse and counts, without a sort."""
    counts = np.bincount(values, minlength=limit)
    kept = np.flatnonzero(counts)
    return kept, (np.cumsum(counts > 0) - 1)[values], counts[kept]


def _equal_sets(secret: np.ndarray, start: np.ndarray, degree: np.ndarray, m: int) -> np.ndarray:
    """For each set, the first set equal to it: found by a 128-bit hash, then compared member by member."""
    random = np.random.default_rng(0).integers(0, 2**64, (2, m), dtype=np.uint64, endpoint=False)
    hashes = [np.add.reduceat(row[secret], start) for row in random]
    # half of a hash puts equal sets side by side, and the stable sort the first of them first
    order = np.argsort(hashes[0], kind="stable")
    new = np.ones(len(order), dtype=bool)
    keys = np.stack([degree.astype(np.uint64), *hashes])[:, order]
    new[1:] = np.any(keys[:, 1:] != keys[:, :-1], axis=0)
    first = np.empty(len(order), dtype=np.int64)
    first[order] = order[np.flatnonzero(new)][np.cumsum(new) - 1]
    # hashes may collide; members may not: what differs stays a variable of its own
    offset = np.arange(len(secret)) - np.repeat(start, degree)
    other = secret[np.repeat(start[first], degree) + offset]
    differs = np.add.reduceat(secret != other, start) > 0
    first[differs] = np.flatnonzero(differs)
    return first
