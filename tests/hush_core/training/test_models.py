"""The byte GPT: tokens, losses that ignore padding, and a folder that loads again."""

from __future__ import annotations

import math

import pytest
import torch
from transformers import AutoTokenizer

from hush_core.config import ModelConfig
from hush_core.errors import InputError
from hush_core.training import byte_gpt, evaluate, load_model, per_example_losses, save_model
from hush_core.training.data import collate, encode, micro_batches

TEXTS = [b"short", b"a rather longer text", b"", b"\x00\xff\n"]


@pytest.fixture
def model():
    return byte_gpt(ModelConfig(layers=2, width=16, heads=2), 20, seed=4)


def test_weights_depend_on_the_seed_alone(model):
    torch.manual_seed(99)
    again = byte_gpt(ModelConfig(layers=2, width=16, heads=2), 20, seed=4)
    other = byte_gpt(ModelConfig(layers=2, width=16, heads=2), 20, seed=5)
    assert torch.equal(model.lm_head.weight, again.lm_head.weight)
    assert not torch.equal(model.lm_head.weight, other.lm_head.weight)
    assert model.lm_head.weight is model.transformer.wte.weight


def test_loss_of_an_example_does_not_depend_on_its_neighbours(model):
    together = per_example_losses(model, collate(TEXTS))
    for i, text in enumerate(TEXTS):
        torch.testing.assert_close(together[i], per_example_losses(model, collate([text]))[0])
    assert together[2] == 0


def test_loss_is_the_mean_over_the_examples_own_bytes(model):
    tokens = torch.from_numpy(encode(TEXTS[1]))
    logits = model(input_ids=tokens[None, :-1]).logits[0].log_softmax(-1)
    want = -logits[torch.arange(20), tokens[1:]].mean()
    torch.testing.assert_close(per_example_losses(model, collate(TEXTS))[1], want)


def test_evaluate_is_bits_over_all_bytes(model):
    losses = per_example_losses(model, collate(TEXTS)).detach().double()
    lengths = torch.tensor([len(text) for text in TEXTS])
    want = float((losses * lengths).sum() / lengths.sum() / math.log(2))
    assert evaluate(model, TEXTS, micro_batch=2) == pytest.approx(want, rel=1e-6)
    assert evaluate(model, TEXTS, max_examples=1) == pytest.approx(float(losses[0]) / math.log(2), rel=1e-6)
    assert math.isnan(evaluate(model, [b""]))


def test_micro_batches_hold_every_text_once_by_length():
    batches = micro_batches(TEXTS, 3)
    assert [b.inputs.shape for b in batches] == [(3, 20), (1, 1)]
    assert micro_batches([], 3) == []


def test_tokens_are_the_saved_tokenizers(model, tmp_path):
    save_model(model, tmp_path / "m")
    files = {path.name for path in (tmp_path / "m").iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer_config.json"} <= files
    assert not any(name.endswith((".bin", ".pt", ".pkl")) for name in files)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "m", local_files_only=True)
    assert len(tokenizer) == model.config.vocab_size == 259
    assert tokenizer("héllo", add_special_tokens=False).input_ids == encode("héllo".encode())[1:].tolist()
    loaded = load_model(tmp_path / "m")
    assert loaded.lm_head.weight is loaded.transformer.wte.weight
    assert evaluate(loaded, TEXTS) == evaluate(model, TEXTS)
    with pytest.raises(InputError, match="holds no saved model"):
        load_model(tmp_path / "none")


def test_a_text_longer_than_the_context_is_refused_without_showing_it(model):
    with pytest.raises(InputError, match="example 1: has 21 bytes") as error:
        evaluate(model, [b"x", b"s" * 21])
    assert "sss" not in str(error.value)
