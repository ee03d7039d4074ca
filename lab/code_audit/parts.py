"""The pieces that one training step is made of, so that an audit can run a copy of any of them in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hush_core.config import ByteGptModel
from hush_core.history.ledger import ReleaseLedger
from hush_core.training.clipping import Losses
from hush_core.training.language_model import LanguageModel
from hush_core.training.models import byte_gpt
from hush_core.training.module import PrivateModule
from hush_core.training.noise import SecureGaussian
from hush_core.training.rounds import Rounds
from hush_core.training.run import fit_private
from hush_core.training.sampler import WeightedPoissonSampler


def small_model(texts: Sequence[bytes] = ()) -> LanguageModel:
    """A byte GPT of 7,856 parameters with a tied head. It depends on no text."""
    return byte_gpt(ByteGptModel(layers=1, width=16, heads=2), 24, seed=2)


@dataclass(frozen=True)
class StepParts:
    """What the audit builds a step of; each is called as the class or function of the same role in
    `hush_core.training` is.

    Attributes:
        start: protected texts → the model before the first round; what it gives may not depend on them.
        losses: model → its per-example losses.
        module, ledger, sampler, noise, rounds: the classes of a step.
        fit: a whole run, `fit_private`; it is interrupted and resumed.
    """

    start: Callable[[Sequence[bytes]], LanguageModel] = small_model
    losses: Callable[[LanguageModel], Losses] = lambda model: model.losses
    module: Callable[..., Any] = PrivateModule
    ledger: Callable[..., Any] = ReleaseLedger
    sampler: Callable[..., Any] = WeightedPoissonSampler
    noise: Callable[..., Any] = SecureGaussian
    rounds: Callable[..., Any] = Rounds
    fit: Callable[..., Any] = fit_private


REAL = StepParts()
"""What `hush run` trains with, on a small model."""
