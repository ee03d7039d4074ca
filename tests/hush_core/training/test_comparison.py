"""Before the first release the clipped sum is compared with single-example gradients: what differs is refused."""

import math

import numpy as np
import pytest
import torch
from private_runs import ledger_in, private, trainer, uncertified
from tiny_models import tiny_model
from torch import nn
from torch.nn import functional
from transformers import BertConfig, BertForMaskedLM

from hush_core.config import ByteGptModel, LoraConfig
from hush_core.errors import InputError
from hush_core.training import (
    PrivateModule,
    ReleaseLedger,
    byte_gpt,
    clipped_gradient_sum,
    clipping,
    comparison,
    layer_calls,
    layers,
    module,
    norms,
    with_lora,
)
from hush_core.training.comparison import alone, check_clipping, largest_difference
from hush_core.training.data import MicroBatch, Objective
from hush_core.training.independence import check_model, random_batch
from hush_core.training.language_model import LanguageModel
from hush_core.training.rounds import RoundBatch


def gpt(context=40):
    return byte_gpt(ByteGptModel(layers=2, width=16, heads=2), context, seed=1)


def refused(model, match):
    with pytest.raises(InputError, match=match):
        check_model(model)


def test_a_right_model_passes_and_is_left_as_it_was():
    model = gpt()
    model.network.train()
    before = {name: p.clone() for name, p in model.network.named_parameters()}
    assert any(not p.any() for p in before.values()), "no zero parameter that would have to be put back"
    check_model(model)
    assert model.network.training
    for name, p in model.network.named_parameters():
        assert torch.equal(p, before[name]) and p.grad is None


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_difference_of_right_models_is_far_below_what_is_allowed(precision):
    model = gpt().at(precision)
    worst, _, half = largest_difference(model.network, random_batch(model, 0), losses=model.losses)
    assert half == (precision == "bf16")
    assert worst < (comparison.TOLERANCE_HALF / 5 if half else comparison.TOLERANCE / 20)


def test_the_rounding_of_a_large_matrix_with_a_small_share_is_no_difference():
    """BERT-tiny's layers, of width 128, beside a head that has nearly all of the gradient: 512 × 128 numbers are
    rounded to the coarser grid of a release, and that was taken for wrong code."""
    torch.manual_seed(0)
    shape = {"hidden_size": 128, "num_attention_heads": 2, "intermediate_size": 512, "num_hidden_layers": 1}
    network = BertForMaskedLM(BertConfig(vocab_size=500, max_position_embeddings=40, **shape)).eval()
    with torch.no_grad():
        network.cls.predictions.transform.LayerNorm.weight.mul_(0.01)  # so little goes back to the layers
    objective = Objective("masked", mask=1, vocabulary=500, special=frozenset({0, 1}))
    model = LanguageModel(network, range(500), objective, 40)
    check_model(model)
    worst, _, _ = largest_difference(network, random_batch(model, 0), losses=model.losses)
    assert worst < comparison.TOLERANCE / 2


def without_bias(rule):
    def planted(layer, x, g):
        return (use for use in rule(layer, x, g) if use[0] != "bias")

    return planted


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("kind", ["Conv1D", "LayerNorm"])
def test_a_rule_that_drops_a_bias_is_refused(kind, precision, monkeypatch):
    (layer,) = [one for one in layers.RULES if one.__name__ == kind]
    monkeypatch.setitem(layers.RULES, layer, without_bias(layers.RULES[layer]))
    model = gpt().at(precision)
    with torch.no_grad():
        for name, p in model.network.named_parameters():
            if name.endswith("bias"):
                p.add_(0.1)
    refused(model, r"the gradient of .*bias differs by 1")


def test_a_rule_that_ignores_a_second_use_is_refused(tmp_path, monkeypatch):
    """ALBERT's layers run one after the other with the same weights."""
    receive = layer_calls.Book.receive

    def once(book, use, gradient):
        if use.layer in seen:
            use.x = None
        else:
            seen.add(use.layer)
            receive(book, use, gradient)

    monkeypatch.setattr(layer_calls.Book, "receive", once)
    run = clipping.clipped_gradient_sum
    monkeypatch.setattr(comparison, "clipped_gradient_sum", lambda *a, **k: (seen.clear(), run(*a, **k))[1])
    seen = set()
    refused(tiny_model(tmp_path, "albert"), r"cannot be clipped: on random tokens the gradient of albert")


def test_new_adapters_are_tried_away_from_their_zeros(monkeypatch):
    """At the start half of an adapter is zero, so the other half has no gradient that could be missed."""
    receive = layer_calls.Book.receive

    def misses(book, use, gradient):
        if ".lora_A." in use.name:
            use.x = None
        else:
            receive(book, use, gradient)

    monkeypatch.setattr(layer_calls.Book, "receive", misses)
    refused(with_lora(gpt(), LoraConfig(rank=2)), r"lora_A.* differs by 1")


def test_a_norm_without_the_cross_term_of_tied_weights_is_refused(monkeypatch):
    inner = norms._inner
    monkeypatch.setattr(norms, "_inner", lambda one, other: 0 * inner(one, other))
    refused(gpt(context=20), "cannot be clipped")  # short enough to be kept as outer products


def test_a_factor_of_another_example_is_refused(monkeypatch):
    """Right for each example alone, and wrong in their sum."""
    real = torch.where
    monkeypatch.setattr(clipping.torch, "where", lambda c, a, b: real(c, a.roll(1), b))
    refused(gpt(), "cannot be clipped")


class Layout(nn.Module):
    """(B, T) tokens → (B, T, 11) logits through one layer that is shown (T, B, 6), as XLNet's are."""

    def __init__(self, mixes: bool = False) -> None:
        super().__init__()
        self.embedding, self.middle, self.head = nn.Embedding(11, 6), nn.Linear(6, 6), nn.Linear(6, 11)
        self.mixes = mixes

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        if self.mixes:
            x = x - x.mean(0, keepdim=True)
        return self.head(torch.tanh(self.middle(x.transpose(0, 1))).transpose(0, 1).contiguous())


def losses(model, batch):
    logits = model(batch.inputs)
    each = functional.cross_entropy(
        logits.flatten(0, 1), batch.labels.flatten(), reduction="none", ignore_index=-100
    )
    return each.view_as(batch.labels).sum(1)


def square_batch():
    ids = torch.randint(0, 11, (3, 4), generator=torch.Generator().manual_seed(0))
    return MicroBatch(ids[:, :3], ids[:, 1:])


def test_a_layout_that_only_a_square_batch_hides_would_release_too_much_and_is_refused():
    torch.manual_seed(0)
    network, batch = Layout(), square_batch()
    clip = 1e-3
    got = [
        clipped_gradient_sum(network, some, losses=losses, clip_norm=clip).gradients
        for some in (batch, batch._replace(inputs=batch.inputs.roll(1, 1)))
    ]
    distance = math.sqrt(sum(float((got[0][n] - got[1][n]).square().sum()) for n in got[0]))
    assert distance > 0, "nothing was clipped"  # and hush took it: three rows, three tokens
    with pytest.raises(InputError, match="cannot be clipped"):
        check_clipping(network, [batch], losses=losses)
    with pytest.raises(InputError, match="first dimension"):
        check_clipping(network, [MicroBatch(batch.inputs[:, :2], batch.labels[:, :2])], losses=losses)


def test_an_example_that_gives_another_a_gradient_is_refused():
    torch.manual_seed(0)
    network = Layout(mixes=True)
    network.middle.requires_grad_(False)
    with pytest.raises(InputError, match="cannot be clipped"):
        check_clipping(network, [square_batch()], losses=losses)


def test_a_difference_counts_only_if_it_comes_again_on_other_tokens(monkeypatch):
    """A rounding may send a token to another expert; wrong code is wrong on all tokens."""
    found = iter([(0.3, "the gradient of a", False), (1e-6, "", False), (1e-6, "", False)])
    monkeypatch.setattr(comparison, "largest_difference", lambda *_, **__: next(found))
    check_model(gpt())
    for second, third in ((1e-6, 0.3), (0.3, 1e-6), (math.nan, 1e-6)):
        found = iter([(0.3, "the gradient of a", False), (second, "b", False), (third, "c", False)])
        refused(gpt(), "the gradient of a differs by 0.3")


def test_what_the_models_own_code_ends_in_is_told_in_one_line():
    model = gpt()

    def fails(layer, args):
        raise AttributeError("no `sliding_window`\nin this config")

    model.network.transformer.h[1].register_forward_pre_hook(fails)
    with pytest.raises(
        InputError, match=r"fails on random tokens: AttributeError: no `sliding_window` in"
    ) as e:
        check_model(model)
    assert "\n" not in str(e.value) and e.value.__cause__ is None


def test_a_gradient_that_is_not_finite_or_none_at_all_is_refused():
    model = gpt()
    with torch.no_grad():
        model.network.transformer.wte.weight[:, 0] = math.nan
    refused(model, "norm nan")
    model = with_lora(gpt(), LoraConfig(rank=2))
    check_model(model)
    for name, p in model.network.named_parameters():
        p.requires_grad_("lora_A" in name)  # while the other half is zero, these have no gradient
    refused(model, "norm 0")


def test_an_example_alone_is_without_its_padding(tmp_path):
    for model in (gpt(), tiny_model(tmp_path, "bert")):
        batch = random_batch(model, 0)
        rows = [alone(batch, i) for i in range(3)]
        assert len({row.inputs.shape[1] for row in rows}) == 3
        for i, row in enumerate(rows):
            own, among = model.losses(model.network, row)[0], model.losses(model.network, batch)[i]
            torch.testing.assert_close(own, among, rtol=1e-4, atol=1e-6)


PLAN = uncertified(np.ones(3), 1.0, 2, 3, 1e-3)


@pytest.mark.parametrize(("probe", "said"), [(square_batch(), "cannot be clipped"), (None, "probe")])
def test_a_private_module_used_alone_refuses_before_it_counts_a_release(tmp_path, probe, said):
    """Three rows of three tokens: without the comparison, this model releases what it says it does not. And losses
    that are no language model's need a probe."""
    torch.manual_seed(0)
    with ledger_in(tmp_path, 2, released=0) as ledger, pytest.raises(InputError, match=said):
        made = private(PLAN, Layout(), losses, ledger, probe=probe)
        made.training_step(RoundBatch(0, [square_batch()], fixed=True), 0)


def test_a_private_module_makes_its_own_probe_of_a_language_model(tmp_path, monkeypatch):
    model = gpt()
    monkeypatch.setitem(layers.RULES, nn.LayerNorm, without_bias(layers.RULES[nn.LayerNorm]))
    with ledger_in(tmp_path, 2, released=0) as ledger, pytest.raises(InputError, match=r"ln.*bias differs"):
        private(PLAN, model.network, model.losses, ledger).training_step(RoundBatch(0, [], fixed=True), 0)


@pytest.fixture
def beginning(tmp_path, monkeypatch):
    """A module at the start of its training, on this device; and it begins."""

    def begin(device="cpu"):
        model = gpt()
        monkeypatch.setattr(PrivateModule, "trainer", trainer())
        monkeypatch.setattr(PrivateModule, "device", torch.device(device))
        made = private(PLAN, model.network, model.losses, ReleaseLedger(tmp_path, run="test", rounds=2))
        made.on_fit_start()
        return made

    return begin


@pytest.mark.parametrize("way", ["flag", "environment"])
def test_tf32_is_refused_on_a_gpu(beginning, way, monkeypatch):
    """With ten bits of mantissa a norm is known to 1e-3, and C would be exceeded by as much."""
    made = beginning("cuda")
    if way == "flag":
        torch.backends.cuda.matmul.allow_tf32 = True
    else:
        monkeypatch.setenv(module._TF32, "1")
    try:
        with pytest.raises(InputError, match="TF32"):
            made.on_fit_start()
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def test_float32_products_of_lower_precision_are_refused(beginning, monkeypatch):
    """On a CPU "medium" lets oneDNN round the factors of float32 products to bf16."""
    made = beginning()
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "medium")
    with pytest.raises(InputError, match="float32 products"):
        made.on_fit_start()
