"""What dp_accounting 0.6.0 does wrong for a mixture of Gaussians without connect-the-dots, in small cases.

It looks for the point of a given loss between those of the least and of the largest sensitivity alone. The
mixture's own point lies outside where the components between the two are the heavy ones, and the more so the
further K goes. Buckets of large loss then get too little mass, and a "pessimistic" δ is below the true one.
Connect-the-dots asks for many losses at once, down to the least; there the interval holds them all.
"""

from importlib.metadata import version

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld import privacy_loss_mechanism as mechanism
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr
from scipy.stats import binom

from hush_core.accounting import Participation
from hush_core.accounting.kl import kl_divergence
from hush_core.accounting.mixture import DominatingPair

pytestmark = pytest.mark.slow

COUNT, RATE, SIGMA, EPSILON = 100, 2048 / 1.2e6, 3.0024, 0.05
MENDED = "dp_accounting was mended; the note in docs/mathematics.md can go"


def law_of_k(largest):
    """P(K > 15) is 2e-26 already: the exact values do not depend on where K ends, only the library's do."""
    counts = np.arange(largest + 1)
    law = binom.pmf(counts, COUNT, RATE)
    return counts, law / law.sum()


def one_round(sigma, *, dots, step, largest=15):
    counts, law = law_of_k(largest)
    loss = mechanism.MixtureGaussianPrivacyLoss(
        sigma, counts.astype(float), law, adjacency_type=mechanism.AdjacencyType.REMOVE
    )
    return pld._create_pld_pmf_from_monotone_privacy_loss(
        loss, pessimistic_estimate=True, value_discretization_interval=step, use_connect_dots=dots
    )


def mean_loss(masses):
    """Mean of one round's loss under P; with the infinite loss left out, so a lower bound on it."""
    dense = masses.to_dense_pmf()
    return float(dense._probs @ (dense._lower_loss + np.arange(dense.size))) * dense._discretization


def exact_delta():
    """P(L > ε) − e^ε·Q(L > ε): L increases in x, so both are normal CDFs, weighted by the binomial."""
    counts, law = law_of_k(15)

    def excess(x):
        return logsumexp((counts * x - counts**2 / 2) / SIGMA**2, b=law) - EPSILON

    x = brentq(excess, 0, 50, xtol=1e-14)
    return float(law @ ndtr((counts - x) / SIGMA) - np.exp(EPSILON) * ndtr(-x / SIGMA))


def test_the_version_these_notes_are_about():
    assert version("dp-accounting") == "0.6.0", (
        "look again at the notes on dp_accounting in docs/mathematics.md"
    )


def test_without_connect_the_dots_delta_is_below_the_truth():
    exact = exact_delta()
    assert exact == pytest.approx(0.0082, abs=5e-5)
    buckets = one_round(SIGMA, dots=False, step=1e-3).get_delta_for_epsilon(EPSILON)
    assert buckets < 0.9 * exact, MENDED
    assert buckets == pytest.approx(0.0069, abs=1e-4)


def test_with_connect_the_dots_delta_is_above_the_truth_and_close():
    exact = exact_delta()
    dots = one_round(SIGMA, dots=True, step=1e-3).get_delta_for_epsilon(EPSILON)
    assert exact * (1 - 1e-12) <= dots <= exact * 1.001


def test_without_connect_the_dots_the_mean_is_below_the_kl_divergence():
    """2000 rounds: 0.26 where the KL is 3.41."""
    exact = 2000 * kl_divergence(DominatingPair(Participation.binomial(COUNT, RATE).distribution, SIGMA))
    assert exact == pytest.approx(3.41, abs=0.01)
    assert 2000 * mean_loss(one_round(SIGMA, dots=True, step=1e-3)) == pytest.approx(exact, rel=1e-3)
    buckets = 2000 * mean_loss(one_round(SIGMA, dots=False, step=4.5e-4, largest=23))
    assert buckets < 0.5 * exact, MENDED
    assert buckets == pytest.approx(0.26, abs=0.02)


def test_without_connect_the_dots_a_divergence_comes_out_negative():
    """No rounding upwards can do that: a KL divergence is at least 0, here 0.05."""
    exact = 2000 * kl_divergence(DominatingPair(Participation.binomial(COUNT, RATE).distribution, 24.2))
    assert exact == pytest.approx(0.05, abs=0.001)
    assert 2000 * mean_loss(one_round(24.2, dots=False, step=1e-4, largest=100)) < -0.1, MENDED
