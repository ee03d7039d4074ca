"""An example's gradient does not depend on its place in a micro-batch or on the rows beside it, to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny_models import tiny_model
from torch import nn

from hush_core.config import ByteGptModel, LoraConfig
from hush_core.training import byte_gpt, with_lora
from hush_core.training.data import Objective
from hush_core.training.placement import computed_alone, items_that_hold, longest_input
from hush_core.training.rounds import fixed_batches, items_at_once, padded_length


def gpt(context=40):
    return byte_gpt(ByteGptModel(layers=2, width=32, heads=2), context, seed=1)


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


def shapes(lengths, objective, rows=3):
    generator = np.random.default_rng(0)
    shown = [objective.show(np.full(n, 9), generator) for n in lengths]
    return shown, fixed_batches([[one] for one in shown], objective, rows, 40)


@pytest.mark.parametrize(
    "objective", [Objective("causal"), Objective("masked", mask=1, vocabulary=20)], ids=str
)
def test_every_example_is_there_once_and_taking_one_away_leaves_the_others_shapes(objective):
    """Also whether any row of a masked micro-batch is padded, which decides the path through attention."""
    lengths = (
        [40, 41, 17, 18, 1, 20, 33, 36, 12, 39] if objective.kind == "causal" else [40, 39, 17, 1, 20, 33, 40]
    )

    def kinds(lengths):
        shown, parts = shapes(lengths, objective)
        assert sum(int((p.labels != -100).sum()) for p in parts) == sum(len(s.labels) for s in shown)
        assert all(len(p.inputs) == 3 for p in parts)
        return {
            (p.labels.shape[1], p.inputs.shape[1], None if p.attended is None else bool(p.attended.all()))
            for p in parts
        }

    for i in range(len(lengths)):
        rest = lengths[:i] + lengths[i + 1 :]
        assert kinds(rest) <= kinds(lengths)
        assert kinds([lengths[i]]) <= kinds(lengths)


def test_ranks_share_out_whole_micro_batches():
    generator = np.random.default_rng(0)
    objective = Objective("causal")
    shown = [[objective.show(np.full(2 + n % 30, n), generator)] for n in range(50)]
    whole = fixed_batches(shown, objective, 4, 40)
    shares = [fixed_batches(shown, objective, 4, 40, rank=r, ranks=3) for r in range(3)]
    assert sum(map(len, shares)) == len(whole)
    for r, share in enumerate(shares):
        for k, part in enumerate(share):
            assert torch.equal(part.inputs, whole[r + 3 * k].inputs)


def test_rows_and_longest_input_are_public_numbers():
    assert [items_at_once(32, batch) for batch in (1, 8, 64, 2048)] == [1, 1, 4, 32]
    model = gpt(40)
    assert longest_input(model) == 40 == model.context - 1
    assert longest_input(replace(model, objective=Objective("masked"))) == 41
