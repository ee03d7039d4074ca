"""Exact reductions: what of the program is decided without a solver, and the smaller program that is left.

Three steps, each of which keeps an optimum, repeated while they change anything:

- a secret with no more open examples than capacity never binds: it is dropped; an example without an open secret
  gets weight 1;
- an example that holds one open secret is worth as much as any other of that secret and costs the others nothing,
  so such examples are filled first. Where they exhaust the capacity they share it equally, the secret's other
  examples get 0, and its dual is 1; else they get 1 and the capacity shrinks;
- examples with the same set of open secrets are one variable, with their number as its upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hush_core.weights.program import WeightProgram


@dataclass(frozen=True, eq=False)
class Reduced:
    """The core max Σx over matrix·x ≤ capacities, 0 ≤ x ≤ upper, and how to get back.

    Attributes:
        weights: (n,) decided weights; NaN where the core decides. dual: (m,) decided duals, 0 elsewhere.
        matrix: (m', g) CSR of 0/1. capacities: (m',). upper: (g,) examples merged into each variable.
        secrets: (m',) original numbers. group: (n,) the variable of an open example, −1 for a decided one.
    """

    weights: np.ndarray
    dual: np.ndarray
    matrix: sparse.csr_matrix
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


def reduce_program(program: WeightProgram) -> Reduced:
    """Decide what can be decided; the core is empty where nothing is left."""
    m, n = program.incidence.shape
    by_secret = program.incidence.tocsr()
    secret = np.repeat(np.arange(m), np.diff(by_secret.indptr))
    example = by_secret.indices.astype(np.int64)
    capacity = program.capacities.copy()
    weights, dual = np.full(n, np.nan), np.zeros(m)
    while True:
        count = np.bincount(secret, minlength=m)
        binding = count > capacity
        keep = binding[secret]
        secret, example = secret[keep], example[keep]
        degree = np.bincount(example, minlength=n)
        weights[np.isnan(weights) & (degree == 0)] = 1.0
        single = degree[example] == 1
        if not single.any():
            break
        filled = np.bincount(secret[single], minlength=m)
        exhausted = (filled > 0) & (filled >= capacity)
        share = np.divide(capacity, filled, out=np.ones(m), where=exhausted)
        weights[example[single]] = share[secret[single]]
        weights[example[exhausted[secret] & ~single]] = 0.0
        dual[exhausted] = 1.0
        capacity = np.where(exhausted, 0.0, capacity - filled)
        keep = np.isnan(weights[example])
        secret, example = secret[keep], example[keep]
    return _merged(secret, example, capacity, weights, dual)


def _merged(
    secret: np.ndarray, example: np.ndarray, capacity: np.ndarray, weights: np.ndarray, dual: np.ndarray
) -> Reduced:
    """Merge open examples with equal secret sets, and number what is left densely."""
    group = np.full(len(weights), -1)
    order = np.lexsort((secret, example))
    secret, example = secret[order], example[order]
    opened, start, degree = np.unique(example, return_index=True, return_counts=True)
    if not len(opened):
        nothing = sparse.csr_matrix((0, 0))
        return Reduced(weights, dual, nothing, np.empty(0), np.empty(0), np.empty(0, np.int64), group)
    same_as = _equal_sets(secret, start, degree, len(capacity))
    first, which, upper = np.unique(same_as, return_inverse=True, return_counts=True)
    group[opened] = which
    length = degree[first]
    places = np.repeat(start[first] - np.concatenate([[0], np.cumsum(length)[:-1]]), length)
    members = secret[places + np.arange(int(length.sum()))]
    secrets, row = np.unique(members, return_inverse=True)
    column = np.repeat(np.arange(len(first)), length)
    matrix = sparse.csr_matrix((np.ones(len(row)), (row, column)), shape=(len(secrets), len(first)))
    return Reduced(weights, dual, matrix, capacity[secrets], upper.astype(np.float64), secrets, group)


def _equal_sets(secret: np.ndarray, start: np.ndarray, degree: np.ndarray, m: int) -> np.ndarray:
    """For each set, the first set equal to it: found by a 128-bit hash, then compared member by member."""
    random = np.random.default_rng(0).integers(0, 2**64, (2, m), dtype=np.uint64, endpoint=False)
    hashes = [np.add.reduceat(row[secret], start) for row in random]
    order = np.lexsort((np.arange(len(start)), hashes[1], hashes[0], degree))
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
