"""The second route: the same posterior from dp_accounting's privacy loss distribution, for cross-checks.

It shares no numerics with `blow_up`. Only connect-the-dots is used: with `use_connect_dots=False`
dp_accounting 0.6.0 was seen to return values BELOW the truth for this mixture (docs/guarantee.md §3). Of
its two adjacencies, REMOVE is the one whose upper distribution is the mixture.
"""

from __future__ import annotations

import math

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld import privacy_loss_mechanism as mechanism

from hush_core.accounting.bounds import Bound, check_mechanism
from hush_core.accounting.participation import Participation
from hush_core.errors import CertificationError, InputError

CUT_COUNTS = 1e-6
"""Mass of K's tail, over all rounds and relative to the prior, that is cut and added to the bound."""
MOST_COUNTS = 400
"""More values of K than this take dp_accounting minutes."""


def second_route(
    participation: Participation,
    *,
    noise_multiplier: float,
    rounds: int,
    prior: float,
    step: float | None = None,
) -> Bound:
    """An upper bound on the posterior by dp_accounting: min over v of e^v·p + δ(v).

    `step` is the discretisation of one round's loss; by default it shrinks with √T. Seconds a call.

    Raises:
        CertificationError: the pair is out of dp_accounting's reach; nothing is returned in its place.
    """
    check_mechanism(noise_multiplier=noise_multiplier, rounds=rounds)
    if not 0 < prior < 1:
        raise InputError("prior", "does not lie strictly between 0 and 1", "give the best blind guess")
    if participation.mean == 0:
        return Bound(prior, "dp_accounting")
    # its cost grows with the number of counts, so more of K's tail is cut than in our own route, and added
    kept = participation.distribution.trimmed(CUT_COUNTS * prior / rounds)
    counts, law = kept.first + np.arange(len(kept.pmf)), kept.pmf
    cut = rounds * kept.tail
    if len(counts) > MOST_COUNTS:
        raise CertificationError(f"{len(counts)} values of K are beyond dp_accounting's reach")
    step = step or min(1e-2, 0.02 / math.sqrt(rounds))
    try:
        loss = mechanism.MixtureGaussianPrivacyLoss(
            noise_multiplier,
            counts.astype(float),
            law / law.sum(),
            pessimistic_estimate=True,
            log_mass_truncation_bound=math.log(prior / rounds) - 25,
            adjacency_type=mechanism.AdjacencyType.REMOVE,
        )
        # The public constructor computes both adjacencies and answers with the worse one.
        one_round = pld._create_pld_pmf_from_monotone_privacy_loss(
            loss, pessimistic_estimate=True, value_discretization_interval=step, use_connect_dots=True
        )
        composed = one_round.self_compose(rounds, tail_mass_truncation=1e-6 * prior)
    except (ValueError, OverflowError, MemoryError, ZeroDivisionError) as error:
        raise CertificationError(f"dp_accounting refuses: {type(error).__name__}") from None
    value = 1.0
    low, high = -5.0, -math.log(prior)
    for _ in range(3):
        epsilons = np.linspace(low, high, 200)
        bounds = np.exp(epsilons) * prior + np.array(composed.get_delta_for_epsilon(epsilons))
        best = int(np.argmin(bounds))
        value = min(value, float(bounds[best]))
        low, high = epsilons[max(best - 1, 0)], epsilons[min(best + 1, 199)]
    return Bound(min(value + cut, 1.0), "dp_accounting", cut)
