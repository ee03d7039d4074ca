"""Token sequences → padded micro-batches.

An example is one sequence. A causal model predicts every next token; a masked model predicts 15 % of the
tokens, chosen again whenever the example is drawn (Devlin et al. 2019), and only those reach its head.

Of a prompted text those tokens are learned that encode a byte of a completion, in part or whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from hush_core.corpus.prompted import PromptedText
from hush_core.errors import InputError
from hush_core.training.byte_gpt import encode_bytes

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

    def on(self, device: torch.device) -> MicroBatch:
        """The same there."""
        return MicroBatch(*(part if part is None else part.to(device) for part in self))


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


def prompted_bytes(text: PromptedText) -> PromptedTokens:
    """For a byte model: the start token is not learned, and every byte of a completion is."""
    learned = np.zeros(len(text) + 1, dtype=bool)
    for start, end in text.completions:
        learned[1 + start : 1 + end] = True
    return PromptedTokens(encode_bytes(text), learned)


def prompted_tokens(
    text: PromptedText, tokenizer: PreTrainedTokenizerBase, start: int | None
) -> PromptedTokens:
    """By the tokenizer's own offsets. A chat template writes special tokens as text; they are read as such.

    An end that the tokenizer adds is learned where the last token before it is. `start`: as `with_start`.

    Raises:
        InputError: the tokenizer has no offsets.
    """
    if not tokenizer.is_fast:
        raise InputError(
            "tables.loss_on: completions",
            "needs to know the bytes of a token, which this model's tokenizer does not say",
            "save the model with its fast tokenizer (tokenizer.json), or set loss_on to all",
        )
    words, spoken = _characters(text)
    found = tokenizer(words, return_offsets_mapping=True, verbose=False)
    offsets = np.array(found.offset_mapping, dtype=np.int64).reshape(-1, 2)
    learned = np.zeros(len(offsets), dtype=bool)
    for first, last in spoken:
        learned |= (offsets[:, 0] < last) & (offsets[:, 1] > first) & (offsets[:, 0] < offsets[:, 1])
    standing = np.flatnonzero(offsets[:, 0] < offsets[:, 1])
    if len(standing):
        learned[standing[-1] + 1 :] = learned[standing[-1]]
    tokens = np.array(with_start(found.input_ids, start), dtype=np.int32)
    added = len(tokens) - len(learned)
    return PromptedTokens(tokens, np.append([False] * added, learned[max(0, -added) :]).astype(bool))


def with_start(tokens: list[int], start: int | None) -> list[int]:
    """The tokens, with the start once before them: GPT-2's tokenizer adds none, and without one the first token
    would never be learned; and a chat template may write one beside the tokenizer's own.

    >>> with_start([7], 1), with_start([1, 7], 1), with_start([1, 1, 7], 1), with_start([7], None)
    ([1, 7], [1, 7], [1, 7], [7])
    """
    if start is None or tokens[:1] == [start]:
        return tokens[1:] if start is not None and tokens[:2] == [start, start] else tokens
    return [start, *tokens]


def _characters(text: PromptedText) -> tuple[str, Sequence[tuple[int, int]]]:
    """The text as UTF-8 with � for what is not UTF-8, and its completions counted in characters.

    Every range is decoded by itself. It begins and ends where a character does, unless a chunk's border cuts the
    character, and then nothing is beside it.
    """
    borders = sorted({0, len(text), *(place for pair in text.completions for place in pair)})
    at, parts, place = {0: 0}, [], 0
    for first, last in pairwise(borders):
        parts.append(text[first:last].decode("utf-8", errors="replace"))
        place += len(parts[-1])
        at[last] = place
    return "".join(parts), [(at[first], at[last]) for first, last in text.completions]
