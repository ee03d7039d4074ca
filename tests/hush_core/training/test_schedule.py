"""What a run decides by itself: rates by the number of the release, stops by public losses alone."""

import itertools

import numpy as np
import polars as pl
import pytest
from private_runs import TEXTS, tiny

from hush_core.config import EarlyStopping, TrainConfig
from hush_core.errors import InputError
from hush_core.plan import ProtectionPlan
from hush_core.training import OtherTexts, fit_private
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
    return ProtectionPlan(np.full(40, 0.1), 1e-3, rounds, 4, 1.0, "best", pl.DataFrame())


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
