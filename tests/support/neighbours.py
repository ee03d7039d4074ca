"""Neighbouring batches, made to be hard: the same others in the same rows, with one example and without it.

What is measured is the difference of the two sums as they are released before the noise, in float64, against C.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from hush_core.config import ByteGptModel, LoraConfig
from hush_core.training import LanguageModel, byte_gpt, clipped_gradient_sum, with_lora
from hush_core.training.data import MicroBatch, Objective, Shown
from hush_core.training.noise import grid_step
from hush_core.training.rounds import fixed_batches

CLIPS = (1e-3, 0.1, 1.0, 30.0)
SIZES = (1, 8, 64, 512, 4096)
"""Examples in a batch."""


class DetectedSecret(NamedTuple):
    """ratio: ‖sum − neighbour's sum‖ / C. alone: whether the difference is, to the bit, what the example adds to
    a batch that is empty but for it."""

    ratio: float
    alone: bool


@dataclass
class Setting:
    """A model with its losses, and how to draw rows of a micro-batch."""

    name: str
    model: nn.Module
    losses: Callable[[nn.Module, Any], Tensor]
    rows: int
    draw: Callable[[np.random.Generator], Any]
    filler: Any
    collate: Callable[[Sequence[Any]], Any]
    shares: Callable[[Sequence[Any]], Tensor] | None = None
    """(items, records) of these rows, which are items of several records then."""
    _others: dict[float, list[Tensor]] = field(default_factory=dict)

    def total(self, rows: Sequence[Any], clip: float, onto: Tensor | None = None) -> Tensor:
        """(p,) float64: `onto` and what a micro-batch of these rows adds to it."""
        trained = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        size = sum(p.numel() for p in trained.values())
        out = torch.zeros(size, dtype=torch.float64) if onto is None else onto.clone()
        parts = out.split([p.numel() for p in trained.values()])
        into = {n: part.view_as(p) for (n, p), part in zip(trained.items(), parts, strict=True)}
        clipped_gradient_sum(
            self.model,
            self.collate(rows),
            losses=self.losses,
            clip_norm=clip,
            grid=grid_step(clip, size),
            into=into,
            shares=None if self.shares is None else self.shares(rows),
        )
        return out

    def others(self, clip: float, examples: int) -> Tensor:
        """(p,) the sum of some micro-batches with that many examples in all, or a little fewer."""
        if clip not in self._others:
            generator = np.random.default_rng(5)
            drawn = ([self.draw(generator) for _ in range(self.rows)] for _ in range(3))
            self._others[clip] = [self.total(rows, clip) for rows in drawn]
        kinds = self._others[clip]
        total = torch.zeros_like(kinds[0])
        for i in range(examples // self.rows):
            total += kinds[i % len(kinds)]
        return total

    def neighbours(self, seed: int) -> DetectedSecret:
        """One pair of neighbouring batches."""
        generator = np.random.default_rng(seed)
        clip = float(generator.choice(CLIPS))
        before = self.others(clip, int(generator.choice(SIZES)) - self.rows)
        place = int(generator.integers(self.rows))
        beside, mine = [self.draw(generator) for _ in range(self.rows)], self.draw(generator)
        empty = [self.filler] * self.rows
        difference = self.total(_with(beside, place, mine), clip, before) - self.total(
            _with(beside, place, self.filler), clip, before
        )
        alone = self.total(_with(empty, place, mine), clip)
        return DetectedSecret(float(difference.norm()) / clip, torch.equal(difference, alone))


class Several(NamedTuple):
    """One item of several records; the last ones may be fillers."""

    records: tuple[Any, ...]
    shares: tuple[float, ...]


def in_items(setting: Setting, most: int) -> Setting:
    """Items of up to `most` records, each record as the setting draws its rows: a round averages them. In
    some items all records are one and the same."""

    def draw(generator: np.random.Generator) -> Several:
        used = int(generator.integers(1, most + 1))
        records = [setting.draw(generator) for _ in range(used)]
        if generator.random() < 0.25:
            records = records[:1] * used
        fillers = [setting.filler] * (most - used)
        return Several((*records, *fillers), (1 / used,) * used + (0.0,) * (most - used))

    return Setting(
        f"{setting.name}, {most} records an item",
        setting.model,
        setting.losses,
        setting.rows,
        draw,
        Several((setting.filler,) * most, (0.0,) * most),
        lambda items: setting.collate([row for item in items for row in item.records]),
        lambda items: torch.tensor([item.shares for item in items]),
    )


def _with(rows: Sequence[Any], place: int, row: Any) -> list[Any]:
    return [*rows[:place], row, *rows[place + 1 :]]


class Planes(nn.Module):
    """Losses linear in every output: left and right factors of each gradient are what the batch says."""

    def __init__(self, rows: int, columns: int, vocabulary: int) -> None:
        super().__init__()
        self.up = nn.Linear(columns, rows)
        self.embedding, self.head = (
            nn.Embedding(vocabulary, columns),
            nn.Linear(columns, vocabulary, bias=False),
        )
        self.head.weight = self.embedding.weight
        self.norm = nn.LayerNorm(columns)

    def forward(self, batch: tuple[Tensor, ...]) -> Tensor:
        ids, x, up, row, head = batch
        parts = ((self.up(x), up), (self.embedding(ids), row), (self.head(x), head), (self.norm(x), row))
        return sum((out * weight).sum((1, 2)) for out, weight in parts)


KINDS = (
    "random",
    "constant",
    "one token",
    "cancelling",
    "opposite",
    "denormal",
    "sparse",
    "huge",
    "infinite",
    "zero",
)


def plane_row(
    generator: np.random.Generator, kind: str, tokens: int, rows: int, columns: int, vocabulary: int
) -> tuple[Tensor, ...]:
    """ids (T,), x (T, columns) and the gradients of the outputs: the content of one adversarial example."""

    def normal(width: int) -> np.ndarray:
        return generator.standard_normal((tokens, width))

    ids, x = generator.integers(vocabulary, size=tokens), normal(columns)
    lefts = [normal(width) for width in (rows, columns, vocabulary)]
    scale = 10.0 ** generator.uniform(-6, 6)
    if kind == "constant":
        x, lefts = np.ones_like(x), [np.ones_like(left) for left in lefts]
    elif kind == "one token":
        ids[:] = ids[0]
        x[:] = x[0]
    elif kind == "cancelling":
        ids[:] = ids[0]
        x[:] = x[0]
        shares = generator.random((tokens, 1))
        lefts = [(shares - shares.mean()) * left[0] for left in lefts]
    elif kind == "opposite":
        x, scale = x * 1e17, 10.0 ** generator.uniform(-23, -17)
    elif kind == "denormal":
        scale = 1e-42
    elif kind == "sparse":
        x[1:] = 0
        lefts = [left * (np.arange(left.shape[1]) == 1) for left in lefts]
    elif kind == "huge":
        scale = 1e18
    elif kind == "infinite":
        lefts[0][0, 0] = np.inf
    elif kind == "zero":
        scale = 0.0
    floats = (torch.from_numpy(a).float() for a in (x, *(left * scale for left in lefts)))
    return torch.from_numpy(ids), *floats


def planes(tokens: int, rows: int, columns: int, vocabulary: int, *, half: bool = False) -> Setting:
    """Planes with examples of every kind, 4 a micro-batch."""
    torch.manual_seed(0)
    shape = (tokens, rows, columns, vocabulary)

    def losses(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=half, cache_enabled=False):
            return model(batch)

    def draw(generator: np.random.Generator) -> tuple[Tensor, ...]:
        return plane_row(generator, str(generator.choice(KINDS)), *shape)

    return Setting(
        f"planes {rows}×{columns}, T {tokens}, {'bf16' if half else 'fp32'}",
        Planes(rows, columns, vocabulary),
        losses,
        4,
        draw,
        plane_row(np.random.default_rng(0), "zero", *shape),
        lambda rows: tuple(torch.stack(column) for column in zip(*rows, strict=True)),
    )


class Weighted(NamedTuple):
    shown: Shown
    weight: float


def language(model: LanguageModel, name: str, length: int, rows: int = 8) -> Setting:
    """A language model on adversarial texts, each loss times a weight of its own from 0 to 1e30."""
    objective: Objective = model.objective
    vocabulary = model.network.get_input_embeddings().num_embeddings

    def draw(generator: np.random.Generator) -> Weighted:
        low = length - length // 8  # one bucket of `fixed_batches`
        tokens = generator.integers(5, vocabulary, size=int(generator.integers(low + 1, length)))
        kind = generator.integers(4)
        if kind == 0:
            tokens[:] = tokens[0]
        elif kind == 1:
            tokens[:] = np.resize(tokens[:3], len(tokens))
        weight = generator.choice([1.0, 1.0, 1.0, 1e-30, 1e-8, 1e6, 1e30, 0.0])
        return Weighted(objective.show(tokens, generator), float(weight))

    def collate(drawn: Sequence[Weighted]) -> tuple[MicroBatch, Tensor]:
        (batch,) = fixed_batches([[one.shown] for one in drawn], objective, len(drawn), length)
        return batch, torch.tensor([one.weight for one in drawn])

    def losses(network: nn.Module, batch: tuple[MicroBatch, Tensor]) -> Tensor:
        return model.losses(network, batch[0]) * batch[1]

    filler = Weighted(objective.filler(length - 1), 1.0)
    return Setting(f"{name}, {model.precision}", model.network, losses, rows, draw, filler, collate)


def gpt(*, lora: bool, precision: str, length: int = 48) -> Setting:
    model = byte_gpt(ByteGptModel(layers=1, width=32, heads=2), length, seed=1)
    if lora:
        model = with_lora(model, LoraConfig(rank=2, targets="all-linear"), seed=3)
    with torch.no_grad():
        for number, parameter in enumerate(model.network.parameters()):
            source = torch.Generator().manual_seed(number)
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=source))
    return language(model.at(precision), f"byte GPT{', LoRA' if lora else ''}", length)


def settings() -> list[Setting]:
    """fp32 and bf16, all parameters and LoRA; gradients kept, and told from outer products."""
    made = [planes(*shape, half=half) for shape in PLANES for half in (False, True)]
    return made + [gpt(lora=lora, precision=p) for lora in (False, True) for p in ("fp32", "bf16")]


PLANES = ((4, 8, 16, 11), (40, 16, 24, 50), (256, 32, 64, 40), (512, 24, 24, 30), (24, 264, 256, 300))
"""tokens, rows, columns, vocabulary; the last with matrices that are added up in fp32, and multiplied in bf16."""
