"""Several runs on one secret: each a number of rounds under its own noise, with its own law of K.

>>> k = Participation.binomial(count=100, rate=2048 / 1.2e6)
>>> merged([Run(k, 3.0, 500), Run(k, 4.0, 200), Run(k, 3.0, 1500)])[0].rounds
2000

Runs with equal rates and equal noise are one run with the sum of their rounds: the product of dominating pairs has
no order (docs/mathematics.md §8).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hush_core.accounting.participation import Participation
from hush_core.errors import InputError


@dataclass(frozen=True)
class Run:
    """What one run did with one secret.

    Attributes:
        participation: the law of K, how many of the secret's examples are in a batch of this run.
        noise_multiplier: σ > 0, relative to the clip norm. rounds: T ≥ 1, those that were released at most.

    Errors: `InputError` where σ or T is out of range.
    """

    participation: Participation
    noise_multiplier: float
    rounds: int

    def __post_init__(self) -> None:
        check_mechanism(noise_multiplier=self.noise_multiplier, rounds=self.rounds)


def merged(runs: Sequence[Run]) -> list[Run]:
    """The same runs in a canonical order: equal ones as one, without those that never draw the secret."""
    rounds: dict[tuple[float, Participation], int] = {}
    for run in runs:
        if run.participation.mean > 0:
            key = float(run.noise_multiplier), run.participation
            rounds[key] = rounds.get(key, 0) + int(run.rounds)
    ordered = sorted(rounds.items(), key=lambda item: (item[0][0], item[0][1].key))
    return [Run(participation, sigma, total) for (sigma, participation), total in ordered]


def check_mechanism(*, noise_multiplier: float, rounds: int) -> None:
    """Raise InputError unless σ is a positive finite number and T a whole number of at least 1."""
    if not (np.isfinite(noise_multiplier) and noise_multiplier > 0):
        raise InputError(
            "noise_multiplier", f"{noise_multiplier!r} is not a positive finite number", "give σ > 0"
        )
    if not (np.isfinite(rounds) and rounds >= 1 and int(rounds) == rounds):
        raise InputError("rounds", f"{rounds!r} is not a whole number of at least 1", "give T ≥ 1")
