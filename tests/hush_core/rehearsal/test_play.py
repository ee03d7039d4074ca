"""One plan played through: the run's own steps, fixed draws, stopped on the way, and never on a certified plan."""

import numpy as np
import polars as pl
import pytest

from hush_core.config import ByteGptModel, TrainConfig
from hush_core.errors import InputError
from hush_core.plan import ProtectionPlan
from hush_core.rehearsal import Measured, play, played_plan
from hush_core.training import byte_gpt, fit_private

TEXTS = [bytes([97 + i % 3]) * (5 + i % 8) for i in range(60)]
MEASURED = [Measured("validation", TEXTS[50:], 1.0)]


def played(folder, *, rate=3e-2, noise=0.3, seed=1, measured=MEASURED, told=None, **more):
    plan = played_plan(
        np.full(80, 0.2), 50, noise_multiplier=noise, rounds=8, expected_batch=16, clip_norm=1.0
    )
    model = byte_gpt(ByteGptModel(layers=1, width=16, heads=2), 32)
    settings = TrainConfig(rounds=8, batch=16, learning_rate=rate, **more)
    return play(plan, TEXTS[:50], measured, model, settings, folder, seed=seed, told=told)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_losses_and_another_seed_others(tmp_path):
    first, again, other = (played(tmp_path / n, seed=s) for n, s in (("a", 1), ("b", 1), ("c", 2)))
    assert first == again and first.loss is not None and not first.stopped
    assert first.loss != other.loss
    steps, losses = zip(*first.curve, strict=True)
    assert steps == tuple(range(1, 9)) and losses[-1] == first.loss < losses[0]


def test_noise_and_rate_are_felt(tmp_path):
    quiet, loud, slow = (
        played(tmp_path / n, **how) for n, how in (("a", {}), ("b", {"noise": 100.0}), ("c", {"rate": 1e-6}))
    )
    assert quiet.loss < min(loud.loss, slow.loss) - 0.2


def test_it_ends_where_it_is_told_to(tmp_path):
    heard = []

    def told(step, loss):
        heard.append((step, loss))
        return step == 3

    done = played(tmp_path, told=told)
    assert done.stopped and done.loss is None and done.curve == tuple(heard)
    assert [step for step, _ in heard] == [1, 2, 3]


def test_a_run_that_diverges_has_no_loss_and_was_not_stopped(tmp_path):
    done = played(tmp_path, rate=1e3, optimizer="sgd", noise=1e6)
    assert done.loss is None and not done.stopped
    assert all(np.isfinite(loss) for _, loss in done.curve)


def test_kinds_of_text_count_by_their_shares(tmp_path):
    measured = [Measured("a", TEXTS[50:54], 0.6), Measured("b", TEXTS[54:], 0.2), Measured("none", [], 0.2)]
    done = played(tmp_path, measured=measured)
    assert set(done.parts) == {"a", "b"} and done.parts["a"] != done.parts["b"]
    assert done.loss == pytest.approx((0.6 * done.parts["a"] + 0.2 * done.parts["b"]) / 0.8)


def test_a_certified_plan_never_has_fixed_draws(tmp_path):
    certified = ProtectionPlan(
        np.full(50, 0.2), 0.3, 4, 10, 1.0, "best", pl.DataFrame({"secret_id": [0], "bound": [0.1]})
    )
    model = byte_gpt(ByteGptModel(layers=1, width=16, heads=2), 32)
    before = {name: p.clone() for name, p in model.network.named_parameters()}
    with pytest.raises(InputError, match="fixed draws"):
        fit_private(
            certified, TEXTS[:50], model, TrainConfig(rounds=4, batch=10), tmp_path, rehearsal=bytes(32)
        )
    assert all(bool((p == before[name]).all()) for name, p in model.network.named_parameters())
    assert not list(tmp_path.iterdir())
