"""The private step on a GPU: the same sum, the same rounds, and no example that changes another's gradient."""

import numpy as np
import pytest
import torch
from private_runs import uncertified

from hush_core.config import ByteGptModel, TrainConfig
from hush_core.training import byte_gpt, fit_private
from hush_core.training.independence import check_model
from hush_core.training.placement import computed_alone, longest_input, same_kernels

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
TEXTS = [bytes([97 + i % 3]) * (5 + i % 20) for i in range(40)]
ROUNDS = 12


def model(width=64, layers=2, heads=4, context=128):
    return byte_gpt(ByteGptModel(layers=layers, width=width, heads=heads), context, seed=0)


def run(folder, on, rounds=ROUNDS, every=5, watch=None):
    plan = uncertified(np.full(40, 0.2), 0.5, ROUNDS, 8)
    settings = TrainConfig(rounds=ROUNDS, batch=8, learning_rate=1e-2, micro_batch=4, checkpoint_every=every)
    return fit_private(plan, TEXTS, on, settings, folder, rehearsal=bytes(32), watch=watch)


def flat(fitted):
    return torch.cat([p.detach().flatten().double().cpu() for p in fitted.model.network.parameters()])


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_on_a_gpu_the_clipped_sum_is_what_single_examples_make_of_it(precision):
    check_model(model().on_accelerator().at(precision))


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_on_a_gpu_no_example_changes_a_bit_of_what_another_adds(precision):
    tried = model().on_accelerator().at(precision)
    with same_kernels(tried.device):
        assert computed_alone(tried, 8, longest_input(tried))


def test_a_run_on_a_gpu_is_that_on_the_processor_up_to_rounding(tmp_path, monkeypatch):
    there = run(tmp_path / "gpu", model())
    assert torch.cuda.max_memory_allocated() > 0
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    here = run(tmp_path / "cpu", model())
    begun = torch.cat([p.detach().flatten().double() for p in model().network.parameters()])
    moved = flat(here) - begun
    assert there.rounds_released == here.rounds_released == ROUNDS
    assert float((flat(there) - flat(here)).norm() / moved.norm()) < 0.01


def test_two_runs_on_a_gpu_end_in_one_model_and_a_stopped_one_keeps_to_its_rounds(tmp_path):
    class Stop(Exception):
        pass

    def stop(row):
        if row["round"] == 6:
            raise Stop

    one, other = run(tmp_path / "one", model()), run(tmp_path / "other", model())
    assert torch.equal(flat(one), flat(other))
    with pytest.raises(Stop):
        run(tmp_path / "parts", model(), every=1, watch=stop)
    rest = run(tmp_path / "parts", model(), every=1)
    assert rest.resumed and rest.rounds_released == ROUNDS and rest.rounds_applied >= ROUNDS - 1
