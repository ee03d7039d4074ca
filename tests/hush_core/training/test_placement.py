"""An example's gradient does not depend on its place in a micro-batch or on the rows beside it, to the bit."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch
from tiny_models import tiny_model
from torch import nn

from hush_core.config import ByteGptModel, LoraConfig, TrainConfig
from hush_core.plan import ProtectionPlan
from hush_core.training import byte_gpt, run, with_lora
from hush_core.training.data import Objective
from hush_core.training.placement import computed_alone, items_that_hold, longest_input, same_kernels
from hush_core.training.rounds import items_at_once, padded_length


def gpt(context=40):
    return byte_gpt(ByteGptModel(layers=2, width=32, heads=2), context, seed=1)


def test_on_a_gpu_all_of_a_run_takes_kernels_that_add_in_a_fixed_order(tmp_path, monkeypatch):
    """Tried without a GPU: the run is told of one. What was set before is set again, however the run ends."""

    class Stop(Exception):
        pass

    def stop(row):
        seen.append(torch.are_deterministic_algorithms_enabled())
        if row["round"] == 1:
            raise Stop

    seen = []
    monkeypatch.setattr(run, "same_kernels", lambda device: same_kernels(torch.device("cuda")))
    plan = ProtectionPlan(np.full(8, 0.5), 0.5, 4, 4, 1.0, "best", pl.DataFrame())
    settings = TrainConfig(rounds=4, batch=4, learning_rate=1e-2, micro_batch=4)
    with pytest.raises(Stop):
        run.fit_private(plan, [b"abcdefgh"] * 8, gpt(), settings, tmp_path, watch=stop)
    assert seen == [True, True] and not torch.are_deterministic_algorithms_enabled()
    with same_kernels(torch.device("cpu")):
        assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.few(2)
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("lora", [False, True])
def test_rows_are_computed_by_themselves(lora, precision):
    model = with_lora(gpt(), LoraConfig(rank=2), seed=3) if lora else gpt()
    if lora:
        with torch.no_grad():
            for parameter in model.network.parameters():
                parameter.add_(0.05)
    assert all(computed_alone(model.at(precision), 5, length) for length in (16, 28, 40))


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "precision"), [("bert", "fp32"), ("bert", "bf16"), ("llama", "bf16")])
def test_rows_of_other_architectures_are_computed_by_themselves(name, precision, tmp_path):
    model = tiny_model(tmp_path, name).at(precision)
    assert items_that_hold(model, 3) == items_that_hold(model, 3, rows=2) == 3


class Mixing(nn.Module):
    """Adds 1e-6 of the mean over the batch to what the head reads: far below any tolerance."""

    def __init__(self, inner: nn.Module, share: float) -> None:
        super().__init__()
        self.inner, self.share = inner, share

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.inner(x)
        return out + self.share * out.mean(0, keepdim=True)


@pytest.mark.few(2)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("share", [0.0, 1e-6])
def test_a_model_that_mixes_its_rows_by_a_millionth_computes_items_one_by_one(share, rows, caplog):
    model = gpt()
    model.network.transformer.h[0].mlp = Mixing(model.network.transformer.h[0].mlp, share)
    assert items_that_hold(model, 4, rows=rows) == (1 if share else 4)
    assert ("one by one" in caplog.text) == bool(share)


def test_padding_is_a_function_of_the_own_length_and_wastes_at_most_a_quarter():
    for longest in (7, 40, 2048):
        padded = [padded_length(tokens, longest) for tokens in range(1, longest + 1)]
        assert all(tokens <= wide <= longest for tokens, wide in enumerate(padded, 1))
        assert all(wide <= max(16, 1.25 * tokens) for tokens, wide in enumerate(padded, 1))
        assert len(set(padded)) <= 1 + 4 * max(0, np.log2(longest / 16))


def test_rows_and_longest_input_are_public_numbers():
    assert [items_at_once(32, batch) for batch in (1, 8, 64, 2048)] == [1, 1, 4, 32]
    model = gpt(40)
    assert longest_input(model) == 40 == model.context - 1
    assert longest_input(replace(model, objective=Objective("masked"))) == 41
