"""What the usual lemma on group privacy would ask, to compare with: hush plans by the mixture itself.

A mechanism that is (ε, δ)-DP for one item is (kε, δ·(e^{kε} − 1)/(e^ε − 1))-DP for k of them (Vadhan 2017, Lemma
2.2; Chua et al. 2024, Proposition 1). Read backwards: (ε, δ) for units of k items follows from
(ε/k, δ·(e^{ε/k} − 1)/(e^ε − 1)) for one.
"""

from __future__ import annotations

import math

from hush_core.accounting import Participation
from hush_core.errors import InputError
from hush_core.mechanisms.unit_privacy import noise_of


def one_item(epsilon: float, delta: float, items: int) -> tuple[float, float]:
    """(ε', δ') of one item from which (ε, δ) of `items` follows.

    >>> one_item(3.0, 1e-6, 1)
    (3.0, 1e-06)
    """
    if items < 1:
        raise InputError("items", f"are {items}", "give at least 1")
    small = epsilon / items
    return small, delta * math.expm1(small) / math.expm1(epsilon)


def noise_by_lemma(participation: Participation, *, rounds: int, epsilon: float, delta: float) -> float:
    """σ by the lemma for a secret of these items: each is taken to be drawn at the largest of their rates."""
    small, share = one_item(epsilon, delta, participation.examples)
    one = Participation.binomial(1, float(participation.rates.max()))
    return noise_of(one, rounds=rounds, epsilon=small, delta=share)
