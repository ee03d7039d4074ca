"""Low-rank adapters (Hu et al. 2021) through peft: put in, saved alone, merged into the weights."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import peft
import torch
from peft.tuners.tuners_utils import BaseTunerLayer
from transformers.pytorch_utils import Conv1D

from hush_core.config import LoraConfig
from hush_core.errors import InputError
from hush_core.training.language_model import LanguageModel, core


def with_lora(model: LanguageModel, config: LoraConfig, *, seed: int = 0) -> LanguageModel:
    """The same model with adapters as its only trainable parameters; the network is changed in place.

    At the start an adapter adds nothing. Its random half depends on nothing but the seed.

    Raises:
        InputError: no layer has one of the names under `targets`, or the architecture has no usual ones.
    """
    targets = config.targets if config.targets in (None, "all-linear") else list(config.targets)
    kind = peft.TaskType.CAUSAL_LM if model.objective.kind == "causal" else None
    settings = peft.LoraConfig(
        r=config.rank, lora_alpha=config.alpha, lora_dropout=0.0, target_modules=targets, task_type=kind
    )
    try:
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about fan_in_fan_out, which peft then sets itself
            torch.manual_seed(seed)
            network = peft.get_peft_model(model.network, settings)
    except ValueError:
        known = sorted({name.rpartition(".")[2] for name, _ in _linear(model)})
        raise InputError(
            "model.lora.targets", "no layer to adapt", f"name some of {', '.join(known)}, or all-linear"
        ) from None
    _refuse_shared(network)
    return replace(model, network=network)


def _refuse_shared(network: torch.nn.Module) -> None:
    """An adapter on a head that shares its weights would, once merged, change the embedding too."""
    shared = core(network).get_input_embeddings().weight
    for layer in network.modules():
        if isinstance(layer, BaseTunerLayer) and layer.get_base_layer().weight is shared:
            raise InputError(
                "model.lora.targets",
                "names a head that shares its weights with the embedding",
                "leave it out",
            )


def adapted(model: LanguageModel, config: LoraConfig | None, *, seed: int = 0) -> LanguageModel:
    """The model as a config wants it trained: with adapters, its own where it has some, or as it is."""
    return model if config is None or has_lora(model) else with_lora(model, config, seed=seed)


def load_adapter(model: LanguageModel, directory: Path) -> LanguageModel:
    """The model with saved adapters put in, to be trained on; the network is changed in place."""
    network = peft.PeftModel.from_pretrained(
        model.network, directory, is_trainable=True, local_files_only=True
    )
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


def _linear(model: LanguageModel) -> list[tuple[str, torch.nn.Module]]:
    return [
        (name, layer)
        for name, layer in core(model.network).named_modules()
        if isinstance(layer, torch.nn.Linear | Conv1D)
    ]
