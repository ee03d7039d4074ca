"""Token sequences → the logical batch of a round as a list of padded micro-batches.

An example is one sequence. A causal model predicts every next token; a masked model predicts 15 % of the
tokens, chosen anew whenever the example is drawn (Devlin et al. 2019), and only those reach its head.

In private training the shape in which an example is computed is a function of its own length and of public
numbers: kernels round otherwise in another shape, and taking one example away must not change the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from hush_core.training.sampler import WeightedPoissonSampler

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
    bool, False on padding; None for a causal model, which never looks back at what stands behind.
    """

    inputs: Tensor
    labels: Tensor
    chosen: Tensor | None = None
    attended: Tensor | None = None


class RoundBatch(NamedTuple):
    """The logical batch of one round: its number in this attempt, and its micro-batches (maybe none).

    fixed: whether the shape in which an example is computed depends on itself alone (`fixed_batches`).
    """

    round: int
    parts: list[MicroBatch]
    fixed: bool = False


@dataclass(frozen=True)
class Objective:
    """What is predicted, and the token numbers that this needs."""

    kind: Literal["causal", "masked"]
    padding: int = 0
    mask: int = -1
    vocabulary: int = 0
    special: frozenset[int] = frozenset()
    """Never masked: tokens that stand for no text."""

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

    The order tells nothing, as the batch is summed. With several ranks each takes every `ranks`-th sequence:
    together they hold each exactly once, shown in the same way as to one process.
    """
    shown = [objective.show(tokens, generator) for tokens in sequences]
    ordered = sorted(shown, key=lambda example: len(example.inputs), reverse=True)[rank::ranks]
    return [objective.collate(ordered[start : start + size]) for start in range(0, len(ordered), size)]


def padded_length(tokens: int, longest: int) -> int:
    """The next of 16, 20, 24, 28, 32, 40, 48, … (four lengths an octave), at most `longest`."""
    step = 1 << max(2, (max(tokens, 16) - 1).bit_length() - 3)
    return min(longest, max(16, -(-tokens // step) * step))


def fixed_batches(
    shown: Sequence[Shown], objective: Objective, rows: int, longest: int, *, rank: int = 0, ranks: int = 1
) -> list[MicroBatch]:
    """Cut a batch into micro-batches of exactly `rows` rows, each row padded to a length that its example alone
    decides, and filled up with rows that add nothing.

    A masked model takes another path through attention where no row is padded: such examples are by themselves.
    With several ranks each takes every `ranks`-th micro-batch, in the shape that one process would give it.
    """
    groups: dict[tuple[int, bool], list[Shown]] = {}
    for example in shown:
        tokens = max(1, len(example.inputs))
        length = padded_length(tokens, longest)
        groups.setdefault((length, objective.kind == "masked" and tokens == length), []).append(example)
    parts = []
    for (length, whole), members in sorted(groups.items(), key=lambda item: item[0], reverse=True):
        filler, aims = objective.filler(length if whole else 0), max(1, round(MASKED_SHARE * length))
        members = members + [filler] * (-len(members) % rows)
        for start in range(0, len(members), rows):
            parts.append(objective.collate(members[start : start + rows], length, aims))
    return parts[rank::ranks]


def rows_at_once(micro_batch: int, expected_batch: int) -> int:
    """Rows of a micro-batch: at most a sixteenth of the expected batch, so that few of them are fillers."""
    return max(1, min(micro_batch, expected_batch // 16))


class Rounds(Dataset[RoundBatch]):
    """Item k is the logical batch of round k, or this rank's share of it, drawn when it is asked for.

    longest: the most inputs of an example, a public number; micro-batches then have fixed shapes, as private
    training needs them. None: they are as long and as many as the batch has it.
    """

    def __init__(
        self,
        sequences: Sequence[Tokens],
        objective: Objective,
        sampler: WeightedPoissonSampler,
        *,
        rounds: int,
        micro_batch: int,
        longest: int | None = None,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        self._longest = longest
        self._sequences, self._objective, self._sampler = sequences, objective, sampler
        self._rounds, self._size, self._rank, self._ranks = rounds, micro_batch, rank, ranks

    def __len__(self) -> int:
        return self._rounds

    def __getitem__(self, round: int) -> RoundBatch:
        if not 0 <= round < self._rounds:
            raise IndexError(round)
        drawn = [self._sequences[i] for i in self._sampler.draw(round)]
        generator = self._sampler.generator(round, "masks")
        share = {"rank": self._rank, "ranks": self._ranks}
        if self._longest is None:
            return RoundBatch(round, micro_batches(drawn, self._objective, self._size, generator, **share))
        shown = [self._objective.show(tokens, generator) for tokens in drawn]
        parts = fixed_batches(shown, self._objective, self._size, self._longest, **share)
        return RoundBatch(round, parts, fixed=True)

    def loader(self) -> DataLoader[RoundBatch]:
        """In order, undivided, in this process: no worker prefetches a batch that a resume would lose."""
        return DataLoader(self, batch_size=None, shuffle=False, num_workers=0)
