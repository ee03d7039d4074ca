"""What a decision by an audit costs (docs/mathematics.md §8, Proposition 16): an audit knows the secret, so what
follows from it is no post-processing. One secret of twenty values; each run shows N(1/σ, 1) on the true one's
coordinate and N(0, 1) on the others. 200,000 games; every statement has a margin of five standard errors.
"""

import numpy as np
import pytest

from hush_core.accounting import Participation, Run, bound_of_runs

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
