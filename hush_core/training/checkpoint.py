"""What a resume needs, written whole or not at all: weights, optimiser state, rounds applied.

All of it is a function of noisy releases (post-processing). Keys of noise and sampler are never written.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hush_core.errors import InputError


def save_checkpoint(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, log: list[dict[str, Any]]
) -> None:
    """Replace the checkpoint atomically and durably; `log` holds one row per round applied."""
    temporary = path.with_suffix(".part")
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "log": log}
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def load_checkpoint(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
    """Put the checkpoint's state into model and optimiser; returns its log ([] where there is none).

    Raises:
        InputError: the checkpoint does not fit the model.
    """
    if not path.exists():
        return []
    state = torch.load(path, map_location="cpu", weights_only=True)
    try:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    except (RuntimeError, ValueError, KeyError):
        raise InputError(
            str(path), "does not fit this model", "resume with the model that began the run"
        ) from None
    return state["log"]
