"""Secrets with like histories, under one that dominates them all, run by run.

In each run a secret's count is dominated by Binomial(n, 1 − e^{−H/n}), n ≥ #examples, H ≥ Σ −log(1−ρ)
(docs/mathematics.md, Proposition 7). So a group's count is dominated by that with the largest n and H of its
members; a secret that was not in a run has H = 0. A product of pairs is dominated factor by factor (Proposition
14). So the bound holds for any grouping, and the grouping decides how loose it is. Here groups are halved along
what differs most, by the Gaussian limit μ² = Σ T·(Σρ/σ)² and r = Φ(Φ⁻¹(p) + μ), a guide that proves nothing.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import log_ndtr, ndtri

from hush_core.accounting.many_secrets.accountant import Dominating
from hush_core.accounting.many_secrets.dominance import ROUND_OFF, next_power_of_two, on_grid, rate_of
from hush_core.accounting.many_secrets.history import History

_BATCH = 2.0
"""Tilts so far apart are read on one grid."""
_COLUMNS = 3
"""So many runs, those in which a group differs most, are tried for the next cut."""


class Cases:
    """Secrets as rows of hazards by run, (k, R): 0 where a secret was not in the run. Absent secrets: no draw."""

    def __init__(self, history: History, secrets: np.ndarray, priors: np.ndarray) -> None:
        self.history, self.secrets, self.priors = history, secrets, priors
        size = len(history.rounds)
        place = np.full(max(int(secrets.max(initial=-1)), int(history.secret.max(initial=-1))) + 1, -1)
        place[secrets] = np.arange(len(secrets))
        own = place[history.secret] if len(history.secret) else np.empty(0, np.int64)
        mine = own >= 0
        at, law = (own[mine], history.run[mine]), history.law[mine]
        self.hazard, mean = np.zeros((len(secrets), size)), np.zeros((len(secrets), size))
        self.examples = np.zeros((len(secrets), size), dtype=np.int64)
        self.hazard[at], self.examples[at] = history.laws.hazard[law], history.laws.examples[law]
        # a rate of 1 has infinite hazard; the guide takes the mean for it
        mean[at] = history.laws.mean[law]
        self.pull = np.where(np.isfinite(self.hazard), self.hazard, mean) ** 2 * self.scale

    @property
    def scale(self) -> np.ndarray:
        """(R,) T/σ²."""
        return self.history.rounds / self.history.noise_multiplier**2


def log_bound(priors: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """log r in the Gaussian limit."""
    return log_ndtr(ndtri(priors) + mu)


def growth(priors: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """d log r / d log μ in the Gaussian limit."""
    z = ndtri(priors) + mu
    return np.exp(-(z**2) / 2 - log_ndtr(z)) / np.sqrt(2 * np.pi) * mu


def batches(cases: Cases, groups: list[np.ndarray]) -> Iterator[tuple[list[np.ndarray], int]]:
    """(groups whose saddle points lie within _BATCH of each other, the place of the one in the middle)."""
    if not groups:
        return
    mu = np.array([np.sqrt(cases.pull[members].max(axis=0).sum()) for members in groups])
    priors = np.array([cases.priors[members].min() for members in groups])
    tilt = np.maximum(-ndtri(priors) - mu, 0.5) / mu
    order = np.argsort(tilt, kind="stable")
    start = 0
    while start < len(order):
        end = int(np.searchsorted(tilt[order], tilt[order[start]] * _BATCH, side="right"))
        own = order[start:end]
        yield [groups[i] for i in own], len(own) // 2
        start = end


def grouped(cases: Cases, looseness: np.ndarray) -> list[np.ndarray]:
    """Groups of cases, as places, such that in the Gaussian limit none inherits a bound `looseness` too high.

    looseness: (k,) relative, for example 0.04.
    """
    left = [np.arange(len(cases.secrets))]
    found = []
    allowed = np.log1p(looseness)
    own = log_bound(cases.priors, np.sqrt(cases.pull.sum(axis=1)))
    while left:
        members = left.pop()
        pull = cases.pull[members]
        top = log_bound(cases.priors[members], np.sqrt(pull.max(axis=0).sum()))
        if len(members) == 1 or np.all(top - own[members] <= allowed[members]):
            found.append(members)
            continue
        upper = _cut(pull)
        left += [members[upper], members[~upper]]
    return found


def _cut(pull: np.ndarray) -> np.ndarray:
    """Which members go to the upper half: the cut of those tried that takes most of the groups' excess away."""
    total = pull.sum(axis=1)
    excess = pull.max(axis=0) - pull.mean(axis=0)
    tried = [total, *(pull[:, k] for k in np.argsort(-excess)[:_COLUMNS])]
    best, least = None, np.inf
    for feature in tried:
        # halved in μ: the bound grows about evenly in it
        root = np.sqrt(feature)
        upper = root > (root.max() + root.min()) / 2
        if not upper.any() or upper.all():
            continue
        left = sum(
            int(side.sum()) * np.sqrt(pull[side].max(axis=0).sum()) - np.sqrt(total[side]).sum()
            for side in (upper, ~upper)
        )
        if left < least:
            best, least = upper, left
    if best is not None:
        return best
    # equal in all that was tried: any cut will do
    halves = np.zeros(len(pull), dtype=bool)
    halves[: len(pull) // 2] = True
    return halves


def dominating(cases: Cases, members: np.ndarray, step: float) -> Dominating:
    """The binomials of a group: one n for all runs, a power of two; hazards on a geometric grid of this step, so
    that runs and groups have binomials in common."""
    n = int(next_power_of_two(cases.examples[members].max()))
    hazard = cases.hazard[members].max(axis=0) * (1 + ROUND_OFF)
    raised = np.where((hazard > 0) & np.isfinite(hazard), np.maximum(on_grid(hazard, step), hazard), hazard)
    rate = np.where(np.isinf(hazard), 1.0, rate_of(raised, n))
    drawn = hazard > 0
    return Dominating(np.where(drawn, n, 0), np.where(drawn, rate, 0.0))
