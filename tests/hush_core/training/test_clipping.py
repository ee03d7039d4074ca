"""Clipping against a float64 loop over examples, and against wrong clipping that this loop must reject."""

import copy
import gc
import math
import weakref
from itertools import product

import numpy as np
import pytest
import torch
from architecture_sweep import loop, row_of
from sizes import seeds
from torch import nn
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel

from hush_core.config import ByteGptModel
from hush_core.errors import InputError
from hush_core.training import byte_gpt, clipped_gradient_sum, norms
from hush_core.training.data import micro_batches
from hush_core.training.gradient_scale import GradientScale


class Small(nn.Module):
    """Linear, Embedding with padding, LayerNorm, RMSNorm, biases; one layer on tokens and on their mean."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 6, padding_idx=0)
        self.norm, self.rms = nn.LayerNorm(6), nn.RMSNorm(8)
        self.twice, self.up = nn.Linear(6, 6), nn.Linear(6, 8, bias=False)
        self.head = nn.Linear(8, 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.embedding(ids))
        x = self.twice(torch.tanh(self.twice(x)))
        x = self.twice(torch.tanh(x + self.twice(x).mean(1, keepdim=True)))
        x = x.mean(1) + torch.tanh(self.twice(x.mean(1)))
        return self.head(self.rms(torch.tanh(self.up(x))))


def small_losses(model, batch):
    ids, labels = batch
    return functional.cross_entropy(model(ids), labels, reduction="none")


def small_case():
    torch.manual_seed(3)
    ids = torch.randint(0, 11, (5, 7))
    ids[:, :2] = 4  # repeated rows
    return Small(), (ids, torch.randint(0, 3, (5,))), small_losses


def gpt_case(width: int = 32, longest: int = 12):
    """Tied GPT-2; padded texts, one with a single byte and one with none."""
    language_model = byte_gpt(ByteGptModel(layers=2, width=width, heads=2), longest, seed=1)
    model = language_model.network
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.05 * torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel())))
    texts = [(b"aab" * 40)[:longest], b"xyzw" * 2, b"", b"q", (b"hello aa" * 20)[: longest - 1]]
    sequences, _ = language_model.encode(texts)
    (batch,) = micro_batches(sequences, language_model.objective, 5, np.random.default_rng(0))
    return model, batch, language_model.losses


def wild_scale(model, seed=0):
    """Factors from 1/100 to 100, of every trainable parameter."""
    generator, tensors = torch.Generator().manual_seed(seed), {}

    def factors(*shape):
        return 10 ** (4 * torch.rand(shape, generator=generator) - 2)

    for name, p in model.named_parameters():
        if p.dim() == 2:
            tensors |= {f"rows {name}": factors(p.shape[0]), f"columns {name}": factors(p.shape[1])}
        else:
            tensors[f"numbers {name}"] = factors(*p.shape)
    return GradientScale(tensors)


def reference(model, batch, losses, clip, scale=None):
    """Norms (B,) and clipped sums by a float64 loop with plain autograd: scaled, then clipped."""
    return loop(copy.deepcopy(model).double(), losses, batch, clip, scale)


def agrees(got, expected, clip=0.0) -> bool:
    """Norms at most 2e-4 above, which is what the rounding is charged; sums within 3e-4 of the whole sum's norm,
    and within what the grid of that clip norm does."""
    norms_, sums = expected
    size = math.sqrt(sum(float(s.square().sum()) for s in sums.values()))
    excess = got.norms - norms_
    return bool((excess <= 2e-4 * norms_ + 1e-9).all() and (excess >= -1e-6 * norms_).all()) and all(
        float((got.gradients[n] - sums[n]).norm()) < 3e-4 * size + 1e-5 * clip for n in sums
    )


CASES = {"small": small_case, "gpt-ghost": gpt_case, "gpt-kept": lambda: gpt_case(longest=64)}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("clip", [0.05, 1.0, 1e6])
def test_matches_a_float64_loop(case, clip):
    model, batch, losses = CASES[case]()
    for scale in (None, wild_scale(model)):
        got = clipped_gradient_sum(model, batch, losses=losses, clip_norm=clip, scale=scale)
        assert agrees(got, reference(model, batch, losses, clip, scale), clip)
    assert not agrees(got, reference(model, batch, losses, clip), clip)  # scaled it is another gradient
    assert all(p.grad is None for p in model.parameters())


def test_instances_that_are_not_kept_match_too(monkeypatch):
    monkeypatch.setattr(norms, "GHOST_CONSTANT", 0.0)
    monkeypatch.setattr(norms, "_CHUNK", 3 * 259 * 32)
    model, batch, losses = gpt_case()
    got = clipped_gradient_sum(model, batch, losses=losses, clip_norm=0.3)
    assert agrees(got, reference(model, batch, losses, 0.3))


def test_the_routes_are_all_taken():
    model = gpt_case()[0]
    shape = model.lm_head.weight.shape
    assert not norms.keeps_instance(shape, 12) and norms.keeps_instance(shape, 64)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("clip", [1e-3, 0.37, 2.0])
def test_no_single_example_releases_more_than_the_clip_norm(case, clip):
    model, batch, losses = CASES[case]()
    for i, scale in product(range(len(batch[0])), (None, wild_scale(model))):
        got = clipped_gradient_sum(model, row_of(batch, i), losses=losses, clip_norm=clip, scale=scale)
        released = math.sqrt(sum(float(g.double().square().sum()) for g in got.gradients.values()))
        assert released <= clip


@pytest.mark.parametrize("seed", seeds(12))
def test_cancellation_in_a_ghost_norm_never_under_counts(seed):
    """Tokens whose gradients cancel: a ghost norm in fp32 has no correct digit there, and may be 0."""
    torch.manual_seed(seed)
    layer, plane, spread = nn.Linear(64, 64, bias=False), torch.randn(2, 64), torch.randn(8, 2)
    x = (spread @ plane).unsqueeze(0)
    null = torch.linalg.svd(spread.T, full_matrices=True).Vh[2]  # Σ null_t x_t = 0 up to fp32
    weight = torch.randn(64)

    def losses(model, x):
        return ((model(x) @ weight) * null).sum(1) * 1e4

    assert not norms.keeps_instance(layer.weight.shape, 8)
    got = clipped_gradient_sum(layer, x, losses=losses, clip_norm=1e-3)
    assert float(got.gradients["weight"].double().norm()) <= 1e-3


def test_nothing_outlives_the_call():
    """The graph of one micro-batch is gone before the next: without it, memory grew until the next gc."""
    model, batch, losses = gpt_case()
    alive = []

    def watched(model, batch):
        values = losses(model, batch)
        alive.append(weakref.ref(values))
        return values

    hidden = []
    handle = model.transformer.wte.register_forward_hook(lambda *args: hidden.append(weakref.ref(args[2])))
    gc.disable()
    try:
        clipped_gradient_sum(model, batch, losses=watched, clip_norm=1.0)
        assert alive[0]() is None and hidden[0]() is None
    finally:
        gc.enable()
        handle.remove()


def test_frozen_parameters_are_left_out():
    model, batch, losses = gpt_case()
    model.transformer.wte.weight.requires_grad_(False)
    model.transformer.h[0].mlp.c_fc.weight.requires_grad_(False)
    got = clipped_gradient_sum(model, batch, losses=losses, clip_norm=0.3)
    assert agrees(got, reference(model, batch, losses, 0.3))
    assert "transformer.wte.weight" not in got.gradients


class Odd(nn.Module):
    def __init__(self, odd: nn.Module) -> None:
        super().__init__()
        self.first, self.odd = nn.Linear(4, 4), odd


class Raw(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))


@pytest.mark.parametrize(
    ("odd", "name"),
    [
        (nn.Bilinear(4, 4, 4), "odd.bias"),
        (nn.BatchNorm1d(4), "layer odd"),
        (nn.BatchNorm1d(4, affine=False), "layer odd"),
        (nn.Conv1d(4, 4, 1), "odd.bias"),
        (nn.Embedding(4, 4, max_norm=1.0), "odd.weight"),
        (Raw(), "odd.scale"),
    ],
)
def test_what_has_no_rule_is_refused_by_name_before_anything_runs(odd, name):
    def never(model, batch):
        raise AssertionError("the forward pass ran")

    with pytest.raises(InputError, match=name):
        clipped_gradient_sum(Odd(odd), torch.ones(2, 4), losses=never, clip_norm=1.0)


def test_broadcast_position_ids_are_refused():
    model = GPT2LMHeadModel(GPT2Config(vocab_size=20, n_positions=8, n_embd=8, n_layer=1, n_head=1))
    ids = torch.randint(0, 20, (3, 8))

    def losses(model, ids):
        return model(input_ids=ids, use_cache=False).logits.sum((1, 2))

    with pytest.raises(InputError, match="wpe"):
        clipped_gradient_sum(model, ids, losses=losses, clip_norm=1.0)


def test_averaged_losses_and_bad_clip_norms_are_refused():
    model, batch, losses = small_case()
    with pytest.raises(InputError, match=r"\(B,\)"):
        clipped_gradient_sum(model, batch, losses=lambda m, b: losses(m, b).mean(), clip_norm=1.0)
    with pytest.raises(InputError, match="clip_norm"):
        clipped_gradient_sum(model, batch, losses=losses, clip_norm=0.0)
