"""The order that a rehearsal predicts is the order of the real runs, on a problem small enough for a test."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from hush_core.config import ByteGptModel, TrainConfig
from hush_core.plan import ProtectionPlan
from hush_core.rehearsal import Measured, cast, play, played_plan, untagged_texts
from hush_core.training import byte_gpt, fit_private

N, ROUNDS, BATCH = 160, 8, 8
PLANS = ((0.2, 3e-2), (0.2, 1e-2), (0.2, 1e-4), (300.0, 0.3))
"""(noise multiplier, learning rate), from the best to the worst; the gaps are far larger than the draws' luck."""


@pytest.fixture(scope="module")
def corpus():
    """(texts, edges): every second example is tagged; all are of one kind."""
    chance = np.random.default_rng(3)
    words = [b"abab", b"bcbc", b"caca"]
    texts = [b"".join(chance.choice(words, size=4)) for _ in range(N)]
    ids = list(range(0, N, 2))
    return texts, pl.DataFrame({"example_id": ids, "secret_id": [0] * len(ids)})


def fresh():
    return byte_gpt(ByteGptModel(layers=1, width=16, heads=2), 20)


@pytest.mark.slow
def test_predictions_rank_plans_as_the_real_runs_do(corpus, tmp_path):
    texts, edges = corpus
    made = cast(edges, n_examples=N, plain=False)
    acting, measured = (untagged_texts(ids, texts, edges) for ids in (made.stand_ins, made.validation))
    rates = np.zeros(N)
    rates[::2] = BATCH / (N / 2)
    tagged_apart = [texts[i] for i in range(1, N, 2)]
    predicted, real = [], []
    for place, (sigma, rate) in enumerate(PLANS):
        settings = TrainConfig(rounds=ROUNDS, batch=BATCH, learning_rate=rate)
        how = {"noise_multiplier": sigma, "rounds": ROUNDS, "expected_batch": BATCH, "clip_norm": 1.0}
        acted = played_plan(rates, len(acting), **how)
        done = play(
            acted, acting, [Measured("all", measured, 1.0)], fresh(), settings, tmp_path / f"a{place}", seed=1
        )
        predicted.append(done.loss)
        plan = ProtectionPlan(rates, sigma, ROUNDS, BATCH, 1.0, "best", pl.DataFrame())
        fitted = fit_private(plan, texts, fresh(), settings, tmp_path / f"r{place}")
        real.append(fitted.model.evaluate(tagged_apart, max_examples=N))
    assert spearmanr(predicted, real).statistic == pytest.approx(1.0), (predicted, real)
    assert spearmanr(predicted, range(len(PLANS))).statistic == pytest.approx(1.0), predicted
