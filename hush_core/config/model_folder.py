"""What can be checked of a named model without opening it: does it exist, can it be read, does it fit?"""

import json
import os
import struct
from pathlib import Path
from typing import Any

from hush_core.config.job import HushConfig
from hush_core.config.models import ByteGptModel
from hush_core.errors import InputError

_HEADER = 100 << 20
"""The longest header that safetensors itself reads."""
_TOKENIZERS = (
    "tokenizer.json", "tokenizer_config.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model",
    "vocab.json", "vocab.txt",
)  # fmt: skip
_BYTES_A_PARAMETER = 16
"""A weight, its gradient and AdamW's two moments, in float32: the least that training takes."""


def check_model(config: HushConfig) -> None:
    """Refuse a model that surely cannot be trained here; nothing of it is loaded.

    Raises:
        InputError: a folder without config, tokenizer or readable safetensors, or a size beyond the memory.
    """
    model = config.model
    if isinstance(model, ByteGptModel):
        _check_memory(model.parameters(config.chunk_bytes), "model.layers and model.width")
    elif Path(model.name).is_dir():
        check_model_folder(Path(model.name))


def check_model_folder(folder: Path) -> None:
    """Refuse a folder that is no model of transformers: by its files' names, and their first bytes.

    Raises:
        InputError: names the file and what is wrong with it.
    """
    where = f"model.name: {folder}"
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        pickled = any(folder.glob("*.bin")) or any(folder.glob("*.pt"))
        what = "holds no weights as safetensors" + ("; pickled ones can run code and are not read" * pickled)
        raise InputError(
            where, what, "load and save_pretrained the model with transformers, where you trust it"
        )
    described = _json(folder / "config.json", where)
    if not described.get("model_type"):
        raise InputError(f"{where}/config.json", "names no model_type", "save the model's own config there")
    if not any((folder / name).is_file() for name in _TOKENIZERS):
        raise InputError(where, "holds no tokenizer", "save the model's tokenizer beside it")
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        parts = _json(index, where).get("weight_map")
        missing = (
            sorted({str(p) for p in parts.values()} - {w.name for w in weights})
            if isinstance(parts, dict)
            else []
        )
        if missing:
            raise InputError(
                where, f"lacks {missing[0]}, which its index names", "fetch the model's files again"
            )
    for file in weights:
        _check_safetensors(file)


def _check_safetensors(file: Path) -> None:
    """The header can be read, and as many bytes follow as it promises."""
    hint = "fetch the file again: a download was cut short, or it is a Git LFS pointer"
    try:
        size = file.stat().st_size
        with open(file, "rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            header = json.loads(opened.read(length)) if length <= min(size, _HEADER) else None
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        whole = 8 + length + max(ends, default=0) == size
    except OSError as error:
        raise InputError(str(file), error.strerror or "cannot be read", "check its permissions") from None
    except (ValueError, KeyError, TypeError, AttributeError, struct.error, IndexError, RecursionError):
        raise InputError(str(file), "is no safetensors file", hint) from None
    if not whole:
        raise InputError(str(file), "is cut short or damaged", hint)


def _json(file: Path, where: str) -> dict[str, Any]:
    try:
        value = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise InputError(
            where, f"holds no {file.name}", "name the folder of a model saved by transformers"
        ) from None
    except OSError as error:
        raise InputError(str(file), error.strerror or "cannot be read", "check its permissions") from None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError(str(file), "is no JSON object", "fetch the file again")
    return value


def _check_memory(parameters: int, where: str) -> None:
    needed, there = parameters * _BYTES_A_PARAMETER, memory_bytes()
    if there is not None and needed > there:
        raise InputError(
            where,
            f"make a model of {parameters:,} parameters, which takes at least {needed >> 30} GiB to train; this "
            f"machine has {there >> 30}",
            "take a smaller model, or a larger machine",
        )


def memory_bytes() -> int | None:
    """The machine's memory; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
