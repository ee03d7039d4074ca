"""Texts → byte tokens → the logical batch of a round as a list of padded micro-batches.

Byte b is token b + 3 (the ids of `ByT5Tokenizer(extra_ids=0)`); a sequence starts with token 1. No
vocabulary is learned from the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from hush_core.training.sampler import WeightedPoissonSampler

START = 1
OFFSET = 3
VOCABULARY = 259
IGNORED = -100


class MicroBatch(NamedTuple):
    """inputs, labels, positions: (b, T) int64 each; label -100 where nothing is to be predicted.

    Padding stands at the end, behind every label, where a causal model never looks back at it.
    """

    inputs: Tensor
    labels: Tensor
    positions: Tensor


class RoundBatch(NamedTuple):
    """The logical batch of one round: its number in this attempt, and its micro-batches (maybe none)."""

    round: int
    parts: list[MicroBatch]


def encode(text: bytes) -> np.ndarray:
    """(len(text) + 1,) int64 tokens: the start token, then one token a byte."""
    return np.concatenate([[START], np.frombuffer(text, dtype=np.uint8).astype(np.int64) + OFFSET])


def collate(texts: Sequence[bytes]) -> MicroBatch:
    """Pad to the longest text of this micro-batch: T = max(1, its bytes). Byte t is predicted at t."""
    width = max(1, max(len(text) for text in texts))
    inputs = np.full((len(texts), width), START, dtype=np.int64)
    labels = np.full((len(texts), width), IGNORED, dtype=np.int64)
    for row, text in enumerate(texts):
        tokens = encode(text)
        inputs[row, : len(text)] = tokens[:-1]
        labels[row, : len(text)] = tokens[1:]
    positions = torch.arange(width).expand(len(texts), width)
    return MicroBatch(torch.from_numpy(inputs), torch.from_numpy(labels), positions)


def micro_batches(texts: Sequence[bytes], size: int) -> list[MicroBatch]:
    """Cut a batch into micro-batches of at most `size` texts of like length; the order tells nothing, as
    the batch is summed."""
    ordered = sorted(texts, key=len, reverse=True)
    return [collate(ordered[start : start + size]) for start in range(0, len(ordered), size)]


class Rounds(Dataset[RoundBatch]):
    """Item k is the logical batch of round k, drawn when it is asked for."""

    def __init__(
        self, texts: Sequence[bytes], sampler: WeightedPoissonSampler, *, rounds: int, micro_batch: int
    ) -> None:
        self._texts, self._sampler, self._rounds, self._size = texts, sampler, rounds, micro_batch

    def __len__(self) -> int:
        return self._rounds

    def __getitem__(self, round: int) -> RoundBatch:
        if not 0 <= round < self._rounds:
            raise IndexError(round)
        drawn = [self._texts[i] for i in self._sampler.draw(round)]
        return RoundBatch(round, micro_batches(drawn, self._size))

    def loader(self) -> DataLoader[RoundBatch]:
        """In order, undivided, in this process: no worker prefetches a batch that a resume would lose."""
        return DataLoader(self, batch_size=None, shuffle=False, num_workers=0)
