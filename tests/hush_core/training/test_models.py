"""The byte GPT: tokens, losses that ignore padding, and a folder that loads again."""

import json
import logging as python_logging
import math

import numpy as np
import pytest
import torch
from tiny_models import write_model
from transformers import AutoTokenizer

from hush_core.config import ByteGptModel, HuggingFaceModel
from hush_core.errors import InputError
from hush_core.training import byte_gpt, load_model, open_model, save_model
from hush_core.training.byte_gpt import encode_bytes
from hush_core.training.data import micro_batches
from hush_core.training.independence import check_model

TEXTS = [b"short", b"a rather longer text", b"", b"\x00\xff\n"]


def batches(model, texts, size=9):
    return micro_batches(model.encode(texts)[0], model.objective, size, np.random.default_rng(0))


def losses(model, texts):
    (batch,) = batches(model, texts)
    return model.losses(model.network, batch)


@pytest.fixture
def model():
    return byte_gpt(ByteGptModel(layers=2, width=16, heads=2), 20, seed=4)


def test_padding_behind_a_text_is_no_reason_to_warn_of_a_missing_mask(model):
    """What comes later does not count (the test of neighbours shows it). Any other warning there is heard."""
    from transformers.utils import logging

    logger, heard = logging.get_logger("transformers.modeling_utils"), []
    handler = python_logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())
    logger.addHandler(handler)
    try:
        logger.warning_once.__func__.cache_clear()
        assert model.network.config.pad_token_id is not None, "the test is blind"
        losses(model, TEXTS)
        logger.warning("something else")
    finally:
        logger.removeHandler(handler)
    assert heard == ["something else"]


def test_weights_depend_on_the_seed_alone(model):
    torch.manual_seed(99)
    again = byte_gpt(ByteGptModel(layers=2, width=16, heads=2), 20, seed=4)
    other = byte_gpt(ByteGptModel(layers=2, width=16, heads=2), 20, seed=5)
    assert torch.equal(model.network.lm_head.weight, again.network.lm_head.weight)
    assert not torch.equal(model.network.lm_head.weight, other.network.lm_head.weight)
    assert model.network.lm_head.weight is model.network.transformer.wte.weight


def test_loss_of_an_example_does_not_depend_on_its_neighbours(model):
    ordered = sorted(TEXTS, key=len, reverse=True)
    together = losses(model, ordered)
    for i, text in enumerate(ordered):
        torch.testing.assert_close(together[i], losses(model, [text])[0])
    assert together[3] == 0


def test_loss_is_the_mean_over_the_examples_own_bytes(model):
    tokens = torch.from_numpy(encode_bytes(TEXTS[1]).astype(np.int64))
    logits = model.network(input_ids=tokens[None, :-1]).logits[0].log_softmax(-1)
    want = -logits[torch.arange(20), tokens[1:]].mean()
    torch.testing.assert_close(losses(model, TEXTS)[0], want)


def test_evaluate_is_bits_over_all_bytes(model):
    nats = sum(float(losses(model, [text]).detach()) * len(text) for text in TEXTS)
    want = nats / sum(map(len, TEXTS)) / math.log(2)
    assert model.evaluate(TEXTS, micro_batch=2) == pytest.approx(want, rel=1e-6)
    first = float(losses(model, TEXTS[:1]).detach()) / math.log(2)
    assert model.evaluate(TEXTS, max_examples=1) == pytest.approx(first, rel=1e-6)
    assert math.isnan(model.evaluate([b""])) and model.unit == "byte"


def test_micro_batches_hold_every_text_once_by_length(model):
    assert [b.inputs.shape for b in batches(model, TEXTS, 3)] == [(3, 20), (1, 1)]
    assert batches(model, [], 3) == []


def test_the_shares_of_the_ranks_make_up_the_batch(model):
    sequences, _ = model.encode([bytes([65 + i]) * (i + 1) for i in range(11)])
    rng = np.random.default_rng
    whole = micro_batches(sequences, model.objective, 4, rng(0))
    shares = [micro_batches(sequences, model.objective, 4, rng(0), rank=r, ranks=3) for r in range(3)]

    def rows(batches):
        return sorted(tuple(row[row != -100].tolist()) for batch in batches for row in batch.labels)

    assert rows(whole) == rows([batch for share in shares for batch in share])
    assert [sum(len(b.inputs) for b in share) for share in shares] == [4, 4, 3]


def test_tokens_are_the_saved_tokenizers(model, tmp_path):
    save_model(model, tmp_path / "m")
    files = {path.name for path in (tmp_path / "m").iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer_config.json"} <= files
    assert not any(name.endswith((".bin", ".pt", ".pkl")) for name in files)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "m", local_files_only=True)
    assert len(tokenizer) == model.network.config.vocab_size == 259
    assert (
        tokenizer("héllo", add_special_tokens=False).input_ids == encode_bytes("héllo".encode())[1:].tolist()
    )
    loaded = load_model(tmp_path / "m")
    assert loaded.network.lm_head.weight is loaded.network.transformer.wte.weight
    assert loaded.evaluate(TEXTS) == model.evaluate(TEXTS)
    with pytest.raises(InputError, match="holds no saved model"):
        load_model(tmp_path / "none")


def test_a_text_longer_than_the_context_is_cut_and_counted(model):
    sequences, cut = model.encode([b"x", b"s" * 25])
    assert cut == 1 and [len(row) for row in sequences] == [2, 21]
    assert model.evaluate([b"s" * 25]) == pytest.approx(model.evaluate([b"s" * 20]), rel=1e-6)


SLIDING = {"layer_types": ["sliding_attention", "full_attention"], "use_sliding_window": True}


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("llama", {"head_dim": 7}, "even rotary dimension"),
        ("llama", {"num_attention_heads": 3}, "not a multiple of the number of attention heads"),
        ("llama", {"hidden_size": "wide"}, "hidden_size"),
        ("llama", {"hidden_act": "nope"}, "fails when it is opened: KeyError"),
        ("llama", {"model_type": "nope"}, "holds no model that transformers knows"),
        ("gpt2", {"n_head": 3}, "must be divisible by num_heads"),
        ("bert", {"max_position_embeddings": 5}, "fails when it is opened"),
        ("qwen2", {**SLIDING, "sliding_window": None}, "fails on random tokens: .*`sliding_window`"),
    ],
    ids=str,
)
def test_a_config_that_the_models_own_code_refuses_is_told_in_one_line(name, change, said, tmp_path):
    folder = write_model(tmp_path / "m", name)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(InputError, match=said) as refusal:
        check_model(open_model(HuggingFaceModel(kind="huggingface", name=str(folder)))[0])
    assert "\n" not in str(refusal.value) and refusal.value.__cause__ is None
