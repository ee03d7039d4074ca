"""The statistical audits: a right mechanism passes, broken ones do not; a result says what it could have shown."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from hush_core.accounting import Participation, posterior_bound
from hush_core.auditing.intervals import share_at_least, share_at_most
from hush_core.errors import InputError
from hush_core.training import clipped_gradient_sum
from hush_core.training.noise import add_noise
from hush_core.training.placement import longest_input
from hush_core.training.rounds import fixed_batches
from hush_core.training.sampler import WeightedPoissonSampler
from lab.code_audit.parts import small_model
from lab.statistical_audits import LowerBound, named_in_runs, one_run, repeated_runs
from lab.statistical_audits.battery import Mechanism, statistical_audits
from lab.statistical_audits.gradient_game import clipped_gradients, guess_secret
from lab.statistical_audits.intervals import mean_at_least, mean_at_most

NAMES = [
    "one shot, final model", "one shot, all iterates", "one run", "one run, f-DP", "repeated runs", "named in runs",
]  # fmt: skip


def refuted(**broken):
    return {row.name for row in statistical_audits(mechanism=Mechanism(**broken)) if row.outcome == "refuted"}


@pytest.mark.slow
def test_the_installation_as_it_is_is_refuted_by_none_and_each_says_how_far_it_could_see():
    rows = statistical_audits()
    assert [row.name for row in rows] == NAMES
    assert all(row.shown.value <= min(row.certified, row.shown.ceiling) for row in rows)
    by_name = {row.name: row for row in rows}
    assert by_name["one run"].outcome == "cannot tell", "4,000 coins show 1.9 at most"
    assert by_name["named in runs"].outcome == "passed" and by_name["named in runs"].shown.value > 0.75
    assert by_name["one shot, final model"].shown.value > 0.75 * by_name["one shot, final model"].certified


def scaled(factor):
    def add(total, noise, counter, *, scale, clip_norm):
        add_noise(total, noise, counter, scale=factor * scale, clip_norm=clip_norm)

    return add


class Everybody(WeightedPoissonSampler):
    """Draws everyone in every round."""

    def __init__(self, rates, *, key):
        super().__init__(np.ones_like(rates), key=key)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("broken", "by"),
    [
        ({"add": scaled(2 / 3)}, {"one shot, final model", "named in runs"}),
        ({"add": scaled(1 / 2)}, {"one shot, final model", "one shot, all iterates", "named in runs"}),
        ({"sampler": Everybody}, {"named in runs"}),
    ],
)
def test_what_is_broken_is_refuted_by_those_that_can_see_it(broken, by):
    assert by <= refuted(**broken)


@pytest.mark.parametrize(
    ("value", "ceiling", "certified", "verdict"),
    [(3.0, 5.0, 2.0, "refuted"), (1.0, 5.0, 2.0, "passed"), (1.0, 2.0, 2.0, "cannot tell"),
     (3.5, 3.5, 8.0, "cannot tell")],
)  # fmt: skip
def test_verdicts(value, ceiling, certified, verdict):
    found = LowerBound(value, 0.95, ceiling, "test", "epsilon")
    assert found.verdict(certified) == verdict
    assert ("passed" in found.in_words(certified)) == (verdict == "passed")
    assert f"{ceiling:.4g}" in found.in_words(certified)


def test_a_hundred_right_guesses_of_a_hundred_cannot_refute_eight():
    found = one_run(right=100, guesses=100, canaries=100)
    assert found.value == found.ceiling == pytest.approx(3.493, abs=1e-3)
    assert found.verdict(8.0) == "cannot tell" and found.verdict(3.4) == "refuted"
    assert "passed" not in found.in_words(8.0)


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


MODEL, RATE, ROUNDS = small_model(), 0.5, 3

VALUES = [
    b"password = " + np.random.default_rng(i).integers(97, 123, 8, dtype=np.uint8).tobytes() for i in range(8)
]


def named(sigma, games):
    return sum(
        guess_secret(
            MODEL, VALUES, rate=RATE, noise_multiplier=sigma, rounds=ROUNDS, clip_norm=1.0,
            learning_rate=0.05, seed=seed,
        )
        for seed in range(games)
    )  # fmt: skip


def certified(sigma):
    k = Participation.binomial(1, RATE)
    return posterior_bound(k, noise_multiplier=sigma, rounds=ROUNDS, prior=1 / 8, method="blow_up").value


def test_gradients_are_those_that_training_clips():
    found = clipped_gradients(MODEL, VALUES, 0.7)
    for row, value in zip(found[:3], VALUES, strict=False):
        shown = [MODEL.objective.show(MODEL.encode([value])[0][0], np.random.default_rng(0))]
        (batch,) = fixed_batches([shown], MODEL.objective, 1, longest_input(MODEL))
        real = clipped_gradient_sum(MODEL.network, batch, losses=MODEL.losses, clip_norm=0.7).gradients
        other = torch.cat([real[name].flatten() for name, _ in MODEL.network.named_parameters()])
        assert float((row - other).norm()) < 1e-3
    assert float(found.norm(dim=1).max()) <= 0.7 + 1e-9


@pytest.mark.slow
def test_success_lies_below_the_certificate_and_refutes_that_of_more_noise():
    """25 games at σ = 0.2. Where the secret was never drawn, one time in eight, the guess is blind."""
    before = [p.clone() for p in MODEL.network.parameters()]
    found = named_in_runs(named=named(0.2, 25), runs=25, confidence=0.999)
    assert all(torch.equal(p, q) for p, q in zip(MODEL.network.parameters(), before, strict=True))
    assert found.verdict(certified(0.2)) != "refuted"
    assert found.verdict(certified(1.0)) == "refuted"


@pytest.mark.slow
def test_drowned_gradients_tell_nothing():
    """20 blind guesses among 8: more than 10 right has a probability below 1e-5."""
    assert named(20.0, 20) <= 10
