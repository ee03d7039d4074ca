"""The tight attack: the best guess of an adversary that sees every noisy step, at gradients as bad as may be.

    found = tight_attack(k, noise_multiplier=3.0, rounds=2000, candidates=10**10, seed=1)
    found.lower.value, found.success             # below posterior_bound(...).value, and within 1.2 × of it

A secret has m equally likely values. Each points the clipped gradients of the secret's examples in a direction of
its own, at full length; no other example disturbs. So value i, if it is the true one, moves coordinate i of every
release by K_t (in units of C), and the other m − 1 coordinates are noise alone. The best guess is the coordinate
with the largest likelihood ratio over all rounds, Λ_i = Σ_t log P/Q(x_ti), and it is right with probability

    E_P[(1 − Q(Λ' > Λ))^{m−1}]                (ties, which are rare, count as lost).

The certificate is max of P(E) over events with Q(E) = 1/m. Why the attack comes within Γ(1 + a) of it, and never
above: docs/mathematics.md, Proposition 10. `hush_core/auditing/best_guess.py` computes the success.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from hush_core.accounting.participation import Participation
from hush_core.auditing.best_guess import Round, binned, computed_success, counts_of, wins
from hush_core.errors import InputError
from lab.statistical_audits.intervals import mean_at_least, mean_at_most
from lab.statistical_audits.lower_bound import LowerBound, check_confidence

_BINS = 400
_LEVELS = 200
_PILOT = 2000
_TILTS = 5
_AT_ONCE = 2000


@dataclass(frozen=True)
class AttackFound:
    """How often the attack names the secret.

    Attributes:
        lower: shown by simulated runs, at its confidence. Where the secret is drawn less than a few times in all
            rounds, few runs lie where a guess is decided, and it may be no more than the blind guess.
        success: the same probability by convolution, with losses rounded to a grid (an attack, too) and round-off
            of about 1e-13: a number of the second route, not an interval.
        prior: 1/m.
    """

    lower: LowerBound
    success: float
    prior: float


def tight_attack(
    participation: Participation,
    *,
    noise_multiplier: float,
    rounds: int,
    candidates: int,
    samples: int = 20_000,
    confidence: float = 0.99,
    seed: int,
) -> AttackFound:
    """How often the best adversary names the secret: a lower bound by simulated runs, and the number itself.

    Args:
        participation: how the secret's examples enter a round. noise_multiplier: σ. rounds: T.
        candidates: m ≥ 2, so that the prior is 1/m.
        samples: runs to simulate, twice: for Q's tail and for the success. seed: of both.

    Runs are drawn from P tilted by e^{sΛ}, at several s up to that whose runs lie where a guess is decided. Their
    weights under P and Q fall with Λ, so that they are bounded above every threshold, and Chernoff's bound for
    bounded numbers holds at any prior (lab/docs/audits.md).

    Raises:
        InputError: fewer than two candidates.
    """
    alpha = check_confidence(confidence)
    if candidates < 2:
        raise InputError(
            "candidates", f"must be at least 2, got {candidates}", "give the size of the secret's space"
        )
    counts = counts_of(participation)
    one = binned(counts, noise_multiplier, _BINS)
    proposal = _Proposal(one, rounds, _tilt(one, rounds, -math.log(candidates)))
    generator = np.random.default_rng(seed)
    pilot, first, second = (proposal.draw(n, generator) for n in (_PILOT, samples, samples))
    levels = np.unique(np.quantile(pilot, np.linspace(0, 1, _LEVELS)))
    upper = _tail_at_most(proposal, first, levels, alpha / 2)
    most, mean = _success(proposal, second, levels, wins(upper, candidates))
    lower = most * mean_at_least(mean / most, len(second), alpha / 2) if most else 0.0
    ceiling = min(1.0, most * mean_at_least(1.0, len(second), alpha / 2))
    lower, ceiling = max(lower, 1 / candidates), max(ceiling, 1 / candidates)  # a blind guess
    return AttackFound(
        LowerBound(lower, confidence, ceiling, "tight attack", "posterior"),
        computed_success(
            participation, noise_multiplier=noise_multiplier, rounds=rounds, candidates=candidates
        ),
        1 / candidates,
    )


@dataclass(frozen=True)
class _Proposal:
    """Runs drawn from a mixture R of laws P_s ∝ P^T·e^{sΛ}: what they weigh under P and Q depends on Λ alone, and
    falls with it."""

    one: Round
    rounds: int
    tilts: np.ndarray

    def draw(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """(≥ count,) Λ, as many from each tilt."""
        each = -(-count // len(self.tilts))
        parts = []
        for tilt in self.tilts:
            logs = np.log(self.one.p) + tilt * self.one.loss
            law = np.exp(logs - special.logsumexp(logs))
            law /= law.sum()
            for start in range(0, each, _AT_ONCE):
                drawn = generator.multinomial(self.rounds, law, size=min(_AT_ONCE, each - start))
                parts.append(drawn @ self.one.loss)
        return np.concatenate(parts)

    def log_under_p(self, losses: np.ndarray) -> np.ndarray:
        """log dP/dR at Λ."""
        log_m = [special.logsumexp(np.log(self.one.p) + s * self.one.loss) for s in self.tilts]
        logs = self.tilts[:, None] * losses - self.rounds * np.array(log_m)[:, None]
        return math.log(len(self.tilts)) - special.logsumexp(logs, axis=0)

    def under_p(self, losses: np.ndarray) -> np.ndarray:
        return np.exp(self.log_under_p(losses))

    def under_q(self, losses: np.ndarray) -> np.ndarray:
        return np.exp(self.log_under_p(losses) - losses)


def log_ratio(participation: Participation, noise_multiplier: float, seen: np.ndarray) -> np.ndarray:
    """log P/Q of one round at what a coordinate shows of it, in units of C; any shape. The sum over rounds is what
    the best guess compares between candidates."""
    counts = counts_of(participation)
    k = np.arange(len(counts))
    with np.errstate(divide="ignore"):
        logs = np.log(counts) + (np.asarray(seen)[..., None] * k - 0.5 * k**2) / noise_multiplier**2
    return special.logsumexp(logs, axis=-1)


def _tilt(one: Round, rounds: int, log_prior: float) -> np.ndarray:
    """Tilts from 0 to where Q's tail beyond the tilted mean of Λ is about 1/m, by its exponential rate."""

    def rate(s: float) -> float:
        logs = np.log(one.p) + s * one.loss
        log_m = float(special.logsumexp(logs))
        mean = float(np.exp(logs - log_m) @ one.loss)
        return rounds * (log_m - (1 + s) * mean) - log_prior

    if rate(0.0) <= 0:
        return np.zeros(1)
    high = 1.0
    while rate(high) > 0 and high < 1e3:
        high *= 2
    middle = float(optimize.brentq(rate, 0.0, high, xtol=1e-6)) if rate(high) <= 0 else high
    return middle * np.linspace(0, 1, _TILTS)


def _tail_at_most(proposal: _Proposal, drawn: np.ndarray, levels: np.ndarray, alpha: float) -> np.ndarray:
    """Q(Λ > level) is at most this at all levels together, but for a chance of α."""
    found = []
    for level, most in zip(levels, proposal.under_q(levels), strict=True):
        terms = proposal.under_q(drawn[drawn > level])  # each below `most`, as the weight falls with Λ
        mean = float(terms.sum()) / len(drawn) / most
        found.append(most * mean_at_most(mean, len(drawn), alpha / len(levels)))
    return np.minimum(found, 1.0)


def _success(
    proposal: _Proposal, drawn: np.ndarray, levels: np.ndarray, wins: np.ndarray
) -> tuple[float, float]:
    """The most that one term can be, and the mean of dP/dR times the wins at the highest level below Λ."""
    place = np.searchsorted(levels, drawn, side="left") - 1  # strictly above the level
    terms = np.where(place >= 0, proposal.under_p(drawn) * wins[np.maximum(place, 0)], 0.0)
    return float(np.max(proposal.under_p(levels) * wins)), float(terms.mean())
