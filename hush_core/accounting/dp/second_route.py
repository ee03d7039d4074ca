"""The second route: the same posterior from dp_accounting's privacy loss distribution, for cross-checks."""

from __future__ import annotations

from hush_core.accounting.bounds import Bound, check_mechanism
from hush_core.accounting.dp.differential_privacy import privacy_profile
from hush_core.accounting.participation import Participation
from hush_core.errors import InputError


def second_route(
    participation: Participation,
    *,
    noise_multiplier: float,
    rounds: int,
    prior: float,
    step: float | None = None,
) -> Bound:
    """An upper bound on the posterior by dp_accounting: min over v of e^v·p + δ(v). Seconds a call.

    It shares no numerics with `blow_up` (accounting/differential_privacy.py has them).

    Args:
        step: the discretisation of one round's loss; by default it shrinks with √T.

    Raises:
        InputError: an argument out of range.
        CertificationError: the pair is out of dp_accounting's reach; nothing is returned in its place.
    """
    check_mechanism(noise_multiplier=noise_multiplier, rounds=rounds)
    if not 0 < prior < 1:
        raise InputError("prior", "does not lie strictly between 0 and 1", "give the best blind guess")
    profile = privacy_profile(
        participation, noise_multiplier=noise_multiplier, rounds=rounds, resolution=prior, step=step
    )
    return profile.posterior(prior)
