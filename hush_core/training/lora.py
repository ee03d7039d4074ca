"""Low-rank adapters (Hu et al. 2021) through peft: put in, saved alone, merged into the weights.

`ExactDora` is DoRA (Liu et al. 2024) as layers whose every parameter has an exact gradient for each example.

y = m · (Wx + s·BAx)/‖W + s·BA‖ + b, row by row, the norm taken as a constant (the paper's §4.3, and as peft does).
peft computes the same in another order: it runs B and A on the identity to get the norm, which is no example's, and
uses m inside a larger formula. Here the norm is made of the weights themselves, without a gradient, and m is a
layer that scales its input: `layers.py` has a rule for that. Names and files stay peft's.
"""

import re
import warnings
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import peft
import torch
from peft.tuners.lora import LoraLayer
from peft.tuners.lora.dora import DoraLinearLayer
from peft.tuners.lora.variants import DoraLinearVariant
from peft.tuners.tuners_utils import BaseTunerLayer, _check_lora_target_modules_mamba
from peft.utils.other import transpose
from peft.utils.transformers_weight_conversion import convert_peft_config_for_transformers
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from hush_core.config import LoraConfig
from hush_core.errors import InputError
from hush_core.training.comparison import as_input_error
from hush_core.training.independence import random_batch
from hush_core.training.language_model import LanguageModel, core


def with_lora(model: LanguageModel, config: LoraConfig, *, seed: int = 0) -> LanguageModel:
    """The same model with adapters as its only trainable parameters; the network is changed in place.

    Without `targets` they go where peft puts them for the architecture, or where it knows nothing of it, to all
    linear layers. "All linear" are those that read example by example, but for the head; a mixture's
    experts read tokens of all examples at once, and stay as they are. At the start an adapter adds nothing. Its
    random half depends on nothing but the seed.

    Raises:
        InputError: no layer has one of the names under `targets`; one that has shares its weights with the
            embedding, or reads what no longer lies example by example.
    """
    fit, used = _example_by_example(model)
    usual = _own_by_peft(model, sorted((fit & used) - _heads(model)))
    named = sorted(_endings(usual) - _endings(name for name in _linear(model) if name not in fit))
    hint = f"name some of {', '.join(named)}, or all-linear" if named else "take another architecture"
    if config.targets in (None, "all-linear") and not usual:
        raise InputError("model.lora", "finds no linear layer that reads example by example", hint)
    wanted: list[list[str] | None] = [list(config.targets)] if isinstance(config.targets, tuple) else [usual]
    if config.targets is None:
        wanted.insert(0, None)
    refusal = None
    for targets in wanted:
        try:
            network = _injected(model, config, targets, seed)
        except ValueError:
            refusal = InputError("model.lora.targets", "no layer to adapt", hint)
            continue
        refusal = _unfit(network, fit, hint)
        if refusal is None:
            return replace(model, network=network)
        network.unload()
    raise refusal


def _injected(
    model: LanguageModel, config: LoraConfig, targets: list[str] | None, seed: int
) -> peft.PeftModel:
    kind = peft.TaskType.CAUSAL_LM if model.objective.kind == "causal" else None
    settings = peft.LoraConfig(
        r=config.rank, lora_alpha=config.alpha, lora_dropout=0.0, target_modules=targets, task_type=kind,
        use_dora=config.use_dora,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about fan_in_fan_out, which peft then sets itself
        torch.manual_seed(seed)
        network = peft.get_peft_model(model.network, settings)
    make_exact(network)
    return network


def _unfit(network: peft.PeftModel, fit: set[str], hint: str) -> InputError | None:
    """Why these adapters cannot be trained, if they cannot."""
    shared = core(network).get_input_embeddings().weight
    for name, layer in core(network).named_modules():
        if not isinstance(layer, BaseTunerLayer):
            continue
        if getattr(layer.get_base_layer(), "weight", None) is shared:  # merged, it would change the embedding
            return InputError(
                "model.lora.targets", "names a head that shares its weights with the embedding", hint
            )
        if name not in fit:
            return InputError(
                "model.lora.targets",
                f"{name} is no linear layer that reads example by example (a mixture's experts read all at once)",
                hint,
            )
    return None


def _example_by_example(model: LanguageModel) -> tuple[set[str], set[str]]:
    """(linear layers whose input has the example as its first dimension, those that ran), by name.

    Found by running the model on random tokens. Layers that differ in a number only, as experts do, are judged
    together: the tokens need not have reached all of them.
    """
    batch = random_batch(model, seed=0)
    network, seen, unfit = core(model.network), set(), set()
    names = _linear(model)
    with ExitStack() as stack:
        for name in names:

            def note(layer: torch.nn.Module, args: tuple, output: torch.Tensor, name: str = name) -> None:
                seen.add(name)
                if not args or len(args[0]) != len(batch.inputs) or not _maps_rows(layer, args[0], output):
                    unfit.add(_kind(name))

            stack.callback(network.get_submodule(name).register_forward_hook(note).remove)
        with torch.no_grad(), as_input_error():
            model.at("fp32").losses(model.network, batch)
    return {name for name in names if _kind(name) not in unfit}, seen


def _maps_rows(layer: torch.nn.Module, read: torch.Tensor, output: object) -> bool:
    """Whether it maps (…, in) to (…, out), as what peft adds to it does. A router may return several tensors, and a
    layer of groups reads each with weights of its own."""
    width = layer.nf if isinstance(layer, Conv1D) else layer.out_features
    return isinstance(output, torch.Tensor) and output.shape == (*read.shape[:-1], width)


def _linear(model: LanguageModel) -> list[str]:
    return [
        name
        for name, layer in core(model.network).named_modules()
        if isinstance(layer, torch.nn.Linear | Conv1D)
    ]


def _kind(name: str) -> str:
    return re.sub(r"\d+", "*", name)


def _endings(names: Iterable[str]) -> set[str]:
    return {name.rpartition(".")[2] for name in names}


def _heads(model: LanguageModel) -> set[str]:
    """The head, and whatever shares its weights with the embedding."""
    network = core(model.network)
    head, shared = network.get_output_embeddings(), network.get_input_embeddings().weight
    return {
        name
        for name, layer in network.named_modules()
        if layer is head or getattr(layer, "weight", None) is shared
    }


def _own_by_peft(model: LanguageModel, names: list[str]) -> list[str]:
    """Those of the names that peft adapts as they are. In some mixtures it takes any layer that is called like
    an expert's for the experts' fused weights, and adapts these; in state-space models it refuses some."""
    own = set()
    for ending in _endings(names):
        settings = peft.LoraConfig(target_modules=[ending])
        with suppress(ValueError):  # a part of what is fused, or one that it refuses
            _check_lora_target_modules_mamba(settings, core(model.network), ending)
            convert_peft_config_for_transformers(settings, core(model.network), None)
            own |= set(settings.target_modules)
    return [name for name in names if name.rpartition(".")[2] in own]


def adapted(model: LanguageModel, config: LoraConfig | None, *, seed: int = 0) -> LanguageModel:
    """The model as a config wants it trained: with adapters, its own where it has some, or as it is."""
    return model if config is None or has_lora(model) else with_lora(model, config, seed=seed)


def load_adapter(model: LanguageModel, directory: Path) -> LanguageModel:
    """The model with saved adapters put in, to be trained on; the network is changed in place."""
    network = peft.PeftModel.from_pretrained(
        model.network, directory, is_trainable=True, local_files_only=True
    )
    make_exact(network)
    return replace(model, network=network.eval())


def has_lora(model: LanguageModel) -> bool:
    return isinstance(model.network, peft.PeftModel)


def save_adapter(model: LanguageModel, directory: Path, *, base: str) -> None:
    """The adapters alone, as peft reads them; `base` names the model that they belong to."""
    network = model.network
    for settings in network.peft_config.values():
        settings.base_model_name_or_path = base
    network.save_pretrained(directory, safe_serialization=True, save_embedding_layers=False)
    (directory / "README.md").unlink(missing_ok=True)  # peft's empty model card


class Magnitude(DoraLinearLayer):
    """x (…, d_out) → m · x."""

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x


class ExactDora(DoraLinearVariant):
    """What a layer with peft's DoRA adapter computes, in the order above."""

    @staticmethod
    def forward(module: LoraLayer, active_adapter: str, x: Tensor, result: Tensor, **kwargs: Any) -> Tensor:
        down, up = module.lora_A[active_adapter], module.lora_B[active_adapter]
        magnitude, scaling = module.lora_magnitude_vector[active_adapter], module.scaling[active_adapter]
        base = module.get_base_layer()
        plain = result if base.bias is None else result - base.bias
        norm = _norm(base.weight, down.weight, up.weight, scaling, magnitude.fan_in_fan_out)
        scaled = magnitude((plain + scaling * up(down(x))) / norm)
        return (scaled if base.bias is None else scaled + base.bias).to(result.dtype)


@torch.no_grad()
def _norm(weight: Tensor, down: Tensor, up: Tensor, scaling: float, turned: bool) -> Tensor:
    """(d_out,) float32: of each row of W + s·BA; `turned`: W lies as Conv1D has it."""
    with torch.autocast(weight.device.type, enabled=False):
        return torch.linalg.norm(transpose(weight, turned) + scaling * (up @ down), dim=1)


def make_exact(network: nn.Module) -> None:
    """Put these layers in place of peft's own wherever a network has DoRA adapters; parameters stay the same."""
    for layer in network.modules():
        if not isinstance(layer, LoraLayer):
            continue
        for name, variant in layer.lora_variant.items():
            if type(variant) is not DoraLinearVariant:
                continue
            layer.lora_variant[name] = ExactDora()
            old = layer.lora_magnitude_vector[name]
            new = Magnitude(old.fan_in_fan_out)
            new.weight = old.weight
            layer.lora_magnitude_vector[name] = new.train(old.training)
