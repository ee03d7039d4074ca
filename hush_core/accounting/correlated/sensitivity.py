"""What a secret can move of the correlated rounds, and the posterior that follows: exactly, without sampling.

    counts = participations(groups, edges, period=20, n_secrets=m)           # (m, 20) items of each secret a group
    moved = sensitivities(strategy, counts, rounds=1000)                     # (m,), in clip norms
    gaussian_posteriors(priors, moved / noise_multiplier)                    # (m,) certified bounds

Items are drawn by a public schedule: item i belongs to group g_i < b and takes part in the rounds t ≡ g_i (mod b).
So two rounds of one item are at least b apart, and b is at least the strategy's number of bands. The proofs are in
docs/mathematics.md §9.
"""

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from hush_core.accounting.correlated.strategy import Strategy
from hush_core.errors import InputError

LEAST_PRIOR = 1e-30
ROUND_OFF = 1e-9
"""Relative: above what ndtri and ndtr may be off for priors from 1e-30 on; added to every bound."""
_AT_ONCE = 1 << 24
"""Numbers held of the (secrets × rounds) matrix at once."""


def participations(groups: np.ndarray, edges: pl.DataFrame, *, period: int, n_secrets: int) -> np.ndarray:
    """(m, period) int64: how many items of each secret take part in the rounds of each group.

    Args:
        groups: (n,) by item, in [0, period); −1 for an item that takes no part. edges: example_id (the item),
            secret_id, unique.

    Raises:
        InputError: a group outside of [−1, period), or an edge to an unknown item or secret.
    """
    groups = np.asarray(groups, dtype=np.int64)
    if len(groups) and not -1 <= groups.min() <= groups.max() < period:
        raise InputError("groups", f"lie outside of 0 to {period - 1}", "assign each item to one of them")
    items, secrets = edges["example_id"].to_numpy(), edges["secret_id"].to_numpy()
    if len(items) and (items.max() >= len(groups) or secrets.max() >= n_secrets):
        raise InputError("edges", "name an unknown item or secret", "extract again")
    drawn = groups[items] >= 0
    counts = np.zeros((n_secrets, period), dtype=np.int64)
    np.add.at(counts, (secrets[drawn], groups[items[drawn]]), 1)
    return counts


def sensitivities(strategy: Strategy, counts: ArrayLike, rounds: int) -> np.ndarray:
    """(m,): the most, in clip norms, by which replacing a secret's items by zero moves all released rows together.

    Args:
        counts: (m, b) items of each secret in each group; round t draws group t mod b.

    Raises:
        InputError: the strategy has more bands than there are groups.

    Guarantee: ‖C·u‖₂, u_t the number of the secret's items in round t. No gradients of norm at most 1 an item move
    the rows further, even chosen round by round after all earlier releases, as the coefficients are not negative.
    Equal gradients move them so far (Propositions C1 and C2).
    """
    counts = np.atleast_2d(np.asarray(counts, dtype=np.float64))
    period = counts.shape[1]
    if strategy.bands > period:
        raise InputError(
            "mechanism.bands",
            f"{strategy.bands} are more than the {period} groups",
            "give at most as many, or a smaller train.batch: so many items make a group",
        )
    from scipy.signal import lfilter

    different, place = np.unique(counts, axis=0, return_inverse=True)
    found = np.empty(len(different))
    step = max(1, _AT_ONCE // max(rounds, 1))
    repeats = -(-rounds // period)
    for first in range(0, len(different), step):
        drawn = np.tile(different[first : first + step], repeats)[:, :rounds]
        rows = lfilter(strategy.coefficients, [1.0], drawn, axis=1)
        found[first : first + step] = np.linalg.norm(rows, axis=1)
    return found[place.ravel()] * (1 + ROUND_OFF)


def gaussian_posteriors(priors: ArrayLike, shift: ArrayLike) -> np.ndarray:
    """Φ(Φ⁻¹(p) + s): nobody who sees N(0, I) moved by at most s in all names the right candidate more often.

    Args:
        priors: (m,) in [1e-30, 1). shift: (m,) ≥ 0, sensitivity over noise multiplier.

    Raises:
        InputError: a prior or a shift outside of that.

    Guarantee: an upper bound, round-off included, and tight: the likelihood-ratio test reaches it.
    """
    p, s = np.broadcast_arrays(np.asarray(priors, np.float64), np.asarray(shift, np.float64))
    if not np.all((p >= LEAST_PRIOR) & (p < 1)):
        raise InputError(
            "prior", f"is not in [{LEAST_PRIOR:g}, 1)", "raise it: a larger prior is on the safe side"
        )
    if not np.all((s >= 0) & np.isfinite(s)):
        raise InputError("shift", "is negative or not finite", "give sensitivity / noise multiplier")
    quantile = ndtri(p) + s
    value = np.where(quantile < -5, np.exp(log_ndtr(np.minimum(quantile, -5))), ndtr(quantile))
    return np.where(s == 0, p, np.minimum(np.maximum(value, p) * (1 + ROUND_OFF), 1.0))


def smallest_noise_multiplier(priors: ArrayLike, targets: ArrayLike, sensitivity: ArrayLike) -> float:
    """The least σ for which every `gaussian_posteriors(p, s/σ)` is at most its target, in closed form.

    Raises:
        InputError: a target that is not above its prior.
    """
    p, r, s = (np.asarray(each, np.float64) for each in (priors, targets, sensitivity))
    if not np.all((p >= LEAST_PRIOR) & (p < r) & (r < 1)):
        raise InputError(
            "target", "is not above the prior, or one of them is out of range", "raise the target"
        )
    room = ndtri(r * (1 - 4 * ROUND_OFF)) - ndtri(p)
    if not np.all(room > 0):
        raise InputError("target", "is too near the prior to be distinguished from it", "raise the target")
    return float(np.max(s / room, initial=0.0)) * (1 + ROUND_OFF)
