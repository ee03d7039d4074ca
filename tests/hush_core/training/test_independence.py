"""An example's gradient is its own: no other example, no place in a micro-batch changes it, to the bit."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from private_runs import uncertified
from tiny_models import tiny_model, tokenizer, write_model
from torch import nn
from transformers import Phi3Config, Phi3ForCausalLM, XLMConfig, XLMWithLMHeadModel

from hush_core.config import ByteGptModel, HuggingFaceModel, LoraConfig, TrainConfig
from hush_core.errors import InputError
from hush_core.training import byte_gpt, clipped_gradient_sum, fit_private, open_model, run, with_lora
from hush_core.training.data import MicroBatch, Objective, micro_batches
from hush_core.training.independence import check_model
from hush_core.training.placement import computed_alone, items_that_hold, longest_input, same_kernels
from hush_core.training.rounds import fixed_batches, items_at_once, padded_length


def save(network, folder):
    network.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return HuggingFaceModel(kind="huggingface", name=str(folder))


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_a_model_that_looks_ahead_is_refused_as_a_causal_one_before_anything_is_released(name, tmp_path):
    folder = write_model(tmp_path / "m", name)
    asked = HuggingFaceModel(kind="huggingface", name=str(folder), objective="causal")
    with pytest.raises(InputError, match=r"model\.objective.*looks at the tokens"):
        model, _ = open_model(asked)
        plan = uncertified(np.ones(2), 1.0, 2, 2)
        fit_private(plan, [b"the dog", b"a fox"], model, TrainConfig(rounds=2, batch=2), tmp_path / "work")
    assert not (tmp_path / "work").exists()


def test_xlm_is_not_taken_for_a_causal_model(tmp_path):
    config = XLMConfig(vocab_size=90, emb_dim=16, n_layers=1, n_heads=2, max_position_embeddings=40)
    with pytest.raises(InputError, match=r"set model\.objective"):
        open_model(save(XLMWithLMHeadModel(config), tmp_path))


def longrope(folder, limit=32):
    rope = {"rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": limit}
    shape = Phi3Config(
        vocab_size=90, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        num_key_value_heads=2, max_position_embeddings=64, original_max_position_embeddings=limit, pad_token_id=0,
        rope_parameters={**rope, "short_factor": [1.0] * 8, "long_factor": [9.0] * 8},
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        asked = save(Phi3ForCausalLM(shape), folder)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_max_length": 64}))
    return asked


def test_a_rope_that_follows_the_longest_row_is_cut_where_it_begins_to(tmp_path):
    model, _ = open_model(longrope(tmp_path))
    assert model.context == 32
    check_model(model)
    with pytest.raises(InputError, match=r"model\.context"):
        open_model(longrope(tmp_path).model_copy(update={"context": 33}))


def test_an_example_that_changes_beside_a_longer_one_is_found(tmp_path):
    """A layer that scales by the width of the padded batch: nothing but the trial can see it."""
    model = tiny_model(tmp_path, "llama")

    def scale(layer, args, output):
        return output * output.shape[1]

    model.network.model.layers[0].mlp.register_forward_hook(scale)
    with pytest.raises(InputError, match=r"cannot be clipped: on random tokens .* differs by"):
        check_model(model)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["gpt2", "llama", "bert"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_taking_one_example_away_moves_the_sum_by_at_most_the_clip_norm(name, precision, tmp_path):
    """In the micro-batches of private training: as many as `items_that_hold` allows, in fixed shapes. In shapes
    that followed the batch the others moved by up to 1.4e-2 C in bf16."""
    model = tiny_model(tmp_path, name).at(precision)
    rng = np.random.default_rng(5)
    clip, rows, longest = 1e-3, items_that_hold(model, 8), longest_input(model)
    shown = [[model.objective.show(rng.integers(4, 80, size=rng.integers(3, 40)), rng)] for _ in range(65)]

    def total(shown):
        into = {n: torch.zeros_like(p, dtype=torch.float64) for n, p in model.network.named_parameters()}
        for batch in fixed_batches(shown, model.objective, rows, longest):
            clipped_gradient_sum(model.network, batch, losses=model.losses, clip_norm=clip, into=into)
        return torch.cat([g.flatten() for g in into.values()])

    distance = float((total(shown) - total(shown[:-1])).norm())
    assert 0.9 * clip < distance <= clip


def test_roberta_reads_two_tokens_fewer_than_it_has_positions(tmp_path):
    folder = write_model(tmp_path / "m", "roberta", pad_token_id=1)
    path = folder / "tokenizer_config.json"
    known = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in known.items() if k != "model_max_length"}))
    model, _ = open_model(HuggingFaceModel(kind="huggingface", name=str(folder)))
    assert model.context == 40
    sequences, cut = model.encode([b"dog " * 100])
    assert cut == 1 and len(sequences[0]) == 40
    (batch,) = micro_batches(sequences, model.objective, 1, np.random.default_rng(0))
    assert math.isfinite(float(model.losses(model.network, MicroBatch(*batch))[0].detach()))


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
    plan = uncertified(np.full(8, 0.5), 0.5, 4, 4)
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
