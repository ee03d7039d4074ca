"""Runs whose σ, rates and rounds are chosen after seeing earlier models: a Rényi filter.

Fix an order α, and for each secret a budget M, before the first run. Release no round that would bring the runs'
total at α above M. Then the secret's bound is the Rényi bound of M, whatever the choices depended on
(docs/mathematics.md §8, Proposition 15).

>>> from hush_core.accounting import Participation
>>> k = Participation.binomial(count=100, rate=2048 / 1.2e6)
>>> spent([Run(k, 6.0, 500)] * 4, order=3.0) <= budget(1e-10, 1e-4, order=3.0)
True
"""

from collections.abc import Sequence

import numpy as np

from hush_core.accounting.bernoulli import log_ratios
from hush_core.accounting.bounds import DIVERGENCE_CUT
from hush_core.accounting.mixture import DominatingPair
from hush_core.accounting.noise_search import check_target
from hush_core.accounting.participation import CountDistribution
from hush_core.accounting.renyi import MomentCurve, log_gauge
from hush_core.accounting.runs import Run, merged
from hush_core.errors import InputError


def spent(runs: Sequence[Run], order: float) -> float:
    """M = Σ T·log E_Q[(P/Q)^α] in nats, from above: what these runs take from the budget of one secret.

    A tail of K that the moments leave out (below 1e-25 in all rounds) is not in it; `tail_of` says how much.

    Args:
        order: α > 1.

    Raises:
        InputError: α ≤ 1. CertificationError: the order is too large for the numerics here.
    """
    _check_order(order)
    parts = [(DominatingPair(_counts(run), run.noise_multiplier), run.rounds) for run in merged(runs)]
    return float(MomentCurve(parts)(np.array([order]))[0]) if parts else 0.0


def tail_of(runs: Sequence[Run]) -> float:
    """The mass of K's tails in all rounds, which `spent` does without: added to the posterior."""
    return sum(run.rounds * _counts(run).tail for run in merged(runs))


def budget(prior: float, target: float, order: float) -> float:
    """A budget M in nats that all runs together may spend: the largest found with a posterior of at most `target`.

    Source: Lemma 3.2 of Hush!, inverted: e^M = r^α·p^{1−α} + (1−r)^α·(1−p)^{1−α}, less 1e-9 of itself.

    Args:
        prior, target: p < r, in (0, 1). order: α > 1.

    Guarantee: the posterior of Lemma 3.2 for the returned M is at most `target`.
    """
    _check_order(order)
    check_target("target", prior, target)
    up, down = log_ratios(np.array([prior]), np.array([target - prior]))
    log_excess = float(
        np.logaddexp(np.log(prior) + log_gauge(up, order), np.log1p(-prior) + log_gauge(down, order)).item()
    )
    return float(np.logaddexp(0.0, log_excess)) * (1 - 1e-9)


def _counts(run: Run) -> CountDistribution:
    return run.participation.distribution.trimmed(DIVERGENCE_CUT)


def _check_order(order: float) -> None:
    if not (np.isfinite(order) and order > 1):
        raise InputError("order", f"{order!r} is not a finite number above 1", "give α > 1")
