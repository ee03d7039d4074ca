"""One noise multiplier for all secrets, and a certificate for each at that very number: of a run that stands alone,
or of the next one, given the runs before it and equal ones that are to follow.

The secret that seems to need most noise is searched for its own least σ, until none misses its target there. After
some of them, all that are left settle σ together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from hush_core.accounting.bounds import BoundMethod, curve_of_runs
from hush_core.accounting.many_secrets.groups import Cases
from hush_core.accounting.many_secrets.history import History
from hush_core.accounting.many_secrets.many_runs import ManyRuns, certify_runs
from hush_core.accounting.many_secrets.one_run import OWN, OneRun
from hush_core.accounting.many_secrets.profiles import Profiles, group_profiles
from hush_core.accounting.noise_search import PRECISION, falling_root, gaussian_noise, smallest_noise
from hush_core.accounting.runs import check_mechanism
from hush_core.errors import CertificationError, InputError
from hush_core.progress import Progress

_SEARCHES = 4
"""So many secrets are searched for their own smallest noise before all that are left settle σ together."""
_FEW = 16
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


@dataclass(frozen=True)
class Calibration:
    """`noise_multiplier`: σ for all secrets. `least`: no smaller σ is certified by this method for those that were
    searched by themselves. `table`: one certified row a secret, see `bound_secrets` and `ManyRuns.table`."""

    noise_multiplier: float
    least: float
    table: pl.DataFrame


class TargetsSpent(CertificationError):
    """Runs that are over already leave nothing of these targets, whatever noise the next one has.

    secrets: their places, (n,), the worst first.
    """

    def __init__(self, secrets: np.ndarray) -> None:
        super().__init__(f"the runs so far leave {len(secrets)} secrets nothing of their target")
        self.secrets = secrets


def calibrate(
    edges: pl.DataFrame,
    rates: np.ndarray,
    secrets: pl.DataFrame,
    *,
    rounds: int,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> Calibration:
    """The smallest σ for which every secret's bound is at most its target, and every secret's row at that σ.

    Args:
        edges: example_id, secret_id. rates: (n,) ρ_i by example_id. secrets: secret_id, prior, posterior,
        name.

    One that a dominating profile certifies cannot be the maximum. Where very many secrets need nearly the same σ,
    it ends some tenths of a percent above `least`; with up to OWN profiles it is `least` to PRECISION.

    Raises:
        InputError: names the secret; also where no secret has an example. CertificationError: none is
        certified.
    """
    search = _OfOneRun(_profiles(edges, rates, secrets, rounds), rounds, method, progress, OWN)
    sigma, least, found = search.certified()
    of, targets = search.profiles.of_secret, search.profiles.posterior
    # a profile's need is that of its most demanding secret
    needed = np.where(secrets["posterior"].to_numpy() != targets[of], np.nan, search.needed[of])
    return Calibration(sigma, least * (1 - 2 * PRECISION), found.table(secrets, needed))


def noise_for_all(
    edges: pl.DataFrame,
    rates: np.ndarray,
    secrets: pl.DataFrame,
    *,
    rounds: int,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> float:
    """A σ at which every secret's bound is at most its target, without the table: for plans, several times faster.

    Arguments and errors as of `calibrate`. The answer was certified for every secret in the search, and lies at
    most some tenths of a percent above the smallest such σ.
    """
    return _OfOneRun(_profiles(edges, rates, secrets, rounds), rounds, method, progress, _FEW).noise()[0]


def noise_for_runs(
    history: History,
    coming: History,
    priors: np.ndarray,
    targets: np.ndarray,
    *,
    to_follow: int = 0,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> Calibration:
    """The smallest σ of the next run for which every secret's bound is at most its target after all planned runs.

    Args:
        history: the runs before. coming: the next run, whose σ is not looked at.
        to_follow: rounds of all further runs, which draw what it draws with the same noise; 0 or more. Runs that
            differ in their rounds alone are one with the sum of them, so the plan is one run more in the history.

    Raises:
        InputError: names what is wrong. TargetsSpent: with the secrets whose target is missed without the next run.
        CertificationError: no σ is certified.
    """
    if int(to_follow) != to_follow or to_follow < 0:
        raise InputError(
            "to_follow", f"{to_follow!r} is no whole number of 0 or more", "give the rounds to follow"
        )
    coming = replace(coming, rounds=coming.rounds + int(to_follow))
    priors, targets = np.asarray(priors, float), np.asarray(targets, float)
    search = _OfNextRun(history, coming, priors, targets, method, progress)
    if not len(search.drawn):
        raise InputError("the next run", "draws no secret", "nothing needs protection")
    try:
        sigma, least, found = search.certified()
        return Calibration(sigma, least, found.table)
    except CertificationError:
        # whether the runs before alone are why; with a σ, they are not, as a bound does not fall with a run more
        before = certify_runs(history, priors, targets, method=method, progress=progress)
        if len(spent := before.missing()):
            raise TargetsSpent(spent[np.argsort(-before.ratio(spent))]) from None
        raise


def _profiles(edges: pl.DataFrame, rates: np.ndarray, secrets: pl.DataFrame, rounds: int) -> Profiles:
    check_mechanism(noise_multiplier=1.0, rounds=rounds)
    profiles = group_profiles(edges, rates, secrets)
    if not profiles.mean.any():
        raise InputError(
            "the graph", "no secret has an example with a weight above 0", "nothing needs protection"
        )
    return profiles


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


class _OfOneRun(_Search):
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
        target = profiles.prior[self.drawn], profiles.posterior[self.drawn]
        self.guess = gaussian_noise(mean[self.drawn], rounds, *target)
        self.known: dict[float, tuple[np.ndarray, np.ndarray]] = {}

    def need(self, secret: int, known: float) -> float:
        target = [float(self.profiles.prior[secret]), float(self.profiles.posterior[secret])]
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


class _OfNextRun(_Search):
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
