"""The statistical audits on sampler and noise of this installation: each plays its game, and is held against what
is certified of it.

    for row in statistical_audits():
        print(row.name, row.certified, row.shown.value, row.shown.ceiling, row.outcome)

The rounds are those of a training run without its gradients: who is drawn comes from `WeightedPoissonSampler`, the
noise from `SecureGaussian` by `add_noise`, and a canary adds a vector of length C in a direction of its own, as bad
as a gradient can be. What each audit can show: docs/auditing.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush_core.accounting import Participation, posterior_bound
from hush_core.progress import Progress
from hush_core.training.noise import SecureGaussian, add_noise
from hush_core.training.sampler import WeightedPoissonSampler
from lab.statistical_audits.choose import best_of_counts
from lab.statistical_audits.gaussian import epsilon_of_shift
from lab.statistical_audits.lower_bound import LowerBound
from lab.statistical_audits.one_run import one_run
from lab.statistical_audits.one_run_f_dp import one_run_f_dp
from lab.statistical_audits.one_shot import RandomCanaries, one_shot_all, one_shot_final, sum_of_rounds
from lab.statistical_audits.repeated_runs import named_in_runs, repeated_runs
from lab.statistical_audits.tight_attack import log_ratio

DELTA = 1e-6
CONFIDENCE = 0.9984
"""Of each of the six rows: together they refute a right mechanism with probability 0.01 at most."""
_SHOT = {"dimension": 40_000, "canaries": 400, "rounds": 2}
_COINS = 4000
_RUNS, _TRIALS = 600, 600
_GAME: dict[str, Any] = {"examples": 4, "rate": 0.3, "rounds": 6, "values": 12}


@dataclass(frozen=True)
class Audited:
    """One audit: what was played, what is certified of it, what was shown."""

    name: str
    played: str
    certified: float
    shown: LowerBound

    @property
    def outcome(self) -> str:
        """`LowerBound.verdict`; an estimate, which proves nothing, has its interval in `played`."""
        return self.shown.verdict(self.certified)


@dataclass(frozen=True)
class Mechanism:
    """What makes the noise and draws the batches; a test puts a broken one here."""

    noise: Callable[[bytes], SecureGaussian] = SecureGaussian
    add: Callable[..., None] = add_noise
    sampler: Callable[..., WeightedPoissonSampler] = WeightedPoissonSampler


REAL = Mechanism()


def statistical_audits(
    *,
    noise_multiplier: float = 1.0,
    seed: int = 0,
    mechanism: Mechanism | None = None,
    progress: Progress | None = None,
) -> list[Audited]:
    """Play all games; in a fixed order, each with keys and coins of its own that follow from `seed`.

    Args:
        noise_multiplier: σ of the games. mechanism: None for this installation's.

    Guarantee: a mechanism that is what it says is called "refuted" by any of them with probability 0.01 at most,
    over seeds. The two one-shot rows are estimates: their lower end counts as shown, and holds for the canaries'
    chance alone.
    """
    mechanism = REAL if mechanism is None else mechanism
    games = (_one_shot, _coins, _with_and_without, _named)
    found: list[Audited] = []
    for done, game in enumerate(games, start=1):
        found += game(noise_multiplier, np.random.default_rng((seed, done)), mechanism)
        if progress is not None:
            progress("statistical audits", done, len(games))
    return found


def _one_shot(sigma: float, chance: np.random.Generator, mechanism: Mechanism) -> list[Audited]:
    """Random canaries in every round: what one release, and the sum of all, tell (Andrew et al. 2023)."""
    canaries = RandomCanaries(_SHOT["canaries"], _SHOT["dimension"], int(chance.integers(1 << 31)))
    total = np.zeros(canaries.dimension)
    canaries.add_to(total, 1.0)
    releases = _noised(np.tile(total, (_SHOT["rounds"], 1)), sigma, chance, mechanism)
    common = {"dimension": canaries.dimension, "delta": DELTA, "confidence": 2 * CONFIDENCE - 1}
    cosines = canaries.cosines(np.vstack([releases, sum_of_rounds(releases)]))
    rows = []
    for name, estimate, runs in (
        ("one shot, final model", one_shot_final(cosines[:, -1], **common), _SHOT["rounds"]),
        ("one shot, all iterates", one_shot_all(cosines[:, :-1], **common), _SHOT["rounds"]),
    ):
        played = (
            f"{canaries.count} canaries in {canaries.dimension:,} dimensions, {runs} rounds: estimate "
            f"{estimate.epsilon:.3g} ({estimate.low:.3g} to {estimate.high:.3g})"
        )
        shown = LowerBound(estimate.low, CONFIDENCE, estimate.ceiling, estimate.method, "epsilon")
        rows.append(Audited(name, played, epsilon_of_shift(np.sqrt(runs) / sigma, DELTA), shown))
    return rows


def _coins(sigma: float, chance: np.random.Generator, mechanism: Mechanism) -> list[Audited]:
    """Each canary is in by a fair coin, and has a coordinate (Steinke et al. 2023; Mahloujifar et al. 2024)."""
    inside = chance.random(_COINS) < 0.5
    seen = _noised(inside.astype(float)[None], sigma, chance, mechanism)[0]
    rows = []
    for name, bound in (("one run", one_run), ("one run, f-DP", one_run_f_dp)):
        shown = best_of_counts(seen, inside, bound, delta=DELTA, confidence=CONFIDENCE)
        rows.append(
            Audited(name, f"{_COINS} canaries by fair coins", epsilon_of_shift(1 / sigma, DELTA), shown)
        )
    return rows


def _with_and_without(sigma: float, chance: np.random.Generator, mechanism: Mechanism) -> list[Audited]:
    """Runs with a canary and without it; the alarm is fixed beforehand (Jagielski et al. 2020)."""
    threshold = 1 / sigma + 1.0  # in standard deviations of what one release shows
    truth = np.concatenate([np.ones(_RUNS), np.zeros(_RUNS)])
    alarm = (
        np.array([_noised(np.array([[x]]), sigma, chance, mechanism)[0, 0] / sigma for x in truth])
        > threshold
    )
    shown = repeated_runs(
        detected_with=int(alarm[:_RUNS].sum()), runs_with=_RUNS, detected_without=int(alarm[_RUNS:].sum()),
        runs_without=_RUNS, delta=DELTA, confidence=CONFIDENCE,
    )  # fmt: skip
    certified = epsilon_of_shift(1 / sigma, DELTA)
    return [Audited("repeated runs", f"{_RUNS} runs with a canary and {_RUNS} without", certified, shown)]


def _named(sigma: float, chance: np.random.Generator, mechanism: Mechanism) -> list[Audited]:
    """A secret that is drawn anew in each run, sampled and noised as in training, and guessed as well as can be."""
    named = sum(play_named(sigma, chance, mechanism) for _ in range(_TRIALS))
    shown = named_in_runs(named=named, runs=_TRIALS, confidence=CONFIDENCE)
    played = f"one of {_GAME['values']} values named in {named} of {_TRIALS} runs of {_GAME['rounds']} rounds"
    return [Audited("named in runs", played, certified_named(sigma), shown)]


def play_named(sigma: float, chance: np.random.Generator, mechanism: Mechanism = REAL) -> bool:
    """One run of the game: whether the best guess of who sees every noisy step names the secret."""
    rounds, values = _GAME["rounds"], _GAME["values"]
    sampler = mechanism.sampler(np.full(_GAME["examples"], _GAME["rate"]), key=chance.bytes(32))
    secret, sums = int(chance.integers(values)), np.zeros((rounds, values))
    sums[:, secret] = [len(sampler.draw(round)) for round in range(rounds)]
    seen = _noised(sums, sigma, chance, mechanism)
    return bool(log_ratio(_drawn(), sigma, seen).sum(0).argmax() == secret)


def certified_named(sigma: float) -> float:
    """What is certified of that game: how likely anyone names the secret."""
    prior = 1 / _GAME["values"]
    settings = {"noise_multiplier": sigma, "rounds": _GAME["rounds"]}
    return posterior_bound(_drawn(), prior=prior, method="blow_up", **settings).value


def _drawn() -> Participation:
    return Participation.binomial(_GAME["examples"], _GAME["rate"])


def _noised(sums: np.ndarray, sigma: float, chance: np.random.Generator, mechanism: Mechanism) -> np.ndarray:
    """(T, d) sums of clipped vectors, C = 1, with the noise of one run."""
    noise = mechanism.noise(chance.bytes(32))
    for round, one in enumerate(sums):
        mechanism.add(one, noise, round, scale=sigma, clip_norm=1.0)
    return sums
