"""The noise of the next run, given the runs before it and equal ones that are to follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from hush_core.accounting.bounds import BoundMethod, curve_of_runs
from hush_core.accounting.many_secrets.groups import Cases
from hush_core.accounting.many_secrets.history import History
from hush_core.accounting.many_secrets.run_bounds import RunBounds, certify_runs
from hush_core.accounting.noise_search import falling_root
from hush_core.accounting.participation import Participation
from hush_core.accounting.runs import Run
from hush_core.errors import CertificationError, InputError
from hush_core.progress import Progress

_SEARCHES = 4
"""So many secrets are searched for their own smallest noise before all that miss settle σ together."""
_TOGETHER = 2e-4
"""Relative precision of σ where they do."""
_PRECISION = 1e-4
_COARSER = 10.0
_PASSES = 20


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
    The secret that seems to need most is searched for its own σ until none is above its target, and after some of
    them all that are left together; then all are certified at that very σ.

    Raises:
        InputError: names what is wrong. TargetsSpent: with the secrets whose target is missed without the next run.
        CertificationError: no σ is certified.
    """
    if int(coming.to_follow) != coming.to_follow or coming.to_follow < 0:
        raise InputError(
            "to_follow", f"{coming.to_follow!r} is no whole number of 0 or more", "give the rounds to follow"
        )
    search = _Search(history, coming, np.asarray(priors, float), np.asarray(targets, float), method, progress)
    if not len(search.secrets):
        raise InputError("the next run", "draws no secret", "nothing needs protection")
    try:
        return _least_noise(search)
    except CertificationError:
        # whether the runs before alone are why; with a σ, they are not, as a bound does not fall with a run more
        before = certify_runs(history, priors, targets, method=method, progress=progress)
        if len(before.missing):
            over = before.table["bound"].to_numpy()[before.missing] / targets[before.missing]
            raise TargetsSpent(before.missing[np.argsort(-over)]) from None
        raise


def _least_noise(search: _Search) -> RunsNoise:
    sigma, least = search.sigma()
    for _ in range(_PASSES):
        bounds = search.bounds(sigma)
        if not len(bounds.missing):
            return RunsNoise(sigma, least, bounds)
        if not np.isin(bounds.missing, search.secrets).all():
            break  # no noise of a run that does not draw a secret helps it
        sigma *= 1 + _TOGETHER
    raise CertificationError("secrets miss their target at the calibrated noise")


class _Search:
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
        self.secrets, self.profile = coming.secret[means > 0], coming.profile[means > 0]
        self.rounds = coming.rounds + int(coming.to_follow)
        if len(self.secrets):
            self.need = self._guess(means[means > 0])

    def _guess(self, means: np.ndarray) -> np.ndarray:
        """σ in the Gaussian limit, by secret of the next run."""
        pull = Cases(self.history, self.secrets, self.priors[self.secrets]).pull.sum(axis=1)
        room = (ndtri(self.targets[self.secrets]) - ndtri(self.priors[self.secrets])) ** 2 - pull
        return np.sqrt(self.rounds) * means / np.sqrt(np.maximum(room, 1e-6))

    def bounds(self, sigma: float, secrets: np.ndarray | None = None) -> RunBounds:
        """After all runs, at σ; with `secrets` of these only (the others come out as in no run)."""
        history = self.history.with_run(
            sigma, self.rounds, self.secrets, self.coming.participations, self.profile
        )
        if secrets is not None:
            history = history.restricted(secrets)
        return certify_runs(history, self.priors, self.targets, method=self.method, progress=self.progress)

    def sigma(self) -> tuple[float, float]:
        """(σ that leaves none above its target, the largest that a secret needs by itself)."""
        worst, left, sigma = int(self.need.argmax()), self.secrets, 0.0
        for _ in range(_SEARCHES):
            sigma = max(sigma, self._own(worst, sigma))
            found = self.bounds(sigma, left)
            left = found.missing
            left = left[left != self.secrets[worst]]
            if not len(left):
                return sigma, sigma
            ratio = found.table["bound"].to_numpy()[left] / self.targets[left]
            worst = int(np.flatnonzero(self.secrets == left[ratio.argmax()])[0])

        def gap(log_sigma: float) -> float:
            bound = self.bounds(float(np.exp(log_sigma)), left).table["bound"].to_numpy()[left]
            return float(np.log(bound / self.targets[left]).max())

        together = falling_root(gap, float(np.log(sigma)), _TOGETHER, step=3e-3)
        return max(sigma, float(np.exp(together))), sigma

    def _own(self, place: int, known: float) -> float:
        """The smallest σ of one secret, from its own rates; `known` where that is enough."""
        secret = int(self.secrets[place])
        before = self.history.runs_of(secret)
        participation = self.coming.participations[int(self.profile[place])]

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
            return float(np.exp(falling_root(gap, float(np.log(self.need[place])), _PRECISION)))
        except CertificationError as error:
            raise CertificationError(f"secret {secret}: {error}") from None
