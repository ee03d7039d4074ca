"""The search for the least noise of a run: alone, or as the next one after others.

The secret that seems to need most noise is searched for its own least σ, until none misses its target there. After
some of them, all that are left settle σ together.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from hush_core.accounting.bounds import BoundMethod, curve_of_runs
from hush_core.accounting.many_secrets.groups import Cases
from hush_core.accounting.many_secrets.history import History
from hush_core.accounting.many_secrets.many_runs import ManyRuns, certify_runs
from hush_core.accounting.many_secrets.one_run import OWN, OneRun
from hush_core.accounting.many_secrets.profiles import Profiles
from hush_core.accounting.noise_search import PRECISION, falling_root, gaussian_noise, smallest_noise
from hush_core.errors import CertificationError
from hush_core.progress import Progress

_SEARCHES = 4
"""So many secrets are searched for their own smallest noise before all that are left settle σ together."""
FEW = 16
"""A plan searches by dominating profiles where there are more than this."""
_LEVELS = (1.2, 1.02, 1.001)
"""Steps of the grids of dominating profiles for the search: most secrets are far from their target."""
_TOGETHER = 2e-4
"""Relative precision of σ where many settle it together."""
_STEP = 3e-3
"""First step up from the largest noise searched for; the others ask for little more."""
_OF_ONE, _COARSER = 1e-4, 10.0
"""Relative precision of the noise that one secret with a history needs; how much coarser its grids may be."""
_PASSES = 50


class _Search(ABC):
    """The least σ of a run.

    Attributes:
        drawn: places of the secrets (or profiles of them) that it draws. guess: of σ, one for each of them, in the
            Gaussian limit. searches: how many are searched for their own σ. precision: step of σ where a search
            ended too low.
    """

    drawn: np.ndarray
    guess: np.ndarray
    searches: int
    precision: float

    @abstractmethod
    def need(self, secret: int, known: float) -> float:
        """The smallest σ of one, from its own rates; `known` may be returned where that is enough."""

    @abstractmethod
    def missing(self, sigma: float, left: np.ndarray, searched: int) -> np.ndarray:
        """Those of `left` without `searched` that σ does not certify yet, the worst first."""

    @abstractmethod
    def gap(self, sigma: float, left: np.ndarray) -> float:
        """log bound/target of the worst of `left`; at most 0 where σ certifies all."""

    @abstractmethod
    def at(self, sigma: float) -> Any:
        """Every secret's certified bound at this σ."""

    def noise(self) -> tuple[float, float]:
        """(σ that leaves none above its target, the largest that one needs by itself)."""
        worst, left, sigma = int(self.drawn[self.guess.argmax()]), self.drawn, 0.0
        for _ in range(self.searches):
            sigma = max(sigma, self.need(worst, sigma))
            left = self.missing(sigma, left, worst)
            if not len(left):
                return sigma, sigma
            worst = int(left[0])

        def gap(log_sigma: float) -> float:
            return self.gap(float(np.exp(log_sigma)), left)

        together = float(np.exp(falling_root(gap, float(np.log(sigma)), _TOGETHER, step=_STEP)))
        return max(sigma, together), sigma

    def certified(self) -> tuple[float, float, Any]:
        """(σ, the largest that one needs by itself, every secret's bound at that very σ, none above its target)."""
        sigma, most = self.noise()
        for _ in range(_PASSES):
            found = self.at(sigma)
            if not len(over := found.missing()):
                return sigma, most, found
            if not np.isin(over, self.drawn).all():
                break  # no noise of a run that does not draw a secret helps it
            # a bound on its grid may come out a hair above that of the search
            sigma *= 1 + self.precision
        raise CertificationError("secrets miss their target at the calibrated noise")


class SearchOfOneRun(_Search):
    """By profile: up to `few` all by their own rates, more by what dominates them.

    needed: by profile, its own smallest noise; NaN where it was not searched for.
    """

    precision = PRECISION

    def __init__(
        self, profiles: Profiles, rounds: int, method: BoundMethod, progress: Progress | None, few: int
    ) -> None:
        self.profiles, self.rounds, self.method, self.progress = profiles, rounds, method, progress
        self.are_few = len(profiles) <= few
        self.searches = len(profiles) if self.are_few else _SEARCHES
        mean = profiles.mean
        self.needed, self.drawn = np.where(mean == 0, 0.0, np.nan), np.flatnonzero(mean > 0)
        target = profiles.prior[self.drawn], profiles.target[self.drawn]
        self.guess = gaussian_noise(mean[self.drawn], rounds, *target)
        self.known: dict[float, tuple[np.ndarray, np.ndarray]] = {}

    def need(self, secret: int, known: float) -> float:
        target = [float(self.profiles.prior[secret]), float(self.profiles.target[secret])]
        try:
            self.needed[secret] = smallest_noise(
                self.profiles.participation(secret), rounds=self.rounds, prior=target[0], posterior=target[1],
                method=self.method,
            )  # fmt: skip
        except CertificationError as error:
            raise CertificationError(f"{self.profiles.label(secret)}: {error}") from None
        return float(self.needed[secret])

    def missing(self, sigma: float, left: np.ndarray, searched: int) -> np.ndarray:
        return self._missing_at(sigma)[0]

    def gap(self, sigma: float, left: np.ndarray) -> float:
        ratios = self._missing_at(sigma)[1]
        return float(np.log(ratios[0])) if len(ratios) else 0.0

    def at(self, sigma: float) -> OneRun:
        rows = OneRun(self.profiles, sigma, self.rounds, self.method, self.progress)
        rows.certify()
        return rows

    def _missing_at(self, sigma: float) -> tuple[np.ndarray, np.ndarray]:
        """(what σ does not certify yet, the worst first; bound/target). What a smaller σ certifies, a larger one
        does; what was searched for by itself needs no more."""
        if sigma not in self.known:
            smaller = [s for s in self.known if s <= sigma]
            among = self.known[max(smaller)][0] if smaller else self.drawn
            self.known[sigma] = self._missing_of(among[np.isnan(self.needed[among])], sigma)
            if self.progress:
                size = len(self.profiles)
                self.progress("calibrating", size - len(self.known[sigma][0]), size)
        found, ratios = self.known[sigma]
        still = np.isnan(self.needed[found])
        return found[still], ratios[still]

    def _missing_of(self, left: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
        """(those of `left` that σ does not certify yet, the worst first; their bound/target)."""
        rows, alone = OneRun(self.profiles, sigma, self.rounds, self.method), left
        if not self.are_few:
            for ratio in _LEVELS:
                alone = rows.inherit(left, ratio)
                left = rows.missing(left)
            # without a dominating profile near by, only its own rates can tell
            alone = np.intersect1d(alone, left)
            alone = alone[np.argsort(-rows.ratio(alone), kind="stable")[:OWN]]
        rows.by_own_rates(rows.alike(alone), refusable=True)
        ratios = rows.ratio(left)
        order = np.argsort(-ratios)[: int((ratios > 1).sum())]
        return left[order], ratios[order]


class SearchOfNextRun(_Search):
    """By secret, each with the runs before."""

    searches, precision = _SEARCHES, _TOGETHER

    def __init__(
        self,
        history: History,
        coming: History,
        priors: np.ndarray,
        targets: np.ndarray,
        method: BoundMethod,
        progress: Progress | None,
    ) -> None:
        self.priors, self.targets, self.method, self.progress = priors, targets, method, progress
        means = coming.laws.mean[coming.law]
        self.drawn, means = coming.secret[means > 0], means[means > 0]
        self.history, self.coming = history, coming.restricted(self.drawn)
        if len(self.drawn):
            pull = Cases(history, self.drawn, priors[self.drawn]).pull.sum(axis=1)
            room = (ndtri(targets[self.drawn]) - ndtri(priors[self.drawn])) ** 2 - pull
            self.guess = np.sqrt(coming.rounds) * means / np.sqrt(np.maximum(room, 1e-6))

    def need(self, secret: int, known: float) -> float:
        before, (own,) = self.history.runs_of(secret), self.coming.runs_of(secret)

        def gap(log_sigma: float) -> float:
            runs = [*before, replace(own, noise_multiplier=float(np.exp(log_sigma)))]
            try:
                curve = curve_of_runs(runs, priors=self.priors[secret], method=self.method, coarser=_COARSER)
            except CertificationError:
                return np.inf
            return float(np.log(curve.values[0] / self.targets[secret]))

        if known and gap(np.log(known)) <= 0:
            return known
        guess = float(np.log(self.guess[self.drawn == secret][0]))
        try:
            return float(np.exp(falling_root(gap, guess, _OF_ONE)))
        except CertificationError as error:
            raise CertificationError(f"secret {secret}: {error}") from None

    def missing(self, sigma: float, left: np.ndarray, searched: int) -> np.ndarray:
        found = self.at(sigma, left)
        left = found.missing(left[left != searched])
        return left[np.argsort(-found.ratio(left), kind="stable")]

    def gap(self, sigma: float, left: np.ndarray) -> float:
        return float(np.log(self.at(sigma, left).ratio(left)).max())

    def at(self, sigma: float, secrets: np.ndarray | None = None) -> ManyRuns:
        """After all runs; with `secrets` of these only (the others come out as in no run)."""
        history = self.history.with_run(replace(self.coming, noise_multiplier=np.array([sigma])))
        history = history if secrets is None else history.restricted(secrets)
        return certify_runs(history, self.priors, self.targets, method=self.method, progress=self.progress)
