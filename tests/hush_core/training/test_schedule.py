"""What a run decides by itself: rates by the number of the release, stops by public losses; the rate search."""

import itertools

import numpy as np
import pytest
from private_runs import TEXTS, tiny, uncertified

from hush_core.config import EarlyStopping, TrainConfig
from hush_core.errors import InputError
from hush_core.training import OtherTexts, RateTrial, best_rate, fit_private, split_public, try_rate
from hush_core.training.schedule import learning_rate_at, should_stop


def settings(**more):
    return TrainConfig(**{"rounds": 10, "batch": 4, "learning_rate": 0.5, **more})


def test_schedules_warm_up_and_fall():
    rates = [learning_rate_at(k, settings(warmup_rounds=4), 10) for k in range(10)]
    assert rates == [0.125, 0.25, 0.375, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    linear = [learning_rate_at(k, settings(schedule="linear"), 10) for k in range(10)]
    np.testing.assert_allclose(linear, 0.5 * (1 - np.arange(10) / 10))
    cosine = [learning_rate_at(k, settings(schedule="cosine", warmup_rounds=2), 10) for k in range(10)]
    assert cosine[:3] == [0.25, 0.5, 0.5] and all(a > b > 0 for a, b in itertools.pairwise(cosine[2:]))
    with pytest.raises(InputError, match="names several rates"):
        learning_rate_at(0, settings(learning_rate=(0.1, 0.2)), 10)


def rows(*losses):
    return [
        {"round": k} if loss is None else {"round": k, "public_loss": loss} for k, loss in enumerate(losses)
    ]


@pytest.mark.parametrize(
    ("losses", "stops"),
    [
        ((), False),
        ((3.0, 2.9, 2.8), False),
        ((3.0, None, 3.1, None, 3.2), True),
        ((3.0, 3.1, 2.5), False),
        ((3.0, 2.95, 2.91), True),  # better, but by less than min_delta
        ((3.0, float("nan"), float("nan")), True),
    ],
)
def test_it_stops_after_patience_evaluations_without_a_new_best(losses, stops):
    assert should_stop(rows(*losses), EarlyStopping(patience=2, min_delta=0.1)) is stops
    assert not should_stop(rows(*losses), None)


def make_plan(rounds=30):
    return uncertified(np.full(40, 0.1), 1e-3, rounds, 4)


def test_a_run_stops_on_public_loss_keeps_its_count_and_does_not_go_on(tmp_path):
    """A rate of almost 0 brings nothing: stopped at the third evaluation, and a resume adds no release."""
    config = settings(
        rounds=30,
        learning_rate=1e-12,
        evaluate_every=4,
        early_stopping=EarlyStopping(patience=2, min_delta=0.01),
    )
    fitted = fit_private(make_plan(), TEXTS, tiny(), config, tmp_path, others=OtherTexts(public=TEXTS[:5]))
    assert fitted.rounds_released == fitted.rounds_applied == 12
    assert [row["round"] for row in fitted.log if "public_loss" in row] == [3, 7, 11]
    again = fit_private(make_plan(), TEXTS, tiny(), config, tmp_path, others=OtherTexts(public=TEXTS[:5]))
    assert again.rounds_released == 12 and again.resumed
    assert len((tmp_path / "releases.jsonl").read_bytes().splitlines()) == 13
    with pytest.raises(InputError, match="40 public"):
        fit_private(make_plan(), TEXTS, tiny(), config, tmp_path)


PUBLIC = [bytes([97 + i % 3]) * (5 + i % 20) for i in range(60)]


def searched_plan(noise=0.3, batch=16):
    return uncertified(np.full(200, 0.08), noise, 30, batch)


def play(rate, folder, plan=None, progress=None):
    model = tiny()
    settings = TrainConfig(rounds=30, batch=16, learning_rate=rate)
    return try_rate(plan or searched_plan(), PUBLIC[:50], PUBLIC[50:], model, settings, folder, progress)


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
    loud = play(1e-2, tmp_path / "b", searched_plan(noise=300.0))
    assert quiet.loss < loud.loss - 0.3


def test_fewer_public_texts_than_a_batch_keep_the_noise_to_batch_ratio():
    plan = searched_plan(noise=4.0, batch=16)
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
        try_rate(searched_plan(), [], [], model, TrainConfig(rounds=2, batch=2), tmp_path)


def test_public_texts_are_split_once_for_all():
    training, measured = split_public(PUBLIC)
    assert len(training) + len(measured) == 60 and len(measured) == 20
    many = [str(i).encode() for i in range(20_000)]
    training, measured = split_public(many)
    assert len(measured) == 400 and not set(training) & set(measured)
    assert split_public(PUBLIC[:39]) == (PUBLIC[:39], [])
