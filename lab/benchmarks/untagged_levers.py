"""What follows from untagged text, on the demo's tables: the plain phase, then certified rounds by variant.

Loss in bits per byte on held-out untagged text and on held-back TAGGED text, before the certified rounds and after.
Every variant keeps the promise of `hush demo`'s config: noise by `make_plan` for its own weights, rounds and batch.
Finished steps are kept under --work, so a stopped run goes on.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import torch

from flows.demo.repository import build_demo_repository
from hush_core.config import ByteGptModel, LoraConfig, TrainConfig, UntaggedConfig, load_config
from hush_core.plan import make_plan
from hush_core.secrets import extract
from hush_core.training import (
    OtherTexts,
    adapted,
    byte_gpt,
    fit_plain,
    fit_private,
    fit_untagged,
    load_model,
    save_model,
    split_public,
)
from hush_core.training.loop import frozen
from hush_core.weights import weigh
from hush_core.weights.settings import WeightSettings

MICRO_BATCH = 16
BASE = {"rounds": 20, "batch": 24, "c": 0.01}
FEW = {"freeze": ["embedding", "matrices"]}
VARIANTS: dict[str, dict] = {
    "all parameters, 1e-4": {"learning_rate": 1e-4},
    "all, 3e-4": {"learning_rate": 3e-4},
    "all, 1e-3": {"learning_rate": 1e-3},
    "biases and scales, 1e-3": FEW | {"learning_rate": 1e-3},
    "biases and scales, 3e-3": FEW | {"learning_rate": 3e-3},
    "all but the embedding, 3e-4": {"freeze": ["embedding"], "learning_rate": 3e-4},
    "adapters of rank 4, 1e-3": {"lora": 4, "learning_rate": 1e-3},
    "adapters of rank 4 with DoRA, 1e-3": {"lora": 4, "use_dora": True, "learning_rate": 1e-3},
    "biases and scales, 3e-3, warm-up and decay": FEW
    | {"learning_rate": 3e-3, "warmup_rounds": 3, "schedule": "cosine"},
    "biases and scales, 3e-3, 16 rounds of 30": FEW | {"learning_rate": 3e-3, "rounds": 16, "batch": 30},
    "biases and scales, 3e-3, 80 rounds of 6": FEW | {"learning_rate": 3e-3, "rounds": 80, "batch": 6},
    "biases and scales, adamw_bc, 3e-3": FEW | {"learning_rate": 3e-3, "optimizer": "adamw_bc"},
    "all, 64 mixed in, 3e-4": {"untagged_batch": 64, "learning_rate": 3e-4},
    "all, 64 mixed in, 1e-3": {"untagged_batch": 64, "learning_rate": 1e-3},
    "biases and scales, 64 mixed in, 3e-3": FEW | {"untagged_batch": 64, "learning_rate": 3e-3},
    "biases and scales, 3e-3, ema": FEW | {"learning_rate": 3e-3, "average": "ema", "average_decay": 0.9},
    "biases and scales, 3e-3, tail": FEW | {"learning_rate": 3e-3, "average": "tail"},
    "all, adamw_bc, 1e-4": {"optimizer": "adamw_bc", "learning_rate": 1e-4},
    "all, 1e-3, then plain steps": {"learning_rate": 1e-3, "heal": 100, "heal_rate": 1e-3},
}
"""Name → changes of rounds, batch (tagged examples alone), c, clip_norm, and of any key of `train`; `lora`: a rank,
`use_dora`; `heal`: plain steps on untagged text after the rounds, at `heal_rate`."""


def tables(work: Path) -> dict[str, pl.DataFrame]:
    """The demo's tables, extracted once."""
    names = ("examples", "public", "secrets", "edges")
    if not (work / "edges.parquet").exists():
        demo = build_demo_repository(work / "demo", full=True)
        found = extract(load_config(demo.config), b"k" * 32)
        for name in names:
            getattr(found, name).write_parquet(work / f"{name}.parquet")
    return {name: pl.read_parquet(work / f"{name}.parquet") for name in names}


class Split:
    """Examples by what may be done with them: every 20th is measured on, every 20th from the 10th on decides."""

    def __init__(self, examples: pl.DataFrame, edges: pl.DataFrame) -> None:
        texts = examples["text"].to_list()
        tagged = np.zeros(len(texts), dtype=bool)
        tagged[edges["example_id"].to_numpy()] = True
        free, held = np.flatnonzero(~tagged), np.flatnonzero(tagged)
        place = np.arange(len(free)) % 20
        pick = lambda ids: [texts[i] for i in ids]  # noqa: E731
        self.texts, self.held_back = texts, held[::20]
        self.untagged = pick(free[(place != 0) & (place != 10)])
        self.validation, self.held_out = pick(free[place == 10]), pick(free[place == 0])
        self.tagged_back, self.tagged = pick(self.held_back), pick(np.setdiff1d(held, self.held_back))


def losses(model, split: Split) -> dict[str, float]:
    """Bits per byte by kind of text."""
    kinds = {
        "untagged": split.held_out,
        "validation": split.validation,
        "tagged held back": split.tagged_back,
    }
    return {kind: round(model.evaluate(texts, max_examples=len(texts)), 4) for kind, texts in kinds.items()}


def plan_of(split: Split, frames: dict[str, pl.DataFrame], settings: dict):
    """Weights for tagged examples alone, held-back ones at 0, and the noise that the demo's targets take."""
    edges, secrets = frames["edges"], frames["secrets"]
    rule = WeightSettings(rule="normal_quantiles", c=settings["c"], without_secret="drop")
    weights = weigh(edges, secrets, n_examples=len(split.texts), settings=rule).weights.copy()
    weights[split.held_back] = 0
    return make_plan(
        weights, edges, secrets, rounds=settings["rounds"], expected_batch=settings["batch"],
        clip_norm=settings.get("clip_norm", 1.0),
    )  # fmt: skip


def run(name: str, changes: dict, start: Path, split: Split, frames, seed: int) -> dict:
    """One variant from the state after the plain phase."""
    settings = BASE | changes
    plan = plan_of(split, frames, settings)
    model = load_model(start)
    if "lora" in settings:
        targets = ("c_attn", "c_fc", "c_proj")
        rank, dora = settings["lora"], settings.get("use_dora", False)
        model = adapted(model, LoraConfig(rank=rank, alpha=rank, targets=targets, use_dora=dora))
    keys = {k: v for k, v in settings.items() if k in TrainConfig.model_fields}
    config = TrainConfig(
        **{"learning_rate": 3e-4, "micro_batch": MICRO_BATCH, "checkpoint_every": 10_000} | keys
    )
    with frozen(model.network, config.freeze):
        trained = sum(p.numel() for p in model.network.parameters() if p.requires_grad)
    torch.manual_seed(seed)
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        fit_private(
            plan, split.texts, model, config, Path(folder) / "w",
            others=OtherTexts(untagged=split.untagged, validation=split.validation),
        )  # fmt: skip
    after = losses(model, split)
    if heal := settings.get("heal"):
        fit_untagged(
            split.untagged, split.validation, model,
            UntaggedConfig(steps=heal, evaluate_every=25, learning_rate=settings["heal_rate"]),
            micro_batch=MICRO_BATCH, seed=seed,
        )  # fmt: skip
        after = {f"{k}, unhealed": v for k, v in after.items()} | losses(model, split)
    return {
        "variant": name, "seed": seed, "settings": settings, "sigma": round(plan.noise_multiplier, 3),
        "drawn": int(np.count_nonzero(plan.rates)),
        "distinct": round(float((1 - (1 - plan.rates) ** plan.rounds).sum()), 1),
        "trained": trained,
        "cpu_seconds": round(time.process_time() - began), **after,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--variants", default="", help="names, comma-separated; all by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--small", action="store_true", help="1 layer of width 64 on the first 128 bytes")
    parser.add_argument("--json", type=json.loads, default={}, help="more variants")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    frames = tables(args.work)
    longest = 128 if args.small else 1 << 20
    for name in ("examples", "public"):
        frames[name] = frames[name].with_columns(pl.col("text").bin.slice(0, longest))
    split = Split(frames["examples"], frames["edges"])
    print(f"{len(split.untagged)} untagged, {len(split.tagged)} tagged to train on; "
          f"{len(split.held_out)} and {len(split.tagged_back)} held out")  # fmt: skip
    config = load_config(args.work / "demo" / "demo.yaml")
    if not (args.work / "start").exists():
        shape = ByteGptModel(layers=1, width=64, heads=4) if args.small else config.model
        model = byte_gpt(shape, 128 if args.small else config.chunk_bytes, seed=20250607)
        public, _ = split_public(frames["public"]["text"].to_list())
        pre = config.pretrain
        fit_plain(public, model, steps=pre.steps, batch=pre.batch, learning_rate=pre.learning_rate,
                  micro_batch=MICRO_BATCH, seed=20250607)  # fmt: skip
        save_model(model, args.work / "start")
    if not (args.work / "plain").exists():
        model = load_model(args.work / "start")
        print("start", losses(model, split), flush=True)
        tell = lambda stage, done, most: done % 100 or print(stage, done, losses(model, split), flush=True)  # noqa: E731
        done = fit_untagged(
            split.untagged, split.validation, model, UntaggedConfig(steps=1000, evaluate_every=100, patience=3),
            micro_batch=MICRO_BATCH, seed=1, progress=tell,
        )  # fmt: skip
        print("plain", done.steps, done.curve)
        save_model(model, args.work / "plain")
    print("before", losses(load_model(args.work / "plain"), split), flush=True)
    every = VARIANTS | args.json
    for name in args.variants.split(",") if args.variants else every:
        for seed in range(args.seeds):
            row = run(name, every[name], args.work / "plain", split, frames, seed)
            print(json.dumps(row), flush=True)
            with open(args.work / "rows.jsonl", "a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
