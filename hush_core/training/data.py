"""Token sequences → padded micro-batches.

An example is one sequence. A causal model predicts every next token; a masked model predicts 15 % of the
tokens, chosen again whenever the example is drawn (Devlin et al. 2019), and only those reach its head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

IGNORED = -100
"""The label of a position at which nothing is to be predicted."""
MASKED_SHARE = 0.15
"""Of these, 80 % are shown as the mask token, 10 % as a random token, 10 % as they are."""


@dataclass(frozen=True, eq=False)
class PromptedTokens:
    """Tokens (t,) of which only some are learned: those where `learned` (t,) is true."""

    tokens: np.ndarray
    learned: np.ndarray

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, part: slice) -> PromptedTokens:
        return PromptedTokens(self.tokens[part], self.learned[part])


Tokens = np.ndarray | PromptedTokens
"""An example: (t,) integer tokens, all of them learned, or some."""


def predicts(example: Tokens) -> bool:
    """Whether anything of an example is learned; its first token is what the others are predicted from."""
    return bool(example.learned[1:].any()) if isinstance(example, PromptedTokens) else len(example) > 1


class Shown(NamedTuple):
    """One example as the model sees it: inputs (t,), labels (m,), and the positions (m,) that are predicted
    (None: the first m)."""

    inputs: np.ndarray
    labels: np.ndarray
    chosen: np.ndarray | None


class MicroBatch(NamedTuple):
    """inputs: (b, T) int64, padded at the end. labels: (b, M) int64, -100 where nothing is predicted.

    chosen: (b, M) int64, the position of each label; None for a causal model, where M = T. attended: (b, T)
    bool, False on padding; None for a causal model, which never looks at later tokens. shares: (items,
    k) float32, b = items · k: rows i·k to i·k + k − 1 are the records of item i, and by this each one's loss is
    multiplied; None where each row is an item of its own.
    """

    inputs: Tensor
    labels: Tensor
    chosen: Tensor | None = None
    attended: Tensor | None = None
    shares: Tensor | None = None


@dataclass(frozen=True)
class Objective:
    """What is predicted, and the token numbers that this needs."""

    kind: Literal["causal", "masked"]
    padding: int = 0
    mask: int = -1
    vocabulary: int = 0
    special: frozenset[int] = frozenset()
    """Never masked: tokens that encode no text."""

    def show(self, example: Tokens, generator: np.random.Generator) -> Shown:
        """One training sequence of an example. `generator` decides what a masked model is shown.

        What is not learned is read and never predicted; an example of such tokens alone predicts nothing, and its
        loss and its gradient are 0.
        """
        tokens, learned = example, None
        if isinstance(example, PromptedTokens):
            tokens, learned = example.tokens, example.learned
        if self.kind == "causal":
            labels = tokens[1:]
            if learned is not None:
                labels = np.where(learned[1:], labels.astype(np.int64), IGNORED)
            return Shown(tokens[:-1], labels, None)
        free = ~np.isin(tokens, list(self.special))
        free = np.flatnonzero(free if learned is None else free & learned)
        count = min(len(free), max(1, round(MASKED_SHARE * len(free))))
        chosen = np.sort(generator.choice(free, size=count, replace=False))
        inputs, labels = tokens.copy(), tokens[chosen]
        shown = generator.random(count)
        inputs[chosen[shown < 0.8]] = self.mask
        other = chosen[shown >= 0.9]
        inputs[other] = generator.integers(self.vocabulary, size=len(other))
        return Shown(inputs, labels, chosen)

    def collate(self, examples: Sequence[Shown], tokens: int = 1, labels: int = 1) -> MicroBatch:
        """Pad to the longest: T is at least `tokens`, M at least `labels`."""
        inputs = _padded([e.inputs for e in examples], self.padding, tokens)
        aims = _padded([e.labels for e in examples], IGNORED, tokens if self.kind == "causal" else labels)
        if self.kind == "causal":
            return MicroBatch(inputs, aims)
        lengths = torch.tensor([max(1, len(e.inputs)) for e in examples])
        chosen = _padded([e.chosen for e in examples], 0, labels)
        return MicroBatch(inputs, aims, chosen, torch.arange(inputs.shape[1]) < lengths[:, None])

    def filler(self, tokens: int) -> Shown:
        """An example of so many tokens that predicts nothing: its gradient is 0."""
        none = np.empty(0, dtype=np.int64)
        return Shown(np.full(tokens, self.padding), none, None if self.kind == "causal" else none)


def _padded(rows: Sequence[np.ndarray], fill: int, width: int) -> Tensor:
    out = np.full((len(rows), max(width, max(map(len, rows)))), fill, dtype=np.int64)
    for line, row in zip(out, rows, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(out)


def micro_batches(
    sequences: Sequence[Tokens],
    objective: Objective,
    size: int,
    generator: np.random.Generator,
    *,
    rank: int = 0,
    ranks: int = 1,
) -> list[MicroBatch]:
    """Cut a batch into micro-batches of at most `size` sequences of like length.

    The order reveals nothing, as the batch is summed. With several ranks each takes every `ranks`-th sequence:
    together they hold each exactly once, shown in the same way as to one process.
    """
    shown = [objective.show(tokens, generator) for tokens in sequences]
    ordered = sorted(shown, key=lambda example: len(example.inputs), reverse=True)[rank::ranks]
    return [objective.collate(ordered[start : start + size]) for start in range(0, len(ordered), size)]
