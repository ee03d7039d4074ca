"""One training step is one release: counted first, noised always, divided by the expected batch."""

import copy
import warnings

import numpy as np
import pytest
import pytorch_lightning as lightning
import torch
from private_runs import has_scale, ledger_in, private, uncertified
from private_runs import tiny as language_model
from pytorch_lightning.utilities.exceptions import MisconfigurationException
from scipy import stats
from torch import nn

from hush_core.errors import InputError
from hush_core.training import (
    SecureGaussian,
    WeightedPoissonSampler,
    clipped_gradient_sum,
)
from hush_core.training.data import micro_batches
from hush_core.training.rounds import Rounds

TEXTS = [b"one", b"two and more", b"three", b"", b"four four", b"five 5"]


def make_plan(rates, *, noise=1.0, rounds=3, batch=4, clip=0.5):
    return uncertified(np.asarray(rates, float), noise, rounds, batch, clip)


LANGUAGE_MODEL = language_model(context=12)
SEQUENCES = LANGUAGE_MODEL.encode(TEXTS)[0]
CAUSAL, LOSSES = LANGUAGE_MODEL.objective, LANGUAGE_MODEL.losses


def tiny():
    return language_model(seed=2, context=12).network


def rounds_of(plan, rounds=3, key=None, micro_batch=2, longest=12):
    sampler = WeightedPoissonSampler(plan.rates, key=key)
    return Rounds(SEQUENCES, CAUSAL, sampler, rounds=rounds, micro_batch=micro_batch, longest=longest)


def all_in_one():
    return micro_batches(SEQUENCES, CAUSAL, 6, np.random.default_rng(0))[0]


def train(plan, model, path, *, micro_batch=2, rounds=None, key=b"s" * 32, trainer=None, **module):
    """SGD at rate 1 through a bare Trainer; returns the flat change of the weights after every round."""
    flat = lambda: torch.cat([p.detach().flatten() for p in model.parameters()]).double().numpy()  # noqa: E731
    seen = [flat()]
    with ledger_in(path, plan.rounds) as ledger, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = private(plan, model, LOSSES, ledger, on_step=lambda _: seen.append(flat()), **module)
        data = rounds_of(plan, rounds or plan.rounds, key, micro_batch)
        settings = {"max_epochs": 1, "accelerator": "cpu", "logger": False, "enable_checkpointing": False}
        settings |= {"enable_progress_bar": False, "enable_model_summary": False} | (trainer or {})
        lightning.Trainer(**settings, default_root_dir=path).fit(made, train_dataloaders=data.loader())
        return np.diff(np.array(seen), axis=0), ledger.released


def test_empty_batches_release_noise_of_the_right_scale_independent_across_rounds(tmp_path):
    plan = make_plan(np.zeros(6), noise=3.0, clip=0.5, batch=4)
    steps, released = train(plan, tiny(), tmp_path, noise=SecureGaussian(b"n" * 32))
    assert released == 3 and len(steps) == 3
    for step in steps:
        noise = step * 4
        assert has_scale(noise, 1.5) and not has_scale(noise, 1.0) and not has_scale(noise, 2.25)
    for i, j in ((0, 1), (1, 2), (0, 2)):
        assert stats.pearsonr(steps[i], steps[j]).pvalue > 1e-6


def test_the_sum_is_divided_by_the_expected_batch_not_the_realised(tmp_path):
    model = tiny()
    start = copy.deepcopy(model)
    (step,), _ = train(make_plan(np.ones(6), noise=1e-9, rounds=1, batch=4), model, tmp_path)
    total = clipped_gradient_sum(start, all_in_one(), losses=LOSSES, clip_norm=0.5)
    want = -np.concatenate([g.flatten().double().numpy() for g in total.gradients.values()])
    np.testing.assert_allclose(step, want / 4, atol=2e-6 * np.abs(want).max() + 1e-7)
    assert np.abs(step - want / 6).max() > 1e-2 * np.abs(want).max()


def test_micro_batches_do_not_change_the_release_by_a_bit(tmp_path):
    plan = make_plan(np.ones(6), noise=1.0, rounds=1)
    steps = []
    for size in (1, 2, 6):
        (tmp_path / str(size)).mkdir()
        steps.append(
            train(plan, tiny(), tmp_path / str(size), micro_batch=size, noise=SecureGaussian(b"n" * 32))[0]
        )
    np.testing.assert_array_equal(steps[0], steps[1])
    np.testing.assert_array_equal(steps[0], steps[2])


def test_a_batch_without_fixed_shapes_is_refused(tmp_path):
    """Its padding follows the longest example that was drawn: taking that one away would move the others."""
    plan = make_plan(np.ones(6))
    with ledger_in(tmp_path, 3, released=0) as ledger, pytest.raises(InputError, match="longest"):
        private(plan, tiny(), LOSSES, ledger).training_step(rounds_of(plan, longest=None)[0], 0)


def test_a_release_is_counted_before_it_is_applied(tmp_path):
    model = tiny()
    before = copy.deepcopy(model.state_dict())

    class Dies(SecureGaussian):
        def stream(self, counter, spread):
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        train(make_plan(np.zeros(6)), model, tmp_path, noise=Dies())
    with ledger_in(tmp_path, 3, released=1):
        pass
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_more_rounds_than_certified_are_refused(tmp_path):
    with pytest.raises(InputError, match="certified rounds are spent"):
        train(make_plan(np.zeros(6), rounds=2), tiny(), tmp_path, rounds=3)


@pytest.mark.parametrize(
    "setting",
    [{"gradient_clip_val": 1.0}, {"accumulate_grad_batches": 2}, {"precision": "bf16-mixed"}],
    ids=str,
)
def test_trainers_that_change_the_step_are_refused(tmp_path, setting):
    with pytest.raises((InputError, MisconfigurationException)):
        train(make_plan(np.zeros(6)), tiny(), tmp_path, trainer=setting)
    with ledger_in(tmp_path, 3, released=0):
        pass


def test_a_loader_that_is_not_the_samplers_is_refused(tmp_path):
    plan = make_plan(np.zeros(6))
    with ledger_in(tmp_path, 3, released=0) as ledger:
        module = private(plan, tiny(), LOSSES, ledger)
        for batch in ([all_in_one()], rounds_of(plan)[1]):
            with pytest.raises(InputError, match="not the next round"):
                module.training_step(batch, 0)


def test_a_layer_without_a_rule_is_refused_when_the_module_is_made(tmp_path):
    model = tiny()
    model.odd = nn.BatchNorm1d(3)
    with ledger_in(tmp_path, 3) as ledger, pytest.raises(InputError, match="odd"):
        private(make_plan(np.zeros(6)), model, LOSSES, ledger)
