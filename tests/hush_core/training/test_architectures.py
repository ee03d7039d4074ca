"""Every architecture that hush opens: its clipped sum against a float64 loop over single examples."""

import math

import pytest
import torch
from architecture_sweep import TEXTS, batch_of, move, reference
from tiny_models import CAUSAL, MASKED, tiny_model, write_model
from torch import nn

from hush_core.config import HuggingFaceModel, LoraConfig
from hush_core.errors import InputError
from hush_core.training import clipped_gradient_sum, open_model, with_lora
from hush_core.training.data import MicroBatch
from hush_core.training.independence import check_model
from hush_core.training.layers import embedding_scale, is_scaling

NAMES = [*CAUSAL, *MASKED]


def agrees(got, expected, norm=3e-4, total=3e-4):
    norms, sums = expected
    size = math.sqrt(sum(float(s.square().sum()) for s in sums.values()))
    distance = math.sqrt(sum(float((got.gradients[n] - sums[n]).square().sum()) for n in sums))
    return torch.allclose(got.norms, norms, rtol=norm, atol=1e-6) and distance < total * size


def clipped(model, batch, clip):
    return clipped_gradient_sum(model.network, batch, losses=model.losses, clip_norm=clip)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", NAMES)
def test_full_fine_tuning(name, tmp_path):
    model = tiny_model(tmp_path, name)
    check_model(model)
    batch = batch_of(model)
    norms, sums = reference(model, batch, 0.5)
    got = clipped(model, batch, 0.5)
    assert agrees(got, (norms, sums))
    assert float(norms.max()) > 0.5 and set(got.gradients) == set(dict(model.network.named_parameters()))


@pytest.mark.few(8)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("targets", [None, "all-linear"])
def test_lora(name, targets, tmp_path):
    model = tiny_model(tmp_path, name)
    try:
        model = move(with_lora(model, LoraConfig(rank=3, targets=targets)))
    except InputError:
        assert targets is None  # peft knows no usual layers of this architecture, and says which there are
        return
    batch = batch_of(model)
    assert agrees(clipped(model, batch, 0.1), reference(model, batch, 0.1))
    assert all("lora_" in n for n, p in model.network.named_parameters() if p.requires_grad)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", NAMES)
def test_bf16_is_near_and_never_above_the_clip_norm(name, tmp_path):
    model = tiny_model(tmp_path, name)
    batch = batch_of(model)
    half = model.at("bf16")
    assert agrees(clipped(half, batch, 0.5), reference(model, batch, 0.5), norm=0.1, total=0.1)
    for i in range(len(TEXTS)):
        alone = MicroBatch(*(part if part is None else part[i : i + 1] for part in batch))
        got = clipped(half, alone, 0.01)
        released = math.sqrt(sum(float(g.double().square().sum()) for g in got.gradients.values()))
        assert released <= 0.01


def test_a_head_that_the_folder_lacks_is_made_anew_and_named(tmp_path):
    folder = write_model(tmp_path / "m", "bert")
    import transformers

    transformers.BertModel.from_pretrained(folder).save_pretrained(tmp_path / "core")
    for file in folder.glob("token*"):
        (tmp_path / "core" / file.name).write_bytes(file.read_bytes())
    with pytest.raises(InputError, match=r"model\.objective"):
        open_model(HuggingFaceModel(kind="huggingface", name=str(tmp_path / "core")))
    asked = HuggingFaceModel(kind="huggingface", name=str(tmp_path / "core"), objective="masked")
    (one, fresh), (two, _) = open_model(asked), open_model(asked)
    assert any("predictions.transform.dense" in name for name in fresh)
    for a, b in zip(one.network.parameters(), two.network.parameters(), strict=True):
        assert torch.equal(a, b)


class Gated(nn.Module):
    """A weight used in a way that no rule covers."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.weight = kind, nn.Parameter(torch.ones(4))

    def forward(self, x):
        if self.kind == "square":
            return x * self.weight**2
        if self.kind == "batch":
            return self.weight * (x - x.mean(0))
        return (x * self.weight).sum(-1, keepdim=True).expand_as(x)


@pytest.mark.parametrize("kind", ["square", "batch", "mixed"])
def test_what_only_looks_like_a_scaling_is_none(kind):
    assert not is_scaling(Gated(kind))


def test_an_unknown_parameter_is_named_before_training(tmp_path):
    model = tiny_model(tmp_path, "llama")
    model.network.model.layers[0].gate = Gated("square")
    with pytest.raises(InputError, match=r"parameter model\.layers\.0\.gate\.weight"):
        clipped(model, batch_of(model), 1.0)
    model = tiny_model(tmp_path, "opt")
    with pytest.raises(InputError, match=r"parameter model\.decoder\.embed_positions\.weight"):
        clipped(model, batch_of(model), 1.0)
    adapted = move(with_lora(model, LoraConfig(rank=2)))
    batch = batch_of(adapted)
    assert agrees(clipped(adapted, batch, 0.1), reference(adapted, batch, 0.1))


def test_an_embedding_that_does_more_than_scale_is_refused():
    class Odd(nn.Embedding):
        def forward(self, ids):
            return super().forward(ids) ** 2

    assert embedding_scale(Odd(5, 4)) is None and embedding_scale(nn.Linear(4, 4)) is None
    layer = Odd(5, 4)
    with pytest.raises(InputError, match="parameter weight"):
        clipped_gradient_sum(layer, torch.ones(2, 3, dtype=torch.long), losses=None, clip_norm=1.0)
