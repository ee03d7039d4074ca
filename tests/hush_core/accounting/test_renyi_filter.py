"""The Rényi filter: budgets against bounds, what adaptive choices can reach, and where the tight product fails."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from hush_core.accounting import (
    Participation,
    Run,
    bound_of_runs,
    budget,
    posterior_bound,
    spent,
)
from hush_core.accounting.renyi import posterior_by_lemma
from hush_core.errors import InputError
from hush_core.history.filtered import filter_order

SURE = Participation.binomial(1, 1.0)

PAPER = Participation.binomial(100, 2048 / 1.2e6)


def filter_bound(prior, order, spent):
    """The posterior that `spent` nats at this order allow at most (Lemma 3.2)."""
    found = posterior_by_lemma(np.array([spent]), np.array([order]), np.array([prior]))
    return float(found[0]) if spent > 0 else prior


def test_spent_of_a_gaussian_has_a_closed_form():
    for order in (1.5, 4.0, 30.0):
        runs = [Run(SURE, 20.0, 100), Run(SURE, 7.0, 3)]
        exact = order * (order - 1) / 2 * (100 / 20**2 + 3 / 7**2)
        assert exact <= spent(runs, order) <= exact * (1 + 1e-6)
    assert spent([], 2.0) == 0.0


@pytest.mark.parametrize("prior, target", [(1e-10, 2e-4), (1e-3, 0.4), (0.2, 0.9)])
@pytest.mark.parametrize("order", [1.2, 3.0, 40.0])
def test_a_budget_is_what_the_bound_allows(prior, target, order):
    allowed = budget(prior, target, order)
    assert filter_bound(prior, order, allowed) <= target
    assert filter_bound(prior, order, allowed * (1 + 1e-6)) > target * (1 - 1e-6)
    assert filter_bound(prior, order, 0.0) == prior
    # the definition, in plain numbers
    moment = np.logaddexp(
        order * np.log(target) + (1 - order) * np.log(prior),
        order * np.log1p(-target) + (1 - order) * np.log1p(-prior),
    )
    assert allowed == pytest.approx(moment, rel=1e-6)


PRIOR = 1e-4

X = np.linspace(-12, 16, 1401)

Q = np.exp(-(X**2) / 2) / np.sqrt(2 * np.pi) * (X[1] - X[0])


def laws(mu, rare):
    """Losses and Q-masses of N(μ, 1), and of (1 − q)·N(0, 1) + q·N(5, 1), against N(0, 1)."""
    first, many = mu[0] * X - mu[0] ** 2 / 2, mu[1] * X - mu[1] ** 2 / 2
    few = np.log1p(rare * np.expm1(np.minimum(5 * X - 12.5, 600)))
    return first, many, few


def hockey_sticks(first, second, thresholds):
    """E(R₁·G − λ)₊ given R₁, by R₁ (rows) and λ."""
    ratio = np.exp(second)
    order = np.argsort(ratio)
    ratio, mass = ratio[order], Q[order]
    p_above = np.append(np.cumsum((ratio * mass)[::-1])[::-1], 0.0)
    q_above = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
    own = np.exp(first)
    place = np.searchsorted(ratio, thresholds[None, :] / own[:, None], side="right")
    return own[:, None] * p_above[place] - thresholds * q_above[place]


def posterior(sticks, thresholds):
    return float(np.min(thresholds * PRIOR + Q @ sticks))


def test_a_choice_by_the_first_run_beats_the_product():
    """Both products give r; whoever chooses the second run by the first one's loss is right more often than r. The
    filter's bound at an order fixed before, for what either spends, is above that.

    For each λ the better run is taken for each R₁; by the minimax theorem one (randomised) choice reaches the least
    over λ of that.
    """
    thresholds = np.geomspace(0.1, 1e6, 161)
    mu, low, high = (1.0, 1.0), 0.0, 0.5
    first, many, _ = laws(mu, 0.0)
    by_many = posterior(hockey_sticks(first, many, thresholds), thresholds)
    assert by_many == pytest.approx(float(ndtr(ndtri(PRIOR) + np.sqrt(2))), rel=1e-3)
    for _ in range(24):
        rare = (low + high) / 2
        by_few = posterior(hockey_sticks(first, laws(mu, rare)[2], thresholds), thresholds)
        low, high = (rare, high) if by_few < by_many else (low, rare)
    assert by_few == pytest.approx(by_many, rel=1e-5)
    few = laws(mu, rare)[2]
    both = np.maximum(*(hockey_sticks(first, second, thresholds) for second in (many, few)))
    chosen = posterior(both, thresholds)
    assert chosen > by_many * 1.02
    # one order for all: e^M at most the larger of the two, by plain sums
    for order in (1.5, 2.0, 3.0):
        moments = [np.log(Q @ np.exp(order * own)) for own in (first, many, few)]
        assert filter_bound(PRIOR, order, moments[0] + max(moments[1:])) >= chosen


def test_spending_less_or_more_than_the_budget():
    """The number of rounds that a budget allows: one more breaks it."""
    order = filter_order(1e-10, 2e-4)
    allowed = budget(1e-10, 2e-4, order)
    one = spent([Run(PAPER, 4.0, 1)], order)
    rounds = int(allowed / one)
    assert filter_bound(1e-10, order, spent([Run(PAPER, 4.0, rounds)], order)) <= 2e-4
    assert filter_bound(1e-10, order, spent([Run(PAPER, 4.0, rounds + 1)], order)) > 2e-4
    tight = posterior_bound(PAPER, noise_multiplier=4.0, rounds=rounds, prior=1e-10, method="blow_up")
    assert tight.value < 2e-4


def test_refusals():
    for order in (1.0, 0.5, float("inf"), float("nan")):
        with pytest.raises(InputError, match="order"):
            spent([Run(PAPER, 4.0, 1)], order)
    with pytest.raises(InputError):
        budget(0.1, 0.05, 2.0)


VALUES, SIGMA, GAMES = 20, 1 / 1.5, 200_000

ERROR = 5 * 0.5 / np.sqrt(GAMES)


def certified(runs, prior=1 / VALUES):
    run = Run(Participation.binomial(1, 1.0), SIGMA, 1)
    return bound_of_runs([run] * runs, prior=prior, method="blow_up").value


@pytest.fixture(scope="module")
def releases():
    """Of two runs, (games, values) each; value 0 is the true one."""
    one, two = np.random.default_rng(5).normal(size=(2, GAMES, VALUES))
    one[:, 0] += 1 / SIGMA
    two[:, 0] += 1 / SIGMA
    return one, two


def named(scores):
    return scores.argmax(1) == 0


def test_without_an_audit_the_best_guess_is_within_the_bound(releases):
    one, two = releases
    assert named(one).mean() <= certified(1) - ERROR
    assert named(one + two).mean() <= certified(2) - ERROR


def test_what_follows_from_an_audit_tells_more_than_what_was_released(releases):
    """The audit: does the true value rank first? What is done next follows from it, and tells nothing else (another
    strength of a run that shows nothing, say): who sees it takes the first of the ranking, or the second."""
    one, _ = releases
    told = named(one) | (np.argsort(one, 1)[:, -2] == 0)
    assert told.mean() > certified(1) + ERROR
    assert told.mean() <= certified(1, 2 / VALUES) - ERROR, "(b): two answers, twice the prior"


def test_a_promise_that_ends_keeps_the_bound_of_every_run_that_was_made(releases):
    """The second run is made unless the first audit refutes. (a): right AND made is within the bound of both. Given
    that it was made, or with the end itself for a clue, it need not be: (b) says how much that is."""
    one, two = releases
    refuted = named(one)
    for made in (refuted, ~refuted):  # whichever way an audit decides
        assert (named(one + two) & made).mean() <= certified(2) - ERROR
    assert named(one + two)[refuted].mean() > certified(2) + ERROR
    others = np.where(np.arange(VALUES) == one.argmax(1)[:, None], -np.inf, one + two)
    in_all = np.where(refuted, True, named(others))
    assert in_all.mean() > certified(2) + ERROR
    assert in_all.mean() <= certified(2, 2 / VALUES) - ERROR
