"""Language models from a config, a folder or a hub name, and back to a folder."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
from torch import nn
from transformers import (
    CONFIG_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoTokenizer,
    PretrainedConfig,
)
from transformers.utils import logging

from hush_core.config import ByteGptModel, HuggingFaceModel
from hush_core.errors import InputError
from hush_core.training.byte_gpt import START, byte_network, byte_tokenizer
from hush_core.training.comparison import as_input_error
from hush_core.training.data import Objective
from hush_core.training.independence import rope_limit
from hush_core.training.language_model import LanguageModel, core, embedding_rows
from hush_core.training.lora import has_lora, load_adapter, save_adapter

NOTES = "language_model.json"
"""Beside a saved model, what its own files do not say: objective, context, whether adapters are merged."""
ADAPTER = "adapter"
"""The folder of a saved model with its adapters alone; they belong to the model that the run began with."""
_HUB_FILES = ("*.safetensors", "*.safetensors.index.json", "*.json", "*.txt", "*.model", "*.jinja")
_CLASSES = {"causal": AutoModelForCausalLM, "masked": AutoModelForMaskedLM}


def byte_gpt(config: ByteGptModel, context: int, *, seed: int = 0) -> LanguageModel:
    """A new byte-level GPT for texts of up to `context` bytes."""
    return LanguageModel(
        byte_network(config, context, seed=seed),
        byte_tokenizer(),
        Objective("causal", padding=START),
        context + 1,
    )


def model_folder(config: HuggingFaceModel) -> Path:
    """The folder of the model: the one that is named, or a hub snapshot, downloaded if it is not here yet.

    Raises:
        InputError: the name is neither a folder nor known to the hub, or the hub cannot be reached.
    """
    if Path(config.name).is_dir():
        return _with_weights(Path(config.name), config.name)
    try:
        with _no_bars():
            folder = snapshot_download(config.name, revision=config.revision, allow_patterns=list(_HUB_FILES))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError):
        raise InputError(
            f"model.name: {config.name}",
            "is no folder here, and could not be had from the hub",
            "name a folder that holds the model, give this machine access to the hub, or accept the model's "
            "licence there and log in",
        ) from None
    return _with_weights(Path(folder), config.name)


def _with_weights(folder: Path, name: str) -> Path:
    if any(folder.glob("*.safetensors")):
        return folder
    raise InputError(
        f"model.name: {name}",
        "holds no weights as safetensors; pickled ones can run code and are not read",
        "convert them: load and save_pretrained the model with transformers, where you trust it",
    )


def copy_model(folder: Path, target: Path) -> None:
    """The files of a model folder that `open_model` reads, links followed; nothing else of it is taken."""
    target.mkdir(parents=True, exist_ok=True)
    for pattern in _HUB_FILES:
        for file in sorted(folder.glob(pattern)):
            if file.is_file():
                shutil.copyfile(file, target / file.name)


def open_model(
    config: HuggingFaceModel, *, longest: int | None = None, seed: int = 0
) -> tuple[LanguageModel, tuple[str, ...]]:
    """A pre-trained model and its tokenizer, in float32, with all parameters trainable. It is in
    evaluation mode and stays there: fine-tuning under noise gains nothing from dropout.

    Args:
        longest: bytes of the longest example; no more context than that can need is kept.
        seed: of parameters that the folder does not hold, such as a missing head.

    Returns:
        The model, and the names of the parameters that were newly initialised.

    Raises:
        InputError: no model or tokenizer there, only pickled weights, or no such objective for it.
    """
    folder = model_folder(config)
    kind = config.objective or _objective(folder)
    network, fresh = _read(folder, kind, seed)
    try:
        tokenizer = _tokenizer(folder)
    except (OSError, ValueError):
        raise InputError(f"{folder}", "holds no tokenizer", "save the model's tokenizer beside it") from None
    if kind == "masked" and tokenizer.mask_token_id is None:
        raise InputError(f"{folder}", "its tokenizer has no mask token", "save the one it was trained with")
    rows = embedding_rows(network)
    if len(tokenizer) > rows:
        raise InputError(
            f"{folder}",
            f"its tokenizer has {len(tokenizer)} tokens and the model {rows}",
            "save the tokenizer that the model was trained with",
        )
    most = _positions(network, tokenizer)
    limits = [n for n in (config.context, most, longest and longest + 2) if n]
    context = min(limits) if limits else 1024
    if config.context and most and config.context > most:
        raise InputError(
            "model.context",
            f"is {config.context}, the model reads {most} tokens",
            "lower it, or leave it out",
        )
    return LanguageModel(network, tokenizer, _special(kind, tokenizer), context), fresh


def save_model(model: LanguageModel, directory: Path, *, base: str = "", merge: bool = True) -> None:
    """Weights as safetensors, the config, the tokenizer; adapters apart, and merged into the weights.

    With merge, an adapted model is used up: load it again to train on. Without, the weights are saved as they
    were before the adapters, and `load_model` puts those in again. `base` names the model that they belong to.
    """
    directory.mkdir(parents=True, exist_ok=True)
    notes = {"objective": model.objective.kind, "context": model.context, "merged": merge}
    with _no_bars():
        model.tokenizer.save_pretrained(directory)
        if has_lora(model):
            save_adapter(model, directory / ADAPTER, base=base)
            network = model.network.merge_and_unload() if merge else model.network.unload()
        else:
            network = model.network
        network.save_pretrained(directory, safe_serialization=True)
    (directory / NOTES).write_text(json.dumps(notes) + "\n")


def load_model(directory: Path) -> LanguageModel:
    """Read what `save_model` wrote, from this folder only.

    Raises:
        InputError: the folder holds no model.
    """
    try:
        notes = json.loads((directory / NOTES).read_text())
        kind, context = notes["objective"], int(notes["context"])
        network, _ = _read(directory, kind, seed=0)
        tokenizer = _tokenizer(directory)
        model = LanguageModel(network, tokenizer, _special(kind, tokenizer), context)
        apart = not notes["merged"] and (directory / ADAPTER).is_dir()
        return load_adapter(model, directory / ADAPTER) if apart else model
    except (OSError, ValueError, KeyError):
        raise InputError(str(directory), "holds no saved model", "name a folder that a run wrote") from None


def _read(folder: Path, kind: str, seed: int) -> tuple[nn.Module, tuple[str, ...]]:
    if type(_config(folder)) not in _CLASSES[kind]._model_mapping:
        raise InputError(
            str(folder), f"holds no {kind} language model", "name another folder, or model.objective"
        )
    with (
        _no_bars(),
        torch.random.fork_rng(devices=[]),
        as_input_error(str(folder), "fails when it is opened"),
    ):
        torch.manual_seed(seed)
        network, loading = _CLASSES[kind].from_pretrained(
            folder,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
        )
    return network.eval(), tuple(sorted(loading["missing_keys"]))


def _tokenizer(folder: Path) -> Any:
    with _no_bars():
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def _config(folder: Path) -> PretrainedConfig:
    try:
        with as_input_error(str(folder), "fails when it is opened"):
            return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except InputError:
        if _model_type(folder) in CONFIG_MAPPING:
            raise
    raise InputError(str(folder), "holds no model that transformers knows", "name another folder")


def _model_type(folder: Path) -> object:
    with suppress(OSError, ValueError, AttributeError):
        return json.loads((folder / "config.json").read_text()).get("model_type")
    return None


def _objective(folder: Path) -> str:
    config = _config(folder)
    names = " ".join(config.architectures or ())
    for kind, sign in (("masked", "MaskedLM"), ("masked", "ForPreTraining"), ("causal", "CausalLM")):
        if sign in names:
            return kind
    if "LMHead" in names and "WithLMHead" not in names:  # GPT-2, not XLM
        return "causal"
    raise InputError(
        str(folder), "its config names no language model", "set model.objective to causal or masked"
    )


def _positions(network: nn.Module, tokenizer: Any) -> int | None:
    """The most tokens that both the network and its tokenizer say they take."""
    limits = [
        getattr(core(network).config, "max_position_embeddings", None),
        getattr(core(network).config, "n_positions", None),
        tokenizer.model_max_length,
    ]
    limits.append(rope_limit(core(network).config))
    for name, layer in core(network).named_modules():
        offset = name.endswith("position_embeddings") and getattr(layer, "padding_idx", None)
        if offset not in (
            None,
            False,
        ):  # RoBERTa's kind counts from the padding's number on: 514 rows, 512 tokens
            limits.append(layer.num_embeddings - offset - 1)
    known = [int(n) for n in limits if n is not None and 0 < n < 10**9]
    return min(known) if known else None


def _special(kind: str, tokenizer: Any) -> Objective:
    if kind == "causal":  # any token pads here, and transformers warns of its own pad token without a mask
        usual = (tokenizer.bos_token_id, tokenizer.eos_token_id, 0, 1)
        return Objective("causal", padding=next(i for i in usual if i not in (None, tokenizer.pad_token_id)))
    return Objective(
        "masked",
        padding=tokenizer.pad_token_id or 0,
        mask=tokenizer.mask_token_id,
        vocabulary=len(tokenizer),
        special=frozenset(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}),
    )


@contextmanager
def _no_bars() -> Iterator[None]:
    """Without transformers' own progress bars and hints; the caller's settings come back."""
    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()
