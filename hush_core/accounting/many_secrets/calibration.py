"""One noise multiplier for all secrets, and a certificate for each at that very number: of a run that stands alone,
or of the next one, given the runs before it and equal ones that are to follow.

The secret that seems to need most noise is searched for its own least σ, until none misses its target there. After
some of them, all that are left settle σ together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from hush_core.accounting.bounds import BoundMethod, curve_of_runs
from hush_core.accounting.many_secrets.groups import Cases
from hush_core.accounting.many_secrets.history import History
from hush_core.accounting.many_secrets.many_runs import RunBounds, certify_runs
from hush_core.accounting.many_secrets.one_run import OWN, OneRun
from hush_core.accounting.many_secrets.profiles import group_profiles
from hush_core.accounting.noise_search import PRECISION, falling_root, gaussian_noise, smallest_noise
from hush_core.accounting.participation import Participation
from hush_core.accounting.runs import Run, check_mechanism
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
    """`noise_multiplier`: σ for all secrets. `least`: no smaller σ is certified by this method (the largest
    `noise_needed`, less its precision). `table`: one certified row a secret, see `bound_secrets`."""

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


@dataclass(frozen=True)
class NextRun:
    """What the next run draws, and how many rounds like its own are to follow it.

    Attributes:
        secret, profile: (d,) which secrets are in it, and the place of each one's participation.
        participations: distinct laws of K. rounds: T of this run. to_follow: those of all further
            runs, which draw what it draws with the same noise; 0 or more.
    """

    secret: np.ndarray
    profile: np.ndarray
    participations: Sequence[Participation]
    rounds: int
    to_follow: int = 0


@dataclass(frozen=True, eq=False)
class RunsNoise:
    """`noise_multiplier`: σ of the next run. `least`: no smaller σ is certified for the secrets that were searched.
    `bounds`: every secret's, after all runs, the future ones included."""

    noise_multiplier: float
    least: float
    bounds: RunBounds


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

    One that a dominating profile certifies cannot be the maximum. Where very many secrets need nearly the same σ, it
    ends some tenths of a percent above `least`; with up to OWN profiles it is `least` to PRECISION.

    Raises:
        InputError: names the secret; also where no secret has an example. CertificationError: none is
        certified.
    """
    search = _OfOneRun(edges, rates, secrets, rounds, method, progress, few=OWN)
    sigma, least = search.noise()
    sigma, found = search.certified(sigma)
    profiles = search.profiles
    column = search.needed[profiles.of_secret]
    # a profile's need is that of its most demanding secret
    column[secrets["posterior"].to_numpy() != profiles.posterior[profiles.of_secret]] = np.nan
    return Calibration(sigma, least * (1 - 2 * PRECISION), found.table(secrets, column))


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
    return _OfOneRun(edges, rates, secrets, rounds, method, progress, few=_FEW).noise()[0]


def noise_for_runs(
    history: History,
    coming: NextRun,
    priors: np.ndarray,
    targets: np.ndarray,
    *,
    method: BoundMethod = "best",
    progress: Progress | None = None,
) -> RunsNoise:
    """The smallest σ of the next run for which every secret's bound is at most its target after all planned runs.

    Runs that differ in their rounds alone are one with the sum of them, so the plan is one run more in the history.

    Raises:
        InputError: names what is wrong. TargetsSpent: with the secrets whose target is missed without the next run.
        CertificationError: no σ is certified.
    """
    if int(coming.to_follow) != coming.to_follow or coming.to_follow < 0:
        raise InputError(
            "to_follow", f"{coming.to_follow!r} is no whole number of 0 or more", "give the rounds to follow"
        )
    priors, targets = np.asarray(priors, float), np.asarray(targets, float)
    search = _OfNextRun(history, coming, priors, targets, method, progress)
    if not len(search.drawn):
        raise InputError("the next run", "draws no secret", "nothing needs protection")
    try:
        sigma, least = search.noise()
        sigma, bounds = search.certified(sigma)
        return RunsNoise(sigma, least, bounds)
    except CertificationError:
        # whether the runs before alone are why; with a σ, they are not, as a bound does not fall with a run more
        before = certify_runs(history, priors, targets, method=method, progress=progress)
        if len(before.missing):
            over = before.table["bound"].to_numpy()[before.missing] / targets[before.missing]
            raise TargetsSpent(before.missing[np.argsort(-over)]) from None
        raise


class _Search(ABC):
    """The least σ of a run.

    Attributes:
        drawn: places of the secrets (or profiles of them) that it draws. guess: of σ, by place in `drawn`, in the
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
    def at(self, sigma: float) -> tuple[Any, np.ndarray]:
        """(every secret's certified bound at this σ, the places of those that miss their target)."""

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

    def certified(self, sigma: float) -> tuple[float, Any]:
        """(σ, every secret's bound at it, none above its target); a σ that was found a little too low is raised."""
        for _ in range(_PASSES):
            found, over = self.at(sigma)
            if not len(over):
                return sigma, found
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
        self,
        edges: pl.DataFrame,
        rates: np.ndarray,
        secrets: pl.DataFrame,
        rounds: int,
        method: BoundMethod,
        progress: Progress | None,
        *,
        few: int,
    ) -> None:
        check_mechanism(noise_multiplier=1.0, rounds=rounds)
        self.profiles = profiles = group_profiles(edges, rates, secrets)
        mean = profiles.mean
        if not mean.any():
            raise InputError(
                "the graph", "no secret has an example with a weight above 0", "nothing needs protection"
            )
        self.rounds, self.method, self.progress = rounds, method, progress
        self.are_few = len(profiles) <= few
        self.searches = len(profiles) if self.are_few else _SEARCHES
        self.needed, self.drawn = np.where(mean == 0, 0.0, np.nan), np.flatnonzero(mean > 0)
        target = profiles.prior[self.drawn], profiles.posterior[self.drawn]
        self.guess = gaussian_noise(mean[self.drawn], rounds, *target)
        self.known: dict[float, tuple[np.ndarray, np.ndarray]] = {}

    def need(self, secret: int, known: float) -> float:
        target = {
            "prior": float(self.profiles.prior[secret]),
            "posterior": float(self.profiles.posterior[secret]),
        }
        participation = self.profiles.participation(secret)
        try:
            found = smallest_noise(participation, rounds=self.rounds, method=self.method, **target)
        except CertificationError as error:
            raise CertificationError(f"{self.profiles.label(secret)}: {error}") from None
        self.needed[secret] = found
        return found

    def missing(self, sigma: float, left: np.ndarray, searched: int) -> np.ndarray:
        if not self.are_few:
            return self._missing_at(sigma)[0]
        left, rows = np.sort(left[left != searched]), self._rows(sigma)
        rows.by_own_rates(rows.history.alike(left), refusable=True)
        left = rows.missing(left)
        self._report(len(left))
        return left[np.argsort(-rows.ratio(left), kind="stable")]

    def gap(self, sigma: float, left: np.ndarray) -> float:
        ratios = self._missing_at(sigma)[1]
        return float(np.log(ratios[0])) if len(ratios) else 0.0

    def at(self, sigma: float) -> tuple[OneRun, np.ndarray]:
        rows = self._rows(sigma, self.progress)
        rows.certify()
        return rows, rows.missing(np.arange(len(self.profiles)))

    def _rows(self, sigma: float, progress: Progress | None = None) -> OneRun:
        return OneRun(self.profiles, sigma, self.rounds, self.method, progress)

    def _report(self, left: int) -> None:
        if self.progress:
            self.progress("calibrating", len(self.profiles) - left, len(self.profiles))

    def _missing_at(self, sigma: float) -> tuple[np.ndarray, np.ndarray]:
        """(what σ does not certify yet, the worst first; bound/target). What a smaller σ certifies, a larger one
        does; what was searched for by itself needs no dominating profile."""
        if sigma not in self.known:
            smaller = [s for s in self.known if s <= sigma]
            among = self.known[max(smaller)][0] if smaller else self.drawn
            self.known[sigma] = self._by_dominance(among[np.isnan(self.needed[among])], sigma)
            self._report(len(self.known[sigma][0]))
        found, ratios = self.known[sigma]
        still = np.isnan(self.needed[found])
        return found[still], ratios[still]

    def _by_dominance(self, left: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
        """(those of `left` that σ does not certify yet, the worst first; their bound/target)."""
        rows = self._rows(sigma)
        for ratio in _LEVELS:
            alone = rows.inherit_on_grid(left, ratio)
            left = rows.missing(left)
        # without a dominating profile near by, only its own rates can tell
        alone = np.intersect1d(alone, left)
        alone = alone[np.argsort(-rows.ratio(alone), kind="stable")[:OWN]]
        rows.by_own_rates(rows.history.alike(alone), refusable=True)
        ratios = rows.ratio(left)
        order = np.argsort(-ratios)[: int((ratios > 1).sum())]
        return left[order], ratios[order]


class _OfNextRun(_Search):
    """By secret, each with the runs before."""

    searches, precision = _SEARCHES, _TOGETHER

    def __init__(
        self,
        history: History,
        coming: NextRun,
        priors: np.ndarray,
        targets: np.ndarray,
        method: BoundMethod,
        progress: Progress | None,
    ) -> None:
        self.history, self.coming, self.priors, self.targets = history, coming, priors, targets
        self.method, self.progress = method, progress
        means = np.array([p.mean for p in coming.participations])[coming.profile]
        self.drawn, self.law, means = coming.secret[means > 0], coming.profile[means > 0], means[means > 0]
        self.rounds = coming.rounds + int(coming.to_follow)
        if len(self.drawn):
            pull = Cases(history, self.drawn, priors[self.drawn]).pull.sum(axis=1)
            room = (ndtri(targets[self.drawn]) - ndtri(priors[self.drawn])) ** 2 - pull
            self.guess = np.sqrt(self.rounds) * means / np.sqrt(np.maximum(room, 1e-6))

    def need(self, secret: int, known: float) -> float:
        place = int(np.flatnonzero(self.drawn == secret)[0])
        before = self.history.runs_of(secret)
        participation = self.coming.participations[int(self.law[place])]

        def gap(log_sigma: float) -> float:
            runs = [*before, Run(participation, float(np.exp(log_sigma)), self.rounds)]
            try:
                curve = curve_of_runs(runs, priors=self.priors[secret], method=self.method, coarser=_COARSER)
            except CertificationError:
                return np.inf
            return float(np.log(curve.values[0] / self.targets[secret]))

        if known and gap(np.log(known)) <= 0:
            return known
        try:
            return float(np.exp(falling_root(gap, float(np.log(self.guess[place])), _OF_ONE)))
        except CertificationError as error:
            raise CertificationError(f"secret {secret}: {error}") from None

    def missing(self, sigma: float, left: np.ndarray, searched: int) -> np.ndarray:
        found = self._bounds(sigma, left)
        left = found.missing[found.missing != searched]
        ratio = found.table["bound"].to_numpy()[left] / self.targets[left]
        return left[np.argsort(-ratio, kind="stable")]

    def gap(self, sigma: float, left: np.ndarray) -> float:
        bound = self._bounds(sigma, left).table["bound"].to_numpy()[left]
        return float(np.log(bound / self.targets[left]).max())

    def at(self, sigma: float) -> tuple[RunBounds, np.ndarray]:
        found = self._bounds(sigma)
        return found, found.missing

    def _bounds(self, sigma: float, secrets: np.ndarray | None = None) -> RunBounds:
        """After all runs, at σ; with `secrets` of these only (the others come out as in no run)."""
        history = self.history.with_run(sigma, self.rounds, self.drawn, self.coming.participations, self.law)
        if secrets is not None:
            history = history.restricted(secrets)
        return certify_runs(history, self.priors, self.targets, method=self.method, progress=self.progress)
