"""DoRA: the magnitudes' per-example gradients are exact, peft computes the same, and its own layers are refused."""

import copy
from dataclasses import replace

import peft
import pytest
import torch
from architecture_sweep import errors, move
from peft.tuners.lora.dora import DoraLinearLayer
from peft.tuners.lora.variants import DoraLinearVariant
from tiny_models import tiny_model

from hush_core.config import LoraConfig
from hush_core.errors import InputError
from hush_core.training import load_model, save_model, with_lora
from hush_core.training.independence import check_model
from hush_core.training.lora import ExactDora, Magnitude

NAMES = ["gpt2", "llama", "qwen2", "phi", "bert"]
DORA = LoraConfig(rank=2, targets="all-linear", use_dora=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


def by_peft(model):
    """The same network with peft's own layers."""
    network = copy.deepcopy(model.network)
    for layer in network.modules():
        if isinstance(layer, peft.tuners.lora.LoraLayer):
            for name in layer.lora_variant:
                layer.lora_variant[name] = DoraLinearVariant()
                old = layer.lora_magnitude_vector[name]
                own = DoraLinearLayer(old.fan_in_fan_out)
                own.weight = old.weight
                layer.lora_magnitude_vector[name] = own
    return replace(model, network=network)


def logits(model, seed=0):
    ids = torch.randint(5, 40, (2, 12), generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        return model.network(input_ids=ids).logits


@pytest.mark.few(2)
@pytest.mark.parametrize("name", NAMES)
def test_sums_and_norms_are_those_of_a_float64_loop(name, folder):
    model = with_lora(tiny_model(folder, name), DORA)
    trained = {n for n, p in model.network.named_parameters() if p.requires_grad}
    assert sum("lora_magnitude_vector" in n for n in trained) * 3 == len(trained) > 0
    check_model(model)
    found = errors(move(model))
    assert found["norm_error"] < 1e-4 and found["sum_error"] < 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_peft_computes_the_same(name, folder):
    plain, model = tiny_model(folder, name), with_lora(tiny_model(folder, name), DORA)
    assert torch.allclose(logits(model), logits(plain), atol=1e-5), "at the start an adapter adds nothing"
    move(model)
    assert torch.allclose(logits(model), logits(by_peft(model)), atol=1e-5)
    assert not torch.allclose(logits(model), logits(plain), atol=1e-2), "the test is blind"


def test_pefts_own_layers_would_be_refused(folder):
    model = by_peft(move(with_lora(tiny_model(folder, "llama"), DORA)))
    with pytest.raises(InputError, match="magnitude|first dimension|cannot be clipped"):
        check_model(model)
        errors(model)


def test_a_magnitude_that_does_not_scale_has_no_rule(folder, monkeypatch):
    model = move(with_lora(tiny_model(folder, "llama"), DORA))
    monkeypatch.setattr(Magnitude, "forward", lambda self, x: self.weight**2 * x)
    with pytest.raises(InputError, match="no per-example gradient rule"):
        check_model(model)


def test_saved_it_is_pefts_and_goes_on_as_it_was(folder, tmp_path):
    model = move(with_lora(tiny_model(folder, "gpt2"), DORA))
    before = logits(model)
    save_model(model, tmp_path / "apart", base="b", merge=False)
    again = load_model(tmp_path / "apart")
    assert torch.allclose(logits(again), before, atol=1e-6)
    layers = [m for m in again.network.modules() if isinstance(m, peft.tuners.lora.LoraLayer)]
    assert layers and all(type(v) is ExactDora for m in layers for v in m.lora_variant.values())
    assert all(p.requires_grad for n, p in again.network.named_parameters() if "magnitude" in n)
    base = tiny_model(folder, "gpt2").network
    by_name = peft.PeftModel.from_pretrained(base, tmp_path / "apart" / "adapter").eval()
    assert torch.allclose(logits(replace(again, network=by_name)), before, atol=1e-5)
    save_model(again, tmp_path / "merged")
    merged = load_model(tmp_path / "merged")
    assert not any("lora" in n for n, _ in merged.network.named_parameters())
    assert torch.allclose(logits(merged), before, atol=1e-5)
