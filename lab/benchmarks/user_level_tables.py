"""Tables 2 to 6 of Chua et al. 2024 (user-level DP) on real users' records, the paper's figures beside ours.

    python lab/benchmarks/user_level_tables.py --data changelog --work user_level_work
    python lab/benchmarks/user_level_tables.py --data mails --public arxiv_public_20k.parquet --work user_level_work
    python lab/benchmarks/user_level_tables.py --report --work user_level_work --picture docs/figures/user_level.png

A byte GPT, trained on public text, is fine-tuned by LoRA on records whose units are users. All cells show the same
number of records in expectation (`Settings.batch` a round, `Settings.rounds` rounds); a unit of user-wise DP-SGD
counts as the records that it shows. (One more table has equal units a round.) The learning rate is the best of
RATES for each mechanism and ε, tried at k = 5 with random records, by text that no table is measured on. Every
finished cell is a line of cells.jsonl in --work, so that a stopped run goes on. ChangeLogs come by apt, mails by
npm, abstracts from --private and --public.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np
import torch
from user_level_cells import NONE, Cell, Planned, Settings, planned, trained
from user_level_data import UserData, abstracts, read_abstracts, read_change_logs, read_mails
from user_level_report import report

from hush_core.config import ByteGptModel
from hush_core.mechanisms import scores
from hush_core.training import byte_gpt, fit_plain, load_model, save_model
from hush_core.training.language_model import loss_by_itself

SETTINGS = Settings(rounds=12, batch=256, context=64, delta=1e-5, clip_norm=1.0, lora=8)
EPSILONS = (1.0, 3.0, 8.0)
MIDDLE = 3.0
RECORDS = (2, 5, 10)
TRIED_AT = 5
COMPARED_AT = 10
"""k of the tables of selections, as the paper's."""
RATES = (1e-2, 3e-2)
SELECTIONS = ("chunks", "longest", "shortest", "highest_perplexity", "lowest_perplexity")
KINDS = ("group_privacy", "user_wise")
START = ((3e-3, 1500), (1e-3, 300))
"""Learning rate and steps of the public start, in batches of 32."""
HELD_OUT, MOST_RECORDS, ABSTRACTS = 1500, 100, 4000


def cells(seeds: list[int], rates: dict[tuple[str, float], float], units: int) -> Iterator[Cell]:
    """What the tables are of; what tells most comes first. units: those of a round of user-wise at TRIED_AT."""
    for seed in seeds:
        for records in RECORDS:
            for epsilon in (*EPSILONS, NONE):
                for kind in KINDS:
                    yield Cell(kind, "random", records, epsilon, rates[kind, epsilon], seed)
        for epsilon in EPSILONS:
            for records in set(RECORDS) - {TRIED_AT}:
                yield Cell("user_wise", "random", records, epsilon, rates["user_wise", epsilon], seed, units)
        yield from _selections(seed, MIDDLE, rates, SELECTIONS[:3])
    for epsilon in sorted(EPSILONS, key=lambda one: one != MIDDLE):
        for seed in seeds:
            yield from _selections(seed, epsilon, rates, SELECTIONS)


def _selections(
    seed: int, epsilon: float, rates: dict[tuple[str, float], float], selections: tuple[str, ...]
) -> Iterator[Cell]:
    for select in selections:
        for kind in KINDS:
            if kind == "user_wise" or select != "chunks":
                yield Cell(kind, select, COMPARED_AT, epsilon, rates[kind, epsilon], seed)


class Bench:
    """One data set with its start, scores, plans and finished cells, all kept in a folder."""

    def __init__(self, data: UserData, work: Path, settings: Settings, steps: tuple = START) -> None:
        self.data, self.settings = data, settings
        self.start, self._kept = work / "start", work / "cells.jsonl"
        self._work = work
        if not self.start.exists():
            save_model(_public_start(data, settings.context, steps), self.start)
        lines = self._kept.read_text().splitlines() if self._kept.exists() else []
        self.rows = [json.loads(line) for line in lines]
        self.plan = cache(self._plan)

    def row(self, cell: Cell) -> dict:
        """Trained now, or earlier."""
        for row in self.rows:
            kept = {"units": 0, **row, "epsilon": NONE if row["epsilon"] is None else row["epsilon"]}
            if all(kept[key] == value for key, value in asdict(cell).items()):
                return row
        made = self.plan(*cell.planned)
        row = trained(self.data, cell, made, self.start, self.settings)
        self.rows.append(row)
        with self._kept.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(
            f"{row['kind']:>13} {row['select']:<18} k {row['records']:>2} ε {row['epsilon'] or '∞':>3} "
            f"rate {row['learning_rate']:g} seed {row['seed']}: σ {row['sigma'] or 0:.3f}, {row['bits']:.4f} bits, "
            f"{row['cpu_seconds']:.1f} s",
            flush=True,
        )
        return row

    def rates(self) -> dict[tuple[str, float], float]:
        """(mechanism, ε) → the best of RATES by the choosing half of held-out text."""
        found = {}
        for epsilon in (*EPSILONS, NONE):
            for kind in KINDS:
                tried = [self.row(Cell(kind, "random", TRIED_AT, epsilon, rate, 0)) for rate in RATES]
                found[kind, epsilon] = min(tried, key=lambda row: row["chosen_by"])["learning_rate"]
        return found

    def _plan(self, *what: object) -> Planned:
        cell = Cell(*what[:4], 0.0, 0, *what[4:])
        return planned(self.data, cell, self.settings, self._scores)

    def _scores(self, select: str) -> np.ndarray | None:
        """Lengths, or losses by the public start, which take a while and are kept."""
        if "perplexity" not in select:
            return scores(self.data.texts, self.data.edges, select)
        path = self._work / "losses.npy"
        if not path.exists():
            loss = loss_by_itself(load_model(self.start))
            np.save(path, scores(self.data.texts, self.data.edges, select, loss))
        return np.load(path)


def _public_start(data: UserData, context: int, steps: tuple):
    model = byte_gpt(ByteGptModel(layers=1, width=64, heads=4), context, seed=1)
    for rate, count in steps:
        fit_plain(data.public, model, steps=count, batch=32, learning_rate=rate, micro_batch=32, seed=count)
    return model


def read(name: str, asked: argparse.Namespace) -> UserData:
    how = {"context": SETTINGS.context, "held_out": HELD_OUT, "most_records": MOST_RECORDS}
    if name == "changelog":
        data = read_change_logs(asked.work, **how)
        if asked.public:  # gnulib's people are mostly glibc's, so little is left of it
            data.public.extend(one.text[: SETTINGS.context] for one in abstracts(asked.public)[:ABSTRACTS])
        return data
    if name == "mails":
        return read_mails(asked.work, asked.public, **how)
    return read_abstracts(asked.private, asked.public, **how, most_users=20_000)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", choices=["changelog", "mails", "arxiv"], nargs="*", default=[])
    parser.add_argument("--private", type=Path, help="parquet: abstract, first_author")
    parser.add_argument("--public", type=Path, help="parquet of older abstracts, for the start")
    parser.add_argument("--work", type=Path, default=Path("user_level_work"))
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--report", action="store_true", help="the tables of what is there; trains nothing")
    parser.add_argument("--picture", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for name in asked.data:
        work = asked.work / name
        work.mkdir(parents=True, exist_ok=True)
        kept = work / "data.pickle"
        if not kept.exists():
            kept.write_bytes(pickle.dumps(read(name, asked)))
        data = pickle.loads(kept.read_bytes())
        print(json.dumps(data.described()), flush=True)
        (work / "data.json").write_text(json.dumps(data.described()))
        bench = Bench(data, work, SETTINGS)
        rates = bench.rates()
        units = bench.row(Cell("user_wise", "random", TRIED_AT, MIDDLE, rates["user_wise", MIDDLE], 0))[
            "batch"
        ]
        for cell in cells(asked.seeds, rates, units):
            bench.row(cell)
    if asked.report:
        report(asked.work, asked.picture)


if __name__ == "__main__":
    main()
