"""Items and their rates → the logical batch of each round, in micro-batches of fixed shapes.

An item is what a round draws: an example, or a pool of records, of which the round shows some and averages their
gradients (docs/training.md, "Items of several records").

In private training the shape in which an item is computed is a function of the item itself and of public numbers.
Kernels round otherwise in another shape, and taking one item away must not change the others.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from hush_core.training.data import MASKED_SHARE, MicroBatch, Objective, Shown, Tokens, micro_batches
from hush_core.training.sampler import CyclicSampler, WeightedPoissonSampler

Pool = tuple[Tokens, ...]
"""The records of an item that has several."""
Item = Tokens | Pool


class RoundBatch(NamedTuple):
    """The logical batch of one round: its number in this attempt, and its micro-batches (maybe none).

    fixed: whether the shape in which an item is computed depends on itself alone (`fixed_batches`).
    """

    round: int
    parts: list[MicroBatch]
    fixed: bool = False


def padded_length(tokens: int, longest: int) -> int:
    """The next of 16, 20, 24, 28, 32, 40, 48, … (four lengths an octave), at most `longest`."""
    step = 1 << max(2, (max(tokens, 16) - 1).bit_length() - 3)
    return min(longest, max(16, -(-tokens // step) * step))


def rows_of_item(records: int, most: int) -> int:
    """Rows in which an item with a pool of so many records is computed: 1, 2, 4, …, `most`, at least as many as a
    round uses."""
    return min(most, 1 << (min(records, most) - 1).bit_length())


def items_at_once(micro_batch: int, expected_batch: int, rows: int = 1) -> int:
    """Items of `rows` rows in a micro-batch of at most `micro_batch` rows (one item, where it has more): at most a
    sixteenth of the expected batch, so that few of them are fillers."""
    return max(1, min(micro_batch // rows, expected_batch // 16))


def drawn_records(item: Item, most: int, generator: np.random.Generator) -> Sequence[Tokens]:
    """What a round shows of an item that it drew: all of its records, or a uniform choice of `most` of them,
    without replacement and in order."""
    if not isinstance(item, tuple):
        return [item]
    if len(item) <= most:
        return item
    return [item[i] for i in np.sort(generator.choice(len(item), size=most, replace=False, shuffle=False))]


class _Shape(NamedTuple):
    """What decides how the kernels round: inputs of a row, rows of an item, whether no row is padded (a masked
    model takes another path through attention there)."""

    length: int
    rows: int
    whole: bool


def fixed_batches(
    items: Sequence[Sequence[Shown]],
    objective: Objective,
    size: int | Mapping[int, int],
    longest: int,
    *,
    most: int = 1,
    rank: int = 0,
    ranks: int = 1,
) -> list[MicroBatch]:
    """Cut a batch into micro-batches of exactly `size` items, of rows in a shape that its item alone decides, and
    filled up with rows that add nothing.

    Args:
        items: of each the records that are shown, at most `most`.
        size: items of a micro-batch, or that by the rows of an item.

    With several ranks each takes every `ranks`-th micro-batch, in the shape that one process would give it.
    """
    groups: dict[_Shape, list[Sequence[Shown]]] = {}
    for records in items:
        tokens = [max(1, len(record.inputs)) for record in records]
        length = padded_length(max(tokens), longest)
        whole = objective.kind == "masked" and all(count == length for count in tokens)
        groups.setdefault(_Shape(length, rows_of_item(len(records), most), whole), []).append(records)
    parts = []
    for shape, members in sorted(groups.items(), reverse=True):
        together = size if isinstance(size, int) else size[shape.rows]
        for start in range(0, len(members), together):
            parts.append(_micro_batch(members[start : start + together], objective, shape, together))
    return parts[rank::ranks]


def _micro_batch(
    items: Sequence[Sequence[Shown]], objective: Objective, shape: _Shape, size: int
) -> MicroBatch:
    """`size` items, with fillers for the records and the items that are not there."""
    filler = objective.filler(shape.length if shape.whole else 0)
    shown, shares = [filler] * (size * shape.rows), torch.zeros(size, shape.rows)
    for place, records in enumerate(items):
        first = place * shape.rows
        shown[first : first + len(records)] = records
        shares[place, : len(records)] = 1 / len(records)
    batch = objective.collate(shown, shape.length, max(1, round(MASKED_SHARE * shape.length)))
    return batch if shape.rows == 1 else batch._replace(shares=shares)


class Rounds(Dataset[RoundBatch]):
    """Item k is the logical batch of round k, or this rank's share of it, drawn when it is asked for.

    Args:
        items: by their numbers in the sampler.
        micro_batch: items of a micro-batch, or that by the rows of an item (`rows_of_item`).
        longest: the most inputs of a row, a public number; micro-batches then have fixed shapes, as private
            training needs them. None: they are as long and as many as the batch has it, of items that are
            examples.
        records: the most records of an item that a round shows.

    Guarantee: the records of an item are a uniform choice from its pool, from a generator of their own. Each round
    draws them again, independently of which items were drawn and of the choice from any other pool.
    """

    def __init__(
        self,
        items: Sequence[Item],
        objective: Objective,
        sampler: WeightedPoissonSampler | CyclicSampler,
        *,
        rounds: int,
        micro_batch: int | Mapping[int, int],
        longest: int | None = None,
        records: int = 1,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        self._longest, self._records = longest, records
        self._items, self._objective, self._sampler = items, objective, sampler
        self._rounds, self._size, self._rank, self._ranks = rounds, micro_batch, rank, ranks

    def __len__(self) -> int:
        return self._rounds

    def __getitem__(self, round: int) -> RoundBatch:
        if not 0 <= round < self._rounds:
            raise IndexError(round)
        drawn = [self._items[i] for i in self._sampler.draw(round)]
        generator = self._sampler.generator(round, "masks")
        share = {"rank": self._rank, "ranks": self._ranks}
        if self._longest is None:
            return RoundBatch(round, micro_batches(drawn, self._objective, self._size, generator, **share))
        chooser = self._sampler.generator(round, "records")
        shown = [
            [
                self._objective.show(tokens, generator)
                for tokens in drawn_records(item, self._records, chooser)
            ]
            for item in drawn
        ]
        parts = fixed_batches(shown, self._objective, self._size, self._longest, most=self._records, **share)
        return RoundBatch(round, parts, fixed=True)

    def loader(self) -> DataLoader[RoundBatch]:
        """In order, undivided, in this process: no worker prefetches a batch that a resume would lose."""
        return DataLoader(self, batch_size=None, shuffle=False, num_workers=0)
