"""What a step over items of k records costs, against one over as many examples of one record each.

    python lab/benchmarks/user_wise_cost.py [--items 8] [--records 1 2 5 10] [--repeats 7]

Chua et al. 2024, table 12 (LoRA, k = 10): 1.01 to 1.06 times a step of group privacy over as many records, 1.07 to
1.09 times a step without privacy. All steps see the same records at the same lengths, in micro-batches of as many
rows; the private ones clip and add noise, all step AdamW. Processor time, interleaved; each ratio is of neighbours
in time, and their median is printed with the least and the greatest. Writes JSON where --out names a file.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from hush_core.config import ByteGptModel, LoraConfig
from hush_core.memory import kept_for_reuse
from hush_core.training import LanguageModel, SecureGaussian, byte_gpt, clipped_gradient_sum, with_lora
from hush_core.training.data import MicroBatch, Shown
from hush_core.training.noise import add_noise, clip_within_grid, grid_step
from hush_core.training.rounds import fixed_batches
from hush_core.training.update import make_optimizer

CLIP, SIGMA, MICRO_BATCH = 1.0, 1.0, 32
PAPER = {"examples": (1.009, 1.056), "plain": (1.06, 1.09)}
"""Table 12: user-wise against group privacy (12.82/12.70 to 68.45/64.80), and against no privacy."""


def models(tokens: int) -> dict[str, LanguageModel]:
    """A small byte GPT, as it is and with adapters, and a wider one with a larger vocabulary."""
    gpt = byte_gpt(ByteGptModel(layers=4, width=256, heads=4), tokens, seed=1)
    config = GPT2Config(
        vocab_size=8192, n_positions=tokens + 1, n_embd=384, n_layer=2, n_head=6, bos_token_id=0, eos_token_id=0,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    torch.manual_seed(0)
    wide = LanguageModel(GPT2LMHeadModel(config), gpt.tokenizer, gpt.objective, gpt.context)
    adapted = with_lora(
        byte_gpt(ByteGptModel(layers=4, width=256, heads=4), tokens, seed=1), LoraConfig(rank=8)
    )
    return {"byte GPT 4×256": gpt, "byte GPT 4×256, LoRA": adapted, "GPT-2 2×384, V 8192": wide}


class PlainStep:
    """A step without privacy over the same micro-batches."""

    def __init__(self, model: LanguageModel, parts: list[MicroBatch], batch: int) -> None:
        self.model, self.parts, self.batch = model, parts, batch
        self.optimizer = make_optimizer(model.network, "adamw", 1e-4)

    def __call__(self) -> float:
        """Seconds of processor time."""
        start = time.process_time()
        self.optimizer.zero_grad()
        for part in self.parts:
            (self.model.losses(self.model.network, part).sum() / self.batch).backward()
        self.optimizer.step()
        taken = time.process_time() - start
        self.optimizer.zero_grad()
        return taken


class Step:
    """A whole private step over given micro-batches."""

    def __init__(self, model: LanguageModel, parts: list[MicroBatch], batch: int) -> None:
        self.model, self.parts, self.batch = model, parts, batch
        self.trained = {n: p for n, p in model.network.named_parameters() if p.requires_grad}
        self.size = sum(p.numel() for p in self.trained.values())
        self.optimizer = make_optimizer(model.network, "adamw", 1e-4)

    def __call__(self) -> float:
        """Seconds of processor time."""
        start, size = time.process_time(), self.size
        total = torch.zeros(size, dtype=torch.float64)
        parts = total.split([p.numel() for p in self.trained.values()])
        views = [part.view_as(p) for part, p in zip(parts, self.trained.values(), strict=True)]
        into = dict(zip(self.trained, views, strict=True))
        for part in self.parts:
            clipped_gradient_sum(
                self.model.network, part, losses=self.model.losses, clip_norm=clip_within_grid(CLIP, size),
                grid=grid_step(CLIP, size), into=into, shares=part.shares,
            )  # fmt: skip
        add_noise(total.numpy(), SecureGaussian(), 0, scale=SIGMA * CLIP, clip_norm=CLIP)
        for (name, p), view in zip(self.trained.items(), views, strict=True):
            p.grad = view.div_(self.batch).float()
            assert into[name] is view
        self.optimizer.step()
        return time.process_time() - start


def measured(model: LanguageModel, tokens: int, items: int, records: int, repeats: int) -> dict:
    """Ratios of the step over items to the step over examples."""
    generator = np.random.default_rng(0)
    most = min(model.network.get_input_embeddings().num_embeddings, 8000)
    drawn: list[Shown] = [
        model.objective.show(generator.integers(4, most, size=tokens), generator)
        for _ in range(items * records)
    ]
    pools = [drawn[i * records : (i + 1) * records] for i in range(items)]
    rows = MICRO_BATCH // records * records or records
    single = fixed_batches([[one] for one in drawn], model.objective, rows, tokens)
    ways: dict[str, PlainStep | Step] = {
        "items": Step(
            model, fixed_batches(pools, model.objective, rows // records, tokens, most=records), items
        ),
        "examples": Step(model, single, items * records),
        "plain": PlainStep(model, single, items * records),
    }
    for step in ways.values():
        step()
    ratios: dict[str, list[float]] = {"examples": [], "plain": []}
    for turn in range(repeats):
        order = list(ways) if turn % 2 else list(ways)[::-1]
        taken = {name: ways[name]() for name in order}
        for name, found in ratios.items():
            found.append(taken["items"] / taken[name])
    medians = {name: (statistics.median(found), min(found), max(found)) for name, found in ratios.items()}
    return {"records": records, "items": items, "tokens": tokens, "against": medians}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=8)
    parser.add_argument("--records", type=int, nargs="+", default=[1, 2, 5, 10])
    parser.add_argument("--models", nargs="+", help="by their names (all)")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    found = []
    with kept_for_reuse():
        for name, model in models(asked.tokens).items():
            if asked.models and name not in asked.models:
                continue
            for records in asked.records:
                row = {
                    "model": name,
                    **measured(model, asked.tokens - 1, asked.items, records, asked.repeats),
                }
                found.append(row)
                for other, (middle, least, most) in row["against"].items():
                    print(f"{name}, k = {records}, against {other}: {middle:.3f} ({least:.3f} to {most:.3f})")
    for other, (least, most) in PAPER.items():
        print(f"Chua et al., table 12, against {other}: {least} to {most}")
    if asked.out:
        asked.out.write_text(json.dumps({"rows": found, "paper": PAPER}, indent=1))


if __name__ == "__main__":
    main()
