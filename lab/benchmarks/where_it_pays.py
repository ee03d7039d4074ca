"""Where certified rounds pay: two corpora with thousands of secrets, every way at one promise and equal compute.

    OMP_NUM_THREADS=1 .venv/bin/python lab/benchmarks/where_it_pays.py --work where_it_pays_work \
        --private arxiv_private_100k.parquet --public arxiv_public_20k.parquet

A row is one training, kept in `rows.jsonl` of the folder as it ends; a stopped run goes on from there. All ways
go on from the start of their seed. Ways with noise first train on public and untagged text alone, then make their
rounds, as a job does. The noise is what `make_plan` needs for p = 1e-10 → r = 1e-4 of each secret;
the draws are fresh. Rates are chosen on validation texts (`--choose`), which are not the ones reported.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from where_it_pays_data import CONTEXT, Place, read_arxiv, read_arxiv_unlike, read_gcc, read_gcc_unlike

from hush_core.config import ByteGptModel, GroupPrivacyMechanism, TrainConfig, UserWiseMechanism
from hush_core.mechanisms import filling, item_texts, lay_out, plan_of
from hush_core.plan import ProtectionPlan, make_plan
from hush_core.training import (
    LanguageModel,
    OtherTexts,
    byte_gpt,
    fit_plain,
    fit_private,
    load_model,
    save_model,
)
from hush_core.weights import WeightSettings

SHAPE = ByteGptModel(layers=1, width=64, heads=4)
START_STEPS, BATCH = 1600, 16
EXAMPLES = 16_384
"""Worked through by every way after the start."""
ROUNDS, DRAWN = 16, 4096
"""Of ways with noise: rounds, and tagged records drawn in all of them, out of EXAMPLES."""
UNTAGGED = 16_000
"""That the step's scale is taken from."""
RECORDS = 4
"""Of user-wise and group DP-SGD: records of an item, and of a secret."""
FALLING = ((1.0, 0.5), (0.3, 0.3), (0.1, 0.2))
"""Factor of the learning rate, and share of the steps."""
PLAIN_RATE = 2e-3
MICRO_BATCH = 64


@dataclass(frozen=True)
class Way:
    """rate: of the rounds, by place, or of the plain steps."""

    name: str
    kind: str
    rate: dict[str, float]
    settings: tuple[tuple[str, object], ...] = ()

    def config(self, plan: ProtectionPlan, place: str, rate: float | None) -> TrainConfig:
        return TrainConfig(
            rounds=plan.rounds, batch=plan.expected_batch, micro_batch=MICRO_BATCH, checkpoint_every=plan.rounds,
            learning_rate=rate or self.rate[place], schedule="linear", untagged_batch=self.mixed(place),
            **dict(self.settings),
        )  # fmt: skip

    def mixed(self, place: str) -> int:
        """Untagged examples mixed into each round."""
        return MIXED[place] if self.settings == SCALED else 0


Rate = TypeVar("Rate", int, float)
PLACES = "gcc", "arxiv", "gcc unlike", "arxiv unlike"


def _both(rate: Rate) -> dict[str, Rate]:
    return dict.fromkeys(PLACES, rate)


FEW = (("optimizer", "adamw"), ("freeze", ("embedding", "matrices")))
SCALED = (("optimizer", "preconditioned"),)
NEW = _both(0.006) | dict.fromkeys(PLACES[2:], 0.048)
MIXED = _both(0) | dict.fromkeys(PLACES[2:], 128)
WAYS = (
    Way("leave out", "plain untagged", _both(PLAIN_RATE)),
    Way("unprotected", "plain all", _both(PLAIN_RATE)),
    Way("noise: the new step", "once", NEW, SCALED),
    Way("noise: biases and scales, AdamW", "noise", _both(3e-3) | dict.fromkeys(PLACES[2:], 0.01), FEW),
    Way("drawn by example: the new step", "noise", NEW, SCALED),
    Way("user-wise DP-SGD, the new step", "user_wise", NEW, SCALED),
    Way("group DP-SGD, the new step", "group_privacy", NEW, SCALED),
    Way("paper: kl, the new step", "kl", NEW, SCALED),
)
"""once: a round draws a secret at most once, with as many of its records as make up the round together."""


def equal_weights(edges, n: int) -> np.ndarray:
    """(n,): every secret's examples weigh 1 together, so that all of them bind."""
    owners = edges["secret_id"].to_numpy()
    weights = np.zeros(n)
    weights[edges["example_id"].to_numpy()] = 1 / np.bincount(owners)[owners]
    return weights


@cache
def planned(place: Place, kind: str, secrets: int) -> tuple[ProtectionPlan, list]:
    """The plan of a way at this promise, and the texts of its items."""
    edges, table = place.edges(secrets)
    texts, n, batch = place.tagged.train, len(place.authors), DRAWN // ROUNDS
    how = {"rounds": ROUNDS, "clip_norm": 1.0}
    if kind in ("noise", "kl"):
        weights = equal_weights(edges, n) if kind == "noise" else np.ones(n)
        method = "best" if kind == "noise" else "kl"
        return make_plan(weights, edges, table, expected_batch=batch, method=method, **how), texts
    records = max(1, math.ceil(batch / table.height)) if kind == "once" else RECORDS
    if kind == "group_privacy":
        mechanism = GroupPrivacyMechanism(kind=kind, records=records, select="random")
    else:
        mechanism = UserWiseMechanism(kind="user_wise", records=records, select="random")
    laid = lay_out(
        edges, table, n_examples=n, mechanism=mechanism, settings=WeightSettings(rule="kl", c=None)
    )
    weights = laid.weighing.weights
    batch = batch if kind == "group_privacy" else batch // records
    plan = plan_of(
        mechanism, weights, laid.edges, table, expected_batch=min(batch, int((weights > 0).sum())), **how
    )
    if laid.items is not None and laid.items.pools is not None:
        texts = item_texts(texts, filling(mechanism, weights, laid.items.pools, None))
    return plan, texts


@dataclass(frozen=True, eq=False)
class Bench:
    place: Place
    work: Path

    def start(self, seed: int) -> LanguageModel:
        """On public and untagged text in equal parts, at falling rates."""
        path = self.work / f"start {self.place.name} {seed}"
        if not path.exists():
            model = byte_gpt(SHAPE, CONTEXT, seed=seed)
            self._plain(model, "plain untagged", START_STEPS, 3 * PLAIN_RATE, seed)
            save_model(model, path)
        return load_model(path)

    def before_rounds(self, seed: int, mixed: int) -> LanguageModel:
        """What rounds that mix in so many untagged examples leave of EXAMPLES, on public and untagged text."""
        path = self.work / f"before rounds {self.place.name} {seed} {mixed}"
        if not path.exists():
            model = self.start(seed)
            left = EXAMPLES - DRAWN - ROUNDS * mixed
            self._plain(model, "plain untagged", left // BATCH, PLAIN_RATE, seed + 50)
            save_model(model, path)
        return load_model(path)

    def trained(
        self, way: Way, secrets: int, seed: int, rate: float | None = None
    ) -> tuple[LanguageModel, dict]:
        """After the start, by this way; what its plan is."""
        if way.kind.startswith("plain"):
            model = self.start(seed)
            self._plain(model, way.kind, EXAMPLES // BATCH, rate or way.rate[self.place.name], seed + 50)
            return model, {}
        model = self.before_rounds(seed, way.mixed(self.place.name))
        plan, texts = planned(self.place, way.kind, secrets)
        assert (plan.certificates["bound"] <= plan.certificates["posterior"]).all()
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            fit_private(
                plan, texts, model, way.config(plan, self.place.name, rate), Path(folder) / "run",
                others=OtherTexts(untagged=self._untagged()),
            )  # fmt: skip
        signal = plan.expected_batch * plan.rounds**0.5 / plan.noise_multiplier
        return model, {"sigma": plan.noise_multiplier, "batch": plan.expected_batch, "signal": signal}

    def _untagged(self) -> list[bytes]:
        """As many public pieces as untagged ones, shuffled."""
        half = UNTAGGED // 2
        mixed = [*self.place.public[:half], *self.place.untagged.train[:half]]
        return [mixed[i] for i in np.random.default_rng(0).permutation(len(mixed))]

    def _plain(self, model: LanguageModel, kind: str, steps: int, rate: float, seed: int) -> None:
        other = self.place.public if kind == "plain untagged" else self.place.tagged.train
        pools = (other, self.place.untagged.train)
        rates = np.concatenate([np.full(len(pool), BATCH / 2 / len(pool)) for pool in pools])
        for stage, (factor, share) in enumerate(FALLING):
            fit_plain(
                [*pools[0], *pools[1]], model, steps=round(share * steps), batch=BATCH, rates=rates,
                learning_rate=factor * rate, micro_batch=MICRO_BATCH, seed=100 * seed + stage,
            )  # fmt: skip

    def losses(self, model: LanguageModel, part: str) -> dict[str, float]:
        """Bits a byte of a part of both kinds, and of the corpus."""
        found = {
            kind: model.evaluate(getattr(getattr(self.place, kind), part), max_examples=10_000)
            for kind in ("tagged", "untagged")
        }
        share = self.place.share
        return found | {"corpus": share * found["tagged"] + (1 - share) * found["untagged"]}


class Rows:
    """What was trained: one line each, as it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.all = [json.loads(line) for line in lines]

    def get(self, key: dict, make: Callable[[], dict]) -> dict:
        for row in self.all:
            if all(row.get(name) == value for name, value in key.items()):
                return row
        began = time.process_time()
        row = key | make() | {"cpu_seconds": time.process_time() - began}
        self.all.append(row)
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)
        return row


def cell(bench: Bench, rows: Rows, way: Way, secrets: int, seed: int, rate: float | None = None) -> dict:
    """One row; with a rate: of the choice among rates, on validation texts."""
    part = "judged" if rate is None else "validation"
    key = {
        "place": bench.place.name, "way": way.name, "secrets": secrets, "seed": seed, "part": part, "rate": rate,
    }  # fmt: skip

    def make() -> dict:
        model, plan = bench.trained(way, secrets, seed, rate)
        return plan | bench.losses(model, part)

    return rows.get(key, make)


def _read(name: str, options: argparse.Namespace) -> Place:
    """Read once, then kept in the folder."""
    kept = options.work / f"{name}.place"
    if not kept.exists():
        place = {
            "gcc": lambda: read_gcc(options.work),
            "gcc unlike": lambda: read_gcc_unlike(options.work),
            "arxiv": lambda: read_arxiv(options.private, options.public),
            "arxiv unlike": lambda: read_arxiv_unlike(options.private, options.work),
        }[name]()
        kept.write_bytes(pickle.dumps(place))
    return pickle.loads(kept.read_bytes())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--private", type=Path, required=True)
    parser.add_argument("--public", type=Path, required=True)
    parser.add_argument("--places", nargs="+", default=PLACES)
    parser.add_argument(
        "--ways", nargs="+", default=[way.name for way in WAYS], help="beginnings of their names"
    )
    parser.add_argument("--starts", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--secrets", nargs="+", type=int, help="numbers of teams in place of all authors")
    parser.add_argument("--choose", nargs="+", type=float, help="learning rates, on validation texts")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    options.work.mkdir(exist_ok=True)
    rows = Rows(options.work / "rows.jsonl")
    for name in options.places:
        place = _read(name, options)
        everyone = int(place.authors.max()) + 1
        bench = Bench(place, options.work)
        ways = [way for way in WAYS if way.name.startswith(tuple(options.ways))]
        chosen = product(options.starts, ways, options.secrets or [everyone], options.choose or [None])
        for seed, way, secrets, rate in chosen:
            cell(bench, rows, way, secrets, seed, rate)


if __name__ == "__main__":
    main()
