"""posterior_bound: one secret, one noise multiplier, one certified upper bound, with the method that proved it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from hush_core.accounting.blow_up import blow_up_posterior
from hush_core.accounting.kl import posterior_from_kl, round_kl
from hush_core.accounting.mixture import Mixture
from hush_core.accounting.participation import Participation
from hush_core.accounting.renyi import renyi_posterior
from hush_core.errors import CertificationError, InputError

BoundMethod = Literal["kl", "renyi", "renyi_preservation", "blow_up", "best"]


@dataclass(frozen=True)
class Bound:
    """A certified upper bound on the posterior.

    Attributes:
        value: the bound; it includes `numerical_error`. method: what proved it (never "best").
        numerical_error: how much of it stands for what the numerics cut. note: why another method stepped in.
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
            the least of blow_up and renyi, and of renyi and kl where blow_up refuses.

    Guarantee: Definition 3.1 for arbitrary changes of the secret's examples (docs/guarantee.md §2-3).

    Raises:
        InputError: an argument out of range. CertificationError: the method cannot certify here.
    """
    check_mechanism(noise_multiplier=noise_multiplier, rounds=rounds)
    if not 0 < prior < 1:
        raise InputError("prior", "does not lie strictly between 0 and 1", "give the best blind guess")
    if method not in get_args(BoundMethod):
        raise InputError("method", "is not a known method", f"take one of {', '.join(get_args(BoundMethod))}")
    if participation.silent:
        return Bound(prior, "kl" if method == "best" else method)
    mixture = Mixture(participation, float(noise_multiplier))
    if method == "best":
        return _best(mixture, int(rounds), float(prior))
    return _by(method, mixture, int(rounds), float(prior))


def _by(method: str, mixture: Mixture, rounds: int, prior: float) -> Bound:
    if method == "blow_up":
        value, error = blow_up_posterior(mixture, rounds, prior)
        return Bound(value, method, error)
    cut = rounds * mixture.participation.cut
    if method == "kl":
        value = posterior_from_kl(rounds * round_kl(mixture), prior)
    else:
        value = renyi_posterior(mixture, rounds, prior, lemma=method == "renyi")
    return Bound(min(value + cut, 1.0), method, cut)


def _best(mixture: Mixture, rounds: int, prior: float) -> Bound:
    try:
        return _by("blow_up", mixture, rounds, prior)
    except CertificationError as refusal:
        note = f"blow_up refused: {refusal}"
    found = [_by(method, mixture, rounds, prior) for method in ("renyi", "kl")]
    least = min(found, key=lambda bound: bound.value)
    return Bound(least.value, least.method, least.numerical_error, note)


def check_mechanism(*, noise_multiplier: float, rounds: int) -> None:
    """Raise InputError unless σ is a positive finite number and T a whole number of at least 1."""
    if not (np.isfinite(noise_multiplier) and noise_multiplier > 0):
        raise InputError("noise_multiplier", "is not a positive finite number", "give σ > 0")
    if not (np.isfinite(rounds) and rounds >= 1 and int(rounds) == rounds):
        raise InputError("rounds", "is not a whole number of at least 1", "give T ≥ 1")
