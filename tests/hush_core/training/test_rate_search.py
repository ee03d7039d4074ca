"""The rehearsal: the plan's own noise on public text, the better rate wins, and nothing is released."""

import numpy as np
import polars as pl
import pytest
from private_runs import tiny

from hush_core.config import TrainConfig
from hush_core.errors import InputError
from hush_core.plan import ProtectionPlan
from hush_core.training import RateTrial, best_rate, split_public, try_rate

PUBLIC = [bytes([97 + i % 3]) * (5 + i % 20) for i in range(60)]


def make_plan(noise=0.3, batch=16):
    return ProtectionPlan(np.full(200, 0.08), noise, 30, batch, 1.0, "best", pl.DataFrame())


def play(rate, folder, plan=None, progress=None):
    model = tiny()
    settings = TrainConfig(rounds=30, batch=16, learning_rate=rate)
    return try_rate(plan or make_plan(), PUBLIC[:50], PUBLIC[50:], model, settings, folder, progress)


@pytest.mark.slow
def test_the_better_rate_wins(tmp_path):
    done = [play(rate, tmp_path / str(rate)) for rate in (1e-6, 1e-2, 30.0)]
    assert best_rate(done) == 1e-2
    assert done[1].loss < done[0].loss - 0.5
    rounds, losses = zip(*done[1].curve, strict=True)
    assert len(rounds) == 30 and losses[-1] == pytest.approx(done[1].loss) and losses[-1] < losses[0]


@pytest.mark.slow
def test_the_noise_of_the_plan_is_in_it(tmp_path):
    told = []
    quiet = play(1e-2, tmp_path / "a", progress=lambda *step: told.append(step))
    assert told[-1] == ("rehearsal at 0.01", 30, 30)
    loud = play(1e-2, tmp_path / "b", make_plan(noise=300.0))
    assert quiet.loss < loud.loss - 0.3


def test_fewer_public_texts_than_a_batch_keep_the_noise_to_batch_ratio():
    plan = make_plan(noise=4.0, batch=16)
    small, large = plan.for_public(8), plan.for_public(64)
    assert (small.expected_batch, small.noise_multiplier) == (8, 2.0) and np.all(small.rates == 1)
    assert (large.expected_batch, large.noise_multiplier) == (16, 4.0) and np.all(large.rates == 0.25)
    assert (small.rounds, small.clip_norm) == (plan.rounds, plan.clip_norm)


def test_diverged_rates_lose_and_if_all_do_it_is_said():
    lost, kept = RateTrial(1.0, None, ()), RateTrial(0.1, 3.0, ())
    assert best_rate([lost, kept, RateTrial(0.2, 3.0, ())]) == 0.1
    with pytest.raises(InputError, match="every rate diverged"):
        best_rate([lost])


def test_without_public_text_it_is_refused(tmp_path):
    model = tiny()
    with pytest.raises(InputError, match="40 public"):
        try_rate(make_plan(), [], [], model, TrainConfig(rounds=2, batch=2), tmp_path)


def test_public_texts_are_split_once_for_all():
    training, measured = split_public(PUBLIC)
    assert len(training) + len(measured) == 60 and len(measured) == 20
    many = [str(i).encode() for i in range(20_000)]
    training, measured = split_public(many)
    assert len(measured) == 400 and not set(training) & set(measured)
    assert split_public(PUBLIC[:39]) == (PUBLIC[:39], [])
