"""Ordinary training on text that no edge of the graph names, to the state that is best on held-out such text.

Candidates of the promise differ in tagged examples alone, so all of this is the same for each of them: it costs
nothing of it. Nothing here sees another text, and what comes out is a function of arguments alone.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from transformers import ByT5Tokenizer

from hush_core.config import UntaggedConfig
from hush_core.errors import InputError
from hush_core.progress import Progress
from hush_core.training.data import predicts
from hush_core.training.language_model import LanguageModel, Precision
from hush_core.training.loop import graceful, run_rounds
from hush_core.training.lora import has_lora
from hush_core.training.module import PlainModule
from hush_core.training.rounds import Rounds
from hush_core.training.sampler import WeightedPoissonSampler
from hush_core.training.update import make_optimizer

USUAL_RATE = {"byte_gpt": 3e-3, "full": 1e-4, "lora": 1e-3}
"""AdamW's, by kind of model, at batches of about 16."""
FIRST_TRIAL = 16
"""Several rates begin with 1/16 of the steps."""
COOL_DOWN = 5
"""A fifth of the steps is for the rate to fall to 0, from the best state of the others."""


@dataclass(frozen=True)
class UntaggedFit:
    """A finished run on untagged text. Nothing of it depends on tagged text."""

    model: LanguageModel
    steps: int
    """After which the model was best, and is as it is now; 0 where no step made it better."""
    curve: tuple[tuple[int, float], ...]
    """(steps, loss on validation text in bits) from (0, the loss before), on the way to the model: what was looked
    at after the state from which the rate began to fall is left out."""
    learning_rate: float
    cut: int
    """Examples that are longer than the model's context, and were cut there."""


def fit_untagged(
    texts: Sequence[bytes],
    validation: Sequence[bytes],
    model: LanguageModel,
    settings: UntaggedConfig,
    *,
    micro_batch: int,
    precision: Precision = "fp32",
    seed: int,
    progress: Progress | None = None,
) -> UntaggedFit:
    """Train `model` in place on untagged text; it ends in the state that was best on `validation`.

    At a constant rate, until four fifths of the steps are done or `patience` runs out; then the rate falls linearly
    to 0 over the last fifth, from the best state so far.

    Args:
        texts, validation: disjoint, and untagged: no edge of the graph names them.
        settings: several learning rates are tried from the same state by successive halving (the better half
            starts again and trains for twice as long), and the best trains to the end.
        seed: fixes every batch; not a secret here.
        progress: called as progress("untagged", steps done, most steps), in a trial as "untagged at RATE".

    Raises:
        InputError: no texts, no validation; every rate diverged at once.
        KeyboardInterrupt: after SIGINT, when the step is finished.

    Guarantee: on the CPU the same arguments give the same bytes.
    """
    for name, some in (("texts", texts), ("validation", validation)):
        if not any(some):
            raise InputError(
                f"untagged {name}",
                "are none",
                "most examples hold a secret: set weights.without_secret to noise or drop",
            )
    for name, some in (("texts", texts), ("validation", validation)):
        if not any(map(predicts, model.encode(some)[0])):
            raise InputError(
                f"untagged {name}",
                "hold no completion within the model's context, so there is nothing to learn",
                "shorten the prompts, raise chunk_bytes or model.context, or set loss_on to all",
            )
    run = _Run(model.at(precision), texts, validation, micro_batch, seed, progress)
    rate = _best_rate(run, settings)
    last = settings.steps // COOL_DOWN
    steps, curve = run.train(rate, settings.steps - last, settings, "untagged", of=settings.steps)
    if not any(math.isfinite(loss) for _, loss in curve[1:]):
        raise InputError("untagged.learning_rate", "the loss is not finite after the first steps", "lower it")
    if last:
        curve = tuple(point for point in curve if point[0] <= steps)
        more, cooling = run.train(
            rate, last, settings, "untagged", of=settings.steps, before=settings.steps - last, falling=True
        )
        curve += tuple((steps + at, loss) for at, loss in cooling[1:])
        steps += more
    return UntaggedFit(run.model, steps, curve, rate, run.cut)


def usual_rate(model: LanguageModel) -> float:
    """AdamW's learning rate that is usual for a model of this kind."""
    if has_lora(model):
        return USUAL_RATE["lora"]
    return USUAL_RATE["byte_gpt" if isinstance(model.tokenizer, ByT5Tokenizer) else "full"]


def _best_rate(run: _Run, settings: UntaggedConfig) -> float:
    """The config's one rate, or the winner of successive halving; the network is as before."""
    if settings.learning_rate is None:
        return usual_rate(run.model)
    if isinstance(settings.learning_rate, float | int):
        return float(settings.learning_rate)
    left, steps = (
        sorted(set(settings.learning_rate)),
        max(settings.evaluate_every, settings.steps // FIRST_TRIAL),
    )
    start = _state(run.model.network)
    while len(left) > 1:
        losses = {}
        for rate in left:
            _, curve = run.train(rate, steps, settings, f"untagged at {rate:g}")
            losses[rate] = min((loss for at, loss in curve if at and loss == loss), default=math.inf)
            _load(run.model.network, start)
        left = sorted(sorted(left, key=losses.__getitem__)[: len(left) // 2])
        if not math.isfinite(losses[left[0]]):
            raise InputError("untagged.learning_rate", "every rate diverged", "name lower ones")
        steps = min(settings.steps, 2 * steps)
    return left[0]


class _Run:
    """Texts and network of one call; may train several times from whatever state the network is in."""

    def __init__(
        self,
        model: LanguageModel,
        texts: Sequence[bytes],
        validation: Sequence[bytes],
        micro_batch: int,
        seed: int,
        progress: Progress | None,
    ) -> None:
        self.model, self._validation, self._progress = model, validation, progress
        self._sequences, self.cut = model.encode(texts)
        self._micro_batch = micro_batch
        self._key = hashlib.sha256(f"untagged {seed}".encode()).digest()

    def train(
        self,
        rate: float,
        most: int,
        settings: UntaggedConfig,
        stage: str,
        *,
        of: int | None = None,
        before: int = 0,
        falling: bool = False,
    ) -> tuple[int, tuple[tuple[int, float], ...]]:
        """At most `most` steps; the network ends in the best state. (steps to it, (steps, loss) so far).

        Progress counts from `before` to `of`. falling: the rate falls to 0, and no look ends it.
        """
        network, count = self.model.network, len(self._sequences)
        batch = min(settings.batch, count)
        best = _Best(network, most if falling else settings.patience)
        optimizer = make_optimizer(network, "adamw", rate)
        best.look(0, self._loss())

        def on_step(step: int) -> None:
            if (step + 1) % settings.evaluate_every == 0 or step + 1 == most:
                best.look(step + 1, self._loss())
            if falling:
                for group in optimizer.param_groups:
                    group["lr"] = rate * (1 - (step + 1) / most)
            if self._progress is not None:
                self._progress(stage, before + step + 1, of or most)

        module = PlainModule(
            network, batch=batch, losses=self.model.losses, optimizer=optimizer, on_step=on_step
        )
        key = hashlib.sha256(self._key + b"falling").digest() if falling else self._key
        sampler = WeightedPoissonSampler(np.full(count, batch / count), key=key)
        rounds = Rounds(
            self._sequences, self.model.objective, sampler, rounds=most, micro_batch=self._micro_batch
        )
        with graceful() as stop:
            run_rounds(module, rounds, Path.cwd(), lambda: stop.is_set() or best.stopped)
        if stop.is_set():
            raise KeyboardInterrupt
        _load(network, best.state)
        return best.step, tuple(best.curve)

    def _loss(self) -> float:
        return self.model.evaluate(self._validation, max_examples=len(self._validation))


class _Best:
    """The best state so far, and whether `patience` looks in a row brought none."""

    def __init__(self, network: nn.Module, patience: int) -> None:
        self._network, self._patience = network, patience
        self.step, self.curve, self._loss, self._since = 0, [], math.inf, 0
        self.state = _state(network)

    @property
    def stopped(self) -> bool:
        return self._since >= self._patience

    def look(self, step: int, loss: float) -> None:
        self.curve.append((step, loss))
        if loss < self._loss:
            self.step, self._loss, self._since = step, loss, 0
            self.state = _state(self._network)
        else:
            self._since += 1


@torch.no_grad()
def _state(network: nn.Module) -> dict[str, Tensor]:
    """A copy of what training changes."""
    return {name: p.detach().clone() for name, p in network.named_parameters() if p.requires_grad}


@torch.no_grad()
def _load(network: nn.Module, state: dict[str, Tensor]) -> None:
    for name, p in network.named_parameters():
        if p.requires_grad:
            p.copy_(state[name])
