"""Run a step on batches that are told in advance, and keep everything that leaves it."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import logging
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor
from torch.optim.optimizer import register_optimizer_step_pre_hook

from hush_core.plan import ProtectionPlan
from hush_core.training.data import Tokens
from hush_core.training.language_model import LanguageModel
from hush_core.training.loop import run_rounds
from hush_core.training.placement import longest_input
from hush_core.training.update import Update, make_optimizer
from lab.code_audit.parts import StepParts
from lab.code_audit.scripted import ScriptedSampler, WatchedNoise

BATCH = 4
"""The expected batch: a power of two, so that dividing by it rounds nothing."""
_OURS = {
    "_modules",
    "_parameters",
    "_buffers",
    "_trainer",
    "_fabric",
    "training_step",
    "log",
    "log_dict",
    "print",
}


@dataclass
class Left:
    """What a run let out.

    Attributes:
        releases: (p,) float32 by round, the gradient that the optimiser was handed.
        counted: by round, (noise counter, releases in the ledger when noise was asked for).
        released: in the ledger at the end.
        other: name → digest or text of all else, after each round: weights, buffers, optimiser, attributes, files,
            and what was logged, printed or returned.
    """

    releases: list[Tensor] = field(default_factory=list)
    counted: list[tuple[int, int]] = field(default_factory=list)
    released: int = 0
    other: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Setup:
    """A model with encoded texts, and the numbers of a plan.

    Attributes:
        clip_norm, noise_multiplier: C, σ. rows: of a micro-batch.
    """

    parts: StepParts
    model: LanguageModel
    sequences: Sequence[Tokens]
    clip_norm: float
    noise_multiplier: float
    rows: int = 2

    @property
    def scale(self) -> float:
        """σC/B, the standard deviation of the noise in a release."""
        return self.noise_multiplier * self.clip_norm / BATCH

    def plan(self, rounds: int) -> ProtectionPlan:
        rates = np.full(len(self.sequences), 0.5)
        return ProtectionPlan(
            rates, self.noise_multiplier, rounds, BATCH, self.clip_norm, "best", pl.DataFrame()
        )

    def run(self, batches: Sequence[Sequence[int]], noise: Any) -> Left:
        """One round a batch, in Lightning's own loop, at a learning rate of 0: rounds do not touch each other."""
        with tempfile.TemporaryDirectory(prefix="hush-audit-") as folder:
            return self._run(batches, noise, Path(folder))

    def _run(self, batches: Sequence[Sequence[int]], noise: Any, folder: Path) -> Left:
        left, network = Left(), self.model.network
        before = {name: value.clone() for name, value in network.state_dict().items()}
        plan = self.plan(len(batches))
        optimizer = make_optimizer(network, "sgd", 0.0)
        with self.parts.ledger(folder / "releases.jsonl", run="audit", rounds=plan.rounds) as ledger:
            watched = WatchedNoise(noise, lambda: ledger.released)
            module = self.parts.module(
                plan, network, losses=self.parts.losses(self.model), update=Update(optimizer), ledger=ledger,
                noise=watched,
            )  # fmt: skip
            rounds = self.parts.rounds(
                self.sequences,
                self.model.objective,
                ScriptedSampler(batches),
                rounds=len(batches),
                micro_batch=self.rows,
                longest=longest_input(self.model),
            )

            def keep(when: str) -> None:
                kinds = {
                    "weights or buffer": module.state_dict(),
                    "optimiser": optimizer.state_dict(),
                    "attribute": {k: v for k, v in vars(module).items() if k not in _OURS},
                    "file": {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()},
                }
                for kind, values in kinds.items():
                    left.other |= {f"{kind} {name} {when}": _digest(value) for name, value in values.items()}

            with _listening(module, keep) as heard, releases_of(network) as left.releases:
                run_rounds(module, rounds, folder, lambda: False)
            keep("at the end")
            left.counted, left.released = watched.streams, ledger.released
        left.other |= {f"message {i}": text for i, text in enumerate(heard)}
        with torch.no_grad():
            for name, value in network.state_dict().items():
                value.copy_(before[name])
        return left


@contextlib.contextmanager
def releases_of(network: torch.nn.Module) -> Iterator[list[Tensor]]:
    """The flat gradient that an optimiser of this network holds whenever it steps."""
    found: list[Tensor] = []
    trained = [p for p in network.parameters() if p.requires_grad]
    own = {id(p) for p in trained}

    def hook(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if any(id(p) in own for group in optimizer.param_groups for p in group["params"]):
            found.append(torch.cat([_gradient(p).flatten() for p in trained]).cpu().clone())

    handle = register_optimizer_step_pre_hook(hook)
    try:
        yield found
    finally:
        handle.remove()


def _gradient(parameter: Tensor) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.detach()


@contextlib.contextmanager
def _listening(module: Any, after_step: Callable[[str], None]) -> Iterator[list[str]]:
    """All that the module logs, prints, returns or hands to Python's logging, as text."""
    heard: list[str] = []

    def listen(name: str) -> Callable[..., None]:
        return lambda *args, **kwargs: heard.append(f"{name} {_text((args, kwargs))}")

    real = module.training_step

    def training_step(*args: Any, **kwargs: Any) -> Any:
        result = real(*args, **kwargs)
        heard.append(f"returned {_text(result)}")
        after_step(f"after round {sum(text.startswith('returned') for text in heard)}")
        return result

    for name in ("log", "log_dict", "print"):
        object.__setattr__(module, name, listen(name))
    object.__setattr__(module, "training_step", training_step)
    handler, printed = _Heard(heard), io.StringIO()
    logging.getLogger().addHandler(handler)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            yield heard
    finally:
        logging.getLogger().removeHandler(handler)
        heard.append(f"printed {printed.getvalue()}")


class _Heard(logging.Handler):
    def __init__(self, heard: list[str]) -> None:
        super().__init__()
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        self._heard.append(f"logged {record.getMessage()}")


def _digest(value: Any) -> str:
    return hashlib.sha256(_text(value).encode()).hexdigest()


def _text(value: Any, depth: int = 4) -> str:
    """Numbers, texts, arrays and what is built of them, to the bit; of other objects only the type."""
    if isinstance(value, Tensor):
        raw = value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy()
        return f"tensor {value.dtype} {tuple(value.shape)} {hashlib.sha256(raw.tobytes()).hexdigest()}"
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        return repr(value)
    if depth and isinstance(value, dict):
        return "{" + ", ".join(f"{_text(k, 1)}: {_text(v, depth - 1)}" for k, v in value.items()) + "}"
    if depth and isinstance(value, (list, tuple, set, frozenset)):
        return "[" + ", ".join(_text(item, depth - 1) for item in value) + "]"
    if depth and dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _text({f.name: getattr(value, f.name) for f in dataclasses.fields(value)}, depth - 1)
    return type(value).__name__
