"""A result says what it could have shown, and "passed" only where that is more than what is certified."""

import math

import numpy as np
import pytest
from scipy import stats

from hush_core.auditing.intervals import share_at_least, share_at_most
from hush_core.errors import InputError
from lab.statistical_audits import LowerBound, named_in_runs, one_run, repeated_runs
from lab.statistical_audits.intervals import mean_at_least, mean_at_most


@pytest.mark.parametrize(
    ("value", "ceiling", "certified", "verdict"),
    [(3.0, 5.0, 2.0, "refuted"), (1.0, 5.0, 2.0, "passed"), (1.0, 2.0, 2.0, "cannot tell"),
     (3.5, 3.5, 8.0, "cannot tell")],
)  # fmt: skip
def test_verdicts(value, ceiling, certified, verdict):
    found = LowerBound(value, 0.95, ceiling, "test", "epsilon")
    assert found.verdict(certified) == verdict
    assert ("passed" in found.told(certified)) == (verdict == "passed")
    assert f"{ceiling:.4g}" in found.told(certified)


def test_a_hundred_right_guesses_of_a_hundred_cannot_refute_eight():
    found = one_run(right=100, guesses=100, canaries=100)
    assert found.value == found.ceiling == pytest.approx(3.493, abs=1e-3)
    assert found.verdict(8.0) == "cannot tell" and found.verdict(3.4) == "refuted"
    assert "passed" not in found.told(8.0)


def test_ceilings_of_repeated_runs():
    found = repeated_runs(detected_with=10, runs_with=20, detected_without=10, runs_without=20)
    assert found.value == 0
    # 20 of 20 and 0 of 20 at 2.5 % each: Clopper–Pearson has closed forms
    edge = 0.025 ** (1 / 20)
    assert found.ceiling == pytest.approx(math.log(edge / (1 - edge)))
    named = named_in_runs(named=0, runs=30)
    assert named.value == 0 and named.ceiling == pytest.approx(0.05 ** (1 / 30))


def test_repeated_runs_looks_at_misses_too():
    """Few misses at some false alarms show more than the alarms do."""
    found = repeated_runs(detected_with=1000, runs_with=1000, detected_without=500, runs_without=1000)
    assert found.value > math.log(0.45 / 0.005)


@pytest.mark.parametrize(
    "call",
    [
        lambda: one_run(right=3, guesses=2, canaries=5),
        lambda: one_run(right=0, guesses=0, canaries=5),
        lambda: one_run(right=1, guesses=2, canaries=5, confidence=1.0),
        lambda: named_in_runs(named=3, runs=2),
        lambda: repeated_runs(detected_with=1, runs_with=0, detected_without=0, runs_without=1),
    ],
)
def test_counts_that_do_not_fit_are_refused(call):
    with pytest.raises(InputError):
        call()


@pytest.mark.parametrize("p", [0.002, 0.1, 0.7])
@pytest.mark.parametrize("n", [30, 400])
def test_intervals_miss_no_more_often_than_said(n, p):
    """Over all outcomes of a coin, exactly: no simulation."""
    k = np.arange(n + 1)
    mass, alpha = stats.binom.pmf(k, n, p), 0.05
    for lower, upper in (
        ([share_at_least(i, n, alpha) for i in k], [share_at_most(i, n, alpha) for i in k]),
        ([mean_at_least(i / n, n, alpha) for i in k], [mean_at_most(i / n, n, alpha) for i in k]),
    ):
        assert mass[np.array(lower) > p].sum() <= alpha
        assert mass[np.array(upper) < p].sum() <= alpha
        assert np.all(np.array(lower) <= k / n + 1e-12) and np.all(np.array(upper) >= k / n - 1e-12)
    # and hardly wider than need be: Chernoff's against the exact one
    assert mean_at_most(0.1, 400, alpha) < 1.1 * share_at_most(40, 400, alpha) + 0.01
