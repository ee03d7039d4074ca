"""The accountant: every secret's bound after all its runs, one or many, for any number of secrets.

A secret inherits the bound of a history whose count dominates its own in every run (docs/mathematics.md,
Propositions 7 and 14). The history is loose at first, tighter if the secret misses its target, and made of the
secret's own rates if it still does. Every number is a bound however the dominating histories are chosen; one run
(`one_run.py`) and many (`many_runs.py`) choose them differently.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from hush_core.accounting.bounds import BoundMethod, PosteriorCurve
from hush_core.accounting.many_secrets.each_curve import curves_of_groups
from hush_core.accounting.many_secrets.history import History
from hush_core.accounting.participation import Participation
from hush_core.accounting.runs import Run
from hush_core.errors import CertificationError
from hush_core.progress import Progress


@dataclass(frozen=True, eq=False)
class Dominating:
    """What dominates a group of secrets: examples, rate: (R,) of a binomial in each run; 0 where none is drawn."""

    examples: np.ndarray
    rate: np.ndarray

    def runs(self, history: History) -> list[Run]:
        """To be bounded in the place of the members' own."""
        return [
            Run(
                Participation.binomial(int(self.examples[k]), float(self.rate[k])),
                float(history.noise_multiplier[k]),
                int(history.rounds[k]),
            )
            for k in np.flatnonzero(self.examples)
        ]


Dominated = tuple[np.ndarray, Dominating, PosteriorCurve]
"""Secrets, what dominates them, and its bound: one point a secret, at its prior or above."""


class Accountant(ABC):
    """Bounds of a history's secrets under construction, (m,) each.

    Attributes:
        bound, method, numerical_error: what is certified so far; the bound is infinite if nothing is.
        lower: NaN if unknown.
        group: index in `dominating` from which the bound is inherited; −1 for a bound by the secret's own rates.
        group_prior: the prior at which it was read, the secret's or above; NaN by own rates.
    """

    beyond: float
    """A bound that is so many times the target would still be above it in a finer group."""
    own_is_final = False
    """Whether a bound by own rates replaces an inherited one that is smaller by the width of a grid."""

    def __init__(
        self,
        history: History,
        priors: np.ndarray,
        targets: np.ndarray,
        method: BoundMethod,
        progress: Progress | None = None,
    ) -> None:
        self.history, self.priors, self.targets = history, priors, targets
        self.asked, self.progress = method, progress
        size = len(priors)
        self.bound, self.method = np.full(size, np.inf), np.full(size, "", dtype=object)
        self.numerical_error, self.lower = np.zeros(size), np.full(size, np.nan)
        self.group, self.group_prior = np.full(size, -1), np.full(size, np.nan)
        self.dominating: list[Dominating] = []

    @abstractmethod
    def all_by_own_rates(self, drawn: np.ndarray) -> bool:
        """Whether every secret that a run draws is bounded by its own rates."""

    @abstractmethod
    def inherit_first(self, drawn: np.ndarray) -> None:
        """Bounds for all that are drawn, some loose."""

    @abstractmethod
    def tighten(self, near: np.ndarray, drawn: np.ndarray) -> list[np.ndarray]:
        """Tighter bounds for those near their target; returns whom the own rates are to bound, as `alike` does."""

    @abstractmethod
    def dominated(self, secrets: np.ndarray, looseness: float) -> Iterator[Dominated]:
        """What dominates these secrets; not all need be among them."""

    def name(self, secret: int) -> str:
        return f"secret {secret}"

    def alike(self, secrets: np.ndarray) -> list[np.ndarray]:
        """These secrets, those with equal histories together."""
        return self.history.alike(secrets)

    def ratio(self, secrets: np.ndarray) -> np.ndarray:
        """bound/target."""
        return self.bound[secrets] / self.targets[secrets]

    def missing(self, secrets: np.ndarray | None = None) -> np.ndarray:
        """Those of them, or of all, whose bound is above their target."""
        among = np.arange(len(self.priors)) if secrets is None else secrets
        return among[self.bound[among] > self.targets[among]]

    def certify(self) -> None:
        """Every secret's bound, whether or not it meets its target.

        Raises:
            CertificationError: no method certifies a secret; it is named.
        """
        drawn = np.unique(self.history.secret)
        never = np.setdiff1d(np.arange(len(self.priors)), drawn)
        self.bound[never] = self.lower[never] = self.priors[never]
        self.method[never] = "blow_up" if self.asked == "best" else self.asked
        if self.all_by_own_rates(drawn):
            left = self.alike(drawn)
        else:
            self.inherit_first(drawn)
            ratio = self.ratio(drawn)
            near = drawn[(ratio > 1) & ((ratio <= self.beyond) | np.isinf(ratio))]
            left = self.tighten(near, drawn)
        self.by_own_rates(left)

    def inherit(self, secrets: np.ndarray, looseness: float) -> np.ndarray:
        """Take what dominating histories prove where that is better. Returns the secrets without such a history."""
        alone = np.zeros(len(self.priors), dtype=bool)
        alone[secrets] = True
        for members, dominating, curve in self.dominated(secrets, looseness) if len(secrets) else ():
            alone[members] = False
            better = curve.values < self.bound[members]
            self._take(members[better], curve.at_places(better), len(self.dominating))
            self.group_prior[members[better]] = curve.priors[better]
            self.dominating.append(dominating)
        return secrets[alone[secrets]]

    def by_own_rates(self, alike: list[np.ndarray], *, refusable: bool = False) -> None:
        """Bounds by the secrets' own rates; those of `alike` that are together share one computation.

        Raises:
            CertificationError: names a secret that is refused and inherits nothing; with `refusable` it is left.
        """
        groups = [(members, self.history.runs_of(int(members[0]))) for members in alike]
        for members, curve in curves_of_groups(
            groups, self.priors, method=self.asked, lower=True, stage="certifying", progress=self.progress
        ):
            if isinstance(curve, CertificationError):
                if refusable or np.all(np.isfinite(self.bound[members])):
                    continue
                raise CertificationError(f"{self.name(int(members[0]))}: {curve}") from None
            better = (curve.values <= self.bound[members]) | self.own_is_final
            own, points = members[better], curve.at_places(better)
            self._take(own, points, -1)
            self.lower[own], self.group_prior[own] = points.lower, np.nan

    def _take(self, secrets: np.ndarray, points: PosteriorCurve, group: int) -> None:
        self.bound[secrets], self.method[secrets] = points.values, points.methods
        self.numerical_error[secrets], self.group[secrets] = points.numerical_errors, group

    def columns(self, of: np.ndarray) -> dict[str, pl.Series]:
        """bound · method · numerical_error · lower of these secrets."""
        return {
            "bound": pl.Series(self.bound[of]),
            "method": pl.Series(self.method[of].astype(str), dtype=pl.String),
            "numerical_error": pl.Series(self.numerical_error[of]),
            "lower": pl.Series(self.lower[of], nan_to_null=True),
        }
