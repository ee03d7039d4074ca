"""posterior_bound: one secret, one noise multiplier, one certified upper bound, with the method that proved
it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from hush_core.accounting.blow_up import blow_up_posterior
from hush_core.accounting.kl import kl_posterior
from hush_core.accounting.mixture import DominatingPair
from hush_core.accounting.participation import Participation
from hush_core.accounting.renyi import renyi_posterior
from hush_core.errors import CertificationError, InputError

BoundMethod = Literal["kl", "renyi", "renyi_preservation", "blow_up", "best"]

LEAST_NOISE, MOST_NOISE = 0.05, 1e6
"""The noise multipliers, and below them the rounds and priors, for which the numerics are meant and
tested."""
MOST_ROUNDS = 10_000_000
LEAST_PRIOR = 1e-30
CUT = 1e-8
"""Mass that all rounds together may lose in the tails of K and of the loss, relative to the prior. It is
added to r."""


DIVERGENCE_CUT = 1e-28
"""Mass of K's tail, per round, that the divergences do without. Rare large K are what makes them loose, so
any cut
would be valid and a larger one tighter; this one gives the reference values of docs/guarantee.md §3."""


@dataclass(frozen=True)
class Bound:
    """A certified upper bound on the posterior.

    Attributes:
        value: the bound, p ≤ value ≤ 1; it includes `numerical_error`.
        method: what proved it; never "best".
        numerical_error: how much of it stands for what the numerics cut or rounded.
        note: why another method than the one asked for stepped in, else empty.
    """

    value: float
    method: str
    numerical_error: float = 0.0
    note: str = ""


def posterior_bound(
    participation: Participation,
    *,
    noise_multiplier: float,
    rounds: int,
    prior: float,
    method: BoundMethod = "best",
) -> Bound:
    """No adversary who sees T rounds names the secret with probability above the returned value.

    Args:
        participation: how the secret's examples enter a round.
        noise_multiplier: σ > 0, relative to the clip norm. rounds: T ≥ 1. prior: p in (0, 1).
        method: "kl" (the paper's), "renyi" (Lemma 3.2), "renyi_preservation", "blow_up" (tight), or "best":
        the
            least of blow_up, renyi and kl; where blow_up refuses, of the others, with a note.

    Guarantee: Definition 3.1 of Hush! for arbitrary changes of the secret's examples (docs/guarantee.md
    §2-3). All error of discretisation is upwards; what is cut is added.

    Raises:
        InputError: an argument out of range. CertificationError: the method cannot certify here.
    """
    check_mechanism(noise_multiplier=noise_multiplier, rounds=rounds)
    if not 0 < prior < 1:
        raise InputError("prior", "does not lie strictly between 0 and 1", "give the best blind guess")
    if method not in get_args(BoundMethod):
        raise InputError("method", "is not a known method", f"take one of {', '.join(get_args(BoundMethod))}")
    sigma, rounds, prior = float(noise_multiplier), int(rounds), float(prior)
    if participation.mean == 0:
        return Bound(
            prior, "blow_up" if method == "best" else method
        )  # the releases do not depend on the secret
    if not (LEAST_NOISE <= sigma <= MOST_NOISE and rounds <= MOST_ROUNDS and prior >= LEAST_PRIOR):
        raise CertificationError(
            f"certified are noise multipliers in [{LEAST_NOISE:g}, {MOST_NOISE:g}], at most {MOST_ROUNDS} "
            f"rounds and priors from {LEAST_PRIOR:g}"
        )
    if method != "best":
        return _by(method, participation, sigma, rounds, prior)
    found, note = [], ""
    for each in ("blow_up", "renyi", "kl"):
        try:
            found.append(_by(each, participation, sigma, rounds, prior))
        except CertificationError as refusal:
            note = note or f"{each} refused: {refusal}"
    if not found:
        raise CertificationError(note)
    least = min(found, key=lambda bound: bound.value)
    return Bound(least.value, least.method, least.numerical_error, note)


def _by(method: str, participation: Participation, sigma: float, rounds: int, prior: float) -> Bound:
    cut = CUT * prior / rounds
    counts = participation.distribution.trimmed(cut if method == "blow_up" else min(cut, DIVERGENCE_CUT))
    pair = DominatingPair(counts, sigma)
    # P = (1 − tail)·pair + tail·(certain detection), in each of T rounds
    lost = error = rounds * counts.tail
    if method == "blow_up":
        result = blow_up_posterior(pair, rounds, prior, cut)
        value, error = result.posterior, lost + result.cut
    elif method == "kl":
        value = kl_posterior(pair, rounds, prior)
    else:
        value = renyi_posterior(pair, rounds, prior, preservation=method == "renyi_preservation")
    if not np.isfinite(value):
        raise CertificationError(f"{method} gave no finite number")
    if value >= 1:
        return Bound(1.0, method)
    return Bound(float(min(max(value, prior) + lost, 1.0)), method, float(error))


def check_mechanism(*, noise_multiplier: float, rounds: int) -> None:
    """Raise InputError unless σ is a positive finite number and T a whole number of at least 1."""
    if not (np.isfinite(noise_multiplier) and noise_multiplier > 0):
        raise InputError("noise_multiplier", "is not a positive finite number", "give σ > 0")
    if not (np.isfinite(rounds) and rounds >= 1 and int(rounds) == rounds):
        raise InputError("rounds", "is not a whole number of at least 1", "give T ≥ 1")
