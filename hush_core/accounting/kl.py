"""The paper's certificate: T·KL(P‖Q) ≤ KL(Bern(r)‖Bern(p)) (Hush! §3.3–4, Lemma 3.2 with f(y) = y·log y)."""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from hush_core.accounting.bernoulli import largest_posterior, log_kl_gauge, target_kl
from hush_core.accounting.mixture import TAIL, DominatingPair

_ROUND_OFF = 1e-9
"""Relative; losses, weights and the sum are good to about 1e-12."""


def kl_divergence(pair: DominatingPair) -> float:
    """KL(P‖Q) of one round in nats, from above: ∫ Q·(e^L·L − e^L + 1) dx by the trapezoid rule, all terms ≥
    0."""
    low, high = -TAIL * pair.sigma, pair.last + TAIL * pair.sigma
    x, loss = pair.uniform(low, high, pair.fine_step, np.zeros(1))
    step = (high - low) / len(x)
    inner = float(np.exp(pair.log_q(x[:, 0]) + log_kl_gauge(loss[:, 0])).sum() * step)
    # below `low` the gauge is at most 1; above `high`, L ≤ k·x/σ² and P's mass falls as a Gaussian's
    slope = pair.last / pair.sigma**2
    outer = ndtr(-TAIL) * (1 + slope * (pair.last + (TAIL + 1) * pair.sigma))
    # the end cells of the trapezoid rule lie where the integrand is below `outer`
    return inner * (1 + _ROUND_OFF) + (2 * float(outer) if pair.last else 0.0)


def posteriors_from_kl(budget: float, priors: np.ndarray) -> np.ndarray:
    """The r ≥ p with KL(Bern(r)‖Bern(p)) = budget, from above, for every prior."""
    found = largest_posterior(lambda gap: target_kl(priors, np.minimum(priors + gap, 1.0)) >= budget, priors)
    return np.where(budget >= -np.log(priors), 1.0, found)


def kl_posteriors(parts: Sequence[tuple[DominatingPair, int]], priors: np.ndarray) -> np.ndarray:
    """The posteriors that so many rounds of these pairs allow at most, by KL, for every prior (k,)."""
    if sum(rounds * pair.mean**2 / (2 * pair.sigma**2) for pair, rounds in parts) >= -np.log(priors.min()):
        return np.ones(len(priors))  # Donsker–Varadhan: KL ≥ E[K]²/2σ², which already allows everything
    return posteriors_from_kl(sum(rounds * kl_divergence(pair) for pair, rounds in parts), priors)
