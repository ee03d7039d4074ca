"""Does the rehearsal rank plans as the real runs do? Predicted against real loss, on the demo's repository.

The demo's tables (real code, planted credentials, owners, paths), its promise and its method. Plans are drawn at
random, with a fixed seed, from the space that `hush plan --rehearse` searches; the config as it stands is first.
Each is calibrated on the real graph, rehearsed on untagged text, and then run for real, on the tagged examples:

    noise    every example takes part in the certified rounds; the real loss is that on held-out untagged text
    plain    ordinary training on untagged text first, then the rounds on tagged examples alone; the real loss is
             that on held-out untagged and on held-back tagged text, by their shares of the corpus, which is what
             the rehearsal predicts

Printed: both losses of each plan, and Spearman's rank correlation for each mode (the target is 0.9). Finished runs
are kept in --work, so that a stopped benchmark goes on. Sized for a quarter of an hour of one quiet core; --quick
takes a fraction, and shows only that it works.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from scipy.stats import spearmanr

from flows.demo.repository import build_demo_repository
from hush_core.accounting import noise_for_all
from hush_core.config import ByteGptModel, Changes, HushConfig, load_config
from hush_core.errors import HushError
from hush_core.plan import ProtectionPlan
from hush_core.rehearsal import (
    Budget,
    MeasuredTexts,
    Roles,
    rehearsal_plan,
    rehearsal_roles,
    rehearse,
    space_of,
)
from hush_core.rehearsal.rehearse import losses
from hush_core.rehearsal.stand_ins import untagged_texts
from hush_core.secrets import extract
from hush_core.training import (
    LanguageModel,
    OtherTexts,
    byte_gpt,
    fit_plain,
    fit_private,
    load_model,
    save_model,
)
from hush_core.weights import expected_distinct, sampling_rates, weigh, weight_settings

TARGET = 0.9
MODES = ("noise", "plain")
KEY = b"hush benchmark identity"
ONE_IN = 20
"""So many examples have one that is kept out of training to measure on, untagged and tagged alike."""


@dataclass(frozen=True)
class Data:
    """The demo's tables and who is what in them; ids of examples throughout."""

    texts: list[bytes]
    files: list[str]
    public: list[bytes]
    edges: pl.DataFrame
    secrets: pl.DataFrame
    tagged: np.ndarray
    held_back: np.ndarray
    """Tagged, and never trained on."""
    held_out: np.ndarray
    """Untagged, likewise."""

    @property
    def drawn(self) -> pl.DataFrame:
        """The edges of what may be drawn."""
        return self.edges.filter(~pl.col("example_id").is_in(self.held_back.tolist()))

    def pick(self, ids: np.ndarray) -> list[bytes]:
        return [self.texts[i] for i in ids]


def main() -> None:
    arguments = _arguments()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    arguments.work.mkdir(parents=True, exist_ok=True)
    demo = build_demo_repository(arguments.work / "demo", full=True)
    config = load_config(demo.config)
    data = _tables(config, arguments.work)
    result: dict[str, Any] = {}
    for mode in arguments.mode or MODES:
        weights = config.weights.model_copy(update={"without_secret": mode})
        audit = config.audit.model_copy(update={"held_back": True})
        train = config.train.model_copy(update={"untagged_batch": 0} if mode == "noise" else {})
        here = config.model_copy(update={"weights": weights, "audit": audit, "train": train})
        rows = _rows(here, data, mode, arguments)
        result[mode] = {"rows": rows, "spearman": _show(mode, rows)}
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=2) + "\n")


def _rows(config: HushConfig, data: Data, mode: str, arguments: argparse.Namespace) -> list[dict]:
    made = rehearsal_roles(data.edges, n_examples=len(data.texts), plain=mode == "plain", files=data.files)
    print(
        f"{mode}: {len(data.tagged):,} of {len(data.texts):,} examples tagged; {len(made.stand_ins):,} stand in, "
        f"{len(made.rest):,} trained on before",
        flush=True,
    )
    untagged = np.setdiff1d(np.arange(len(data.texts)), [*data.tagged, *data.held_out, *made.validation])
    real = _start(data, "plain-real" if mode == "plain" else "public", untagged, arguments)
    acted = _start(data, "plain-acted" if mode == "plain" else "public", made.rest, arguments)
    rows = []
    mixed = (data.pick(made.rest), data.pick(untagged)) if mode == "plain" else ((), ())
    for point in _points(config, data, arguments):
        if len(rows) == arguments.plans:
            break
        priced = _price(config, data, point)
        if priced is None:
            continue
        plan, settings = priced
        done = arguments.work / f"{mode}-{_name(point, arguments)}.json"
        if not done.exists():
            predicted = _rehearse(data, made, plan, settings, acted, mixed[0])
            outcome = _run(data, plan, settings, real, mode, mixed[1])
            facts = {"sigma": plan.noise_multiplier, "distinct": expected_distinct(plan.rates, plan.rounds)}
            row = point.model_dump(exclude_none=True) | facts | {"predicted": predicted, "real": outcome}
            done.write_text(json.dumps(row))
        rows.append(json.loads(done.read_text()))
        print("  " + _line(rows[-1]), flush=True)
    return rows


def _points(config: HushConfig, data: Data, arguments: argparse.Namespace):
    """The config as it stands, then points of the space at random."""
    space = space_of(config, Budget(examples=arguments.examples), largest_batch=len(data.texts) // 4)
    yield space.own
    chance = _AtRandom(np.random.default_rng(arguments.seed))
    while True:
        yield space.suggest(chance)


class _AtRandom:
    """In place of an Optuna trial."""

    def __init__(self, chance: np.random.Generator) -> None:
        self._chance = chance

    def suggest_int(self, name: str, low: int, high: int) -> int:
        return int(self._chance.integers(low, high + 1))

    def suggest_categorical(self, name: str, choices: Any) -> Any:
        return choices[self._chance.integers(len(choices))]


def _price(config: HushConfig, data: Data, point: Changes) -> tuple[ProtectionPlan, Any] | None:
    """The plan at equal promise; None where its batch cannot be drawn or nothing certifies it."""
    here = point.applied_to(config)
    train, n = here.train, len(data.texts)
    try:
        found = weigh(data.edges, data.secrets, n_examples=n, settings=weight_settings(here))
        assert not found.weights[[*data.held_back, *data.held_out]].any()
        rates = sampling_rates(found.weights, train.batch)
        sigma = noise_for_all(data.drawn, rates, data.secrets, rounds=train.rounds, method=here.method)
    except HushError:
        return None
    run = (rates, sigma, train.rounds, train.batch, train.clip_norm, here.method)
    return ProtectionPlan(*run, pl.DataFrame()), train


def _rehearse(
    data: Data, made: Roles, plan: ProtectionPlan, settings: Any, start: Path, untagged: Sequence[bytes]
) -> float | None:
    def texts(ids: np.ndarray) -> list[bytes]:
        return untagged_texts(ids, data.texts, data.edges)

    measured = [
        MeasuredTexts("untagged", texts(made.validation), 1 - made.tagged_share),
        MeasuredTexts("like the tagged", texts(made.held_back), made.tagged_share),
    ]
    acted = rehearsal_plan(
        plan.rates, len(made.stand_ins), noise_multiplier=plan.noise_multiplier, rounds=plan.rounds,
        expected_batch=plan.expected_batch, clip_norm=plan.clip_norm,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        done = rehearse(
            acted, texts(made.stand_ins), measured, load_model(start), settings, Path(folder), seed=0,
            untagged=untagged,
        )  # fmt: skip
    return done.loss


def _run(
    data: Data, plan: ProtectionPlan, settings: Any, start: Path, mode: str, untagged: Sequence[bytes]
) -> float | None:
    share = len(data.tagged) / len(data.texts) if mode == "plain" else 0.0
    measured = [
        MeasuredTexts("held out", data.pick(data.held_out), 1 - share),
        MeasuredTexts("held back", data.pick(data.held_back), share),
    ]
    with tempfile.TemporaryDirectory() as folder:
        quiet = settings.model_copy(update={"checkpoint_every": plan.rounds})
        fitted = fit_private(
            plan, data.texts, load_model(start), quiet, Path(folder), others=OtherTexts(untagged=untagged)
        )
    loss = losses(fitted.model, measured)[0]
    return loss if np.isfinite(loss) else None


def _start(data: Data, name: str, untagged: np.ndarray, arguments: argparse.Namespace) -> Path:
    """A model trained on public text, and for `plain` on these untagged examples too."""
    folder = arguments.work / f"start-{name}-{arguments.steps}-{arguments.width}"
    if folder.exists():
        return folder
    model: LanguageModel = byte_gpt(ByteGptModel(layers=2, width=arguments.width, heads=4), 256, seed=1)
    given = {"batch": 8, "learning_rate": 2e-3, "micro_batch": 8, "seed": 1}
    if name == "public":
        fit_plain(data.public, model, steps=arguments.steps, **given)
    else:
        model = load_model(_start(data, "public", untagged, arguments))
        fit_plain(data.pick(untagged), model, steps=arguments.steps, **given)
    save_model(model, folder)
    return folder


def _tables(config: HushConfig, work: Path) -> Data:
    found = extract(config, KEY)
    examples = found.examples
    n = examples.height
    tagged = np.unique(found.edges["example_id"].to_numpy())
    untagged = np.setdiff1d(np.arange(n), tagged)
    files = (examples["source"] + "/" + examples["path"]).to_list()
    return Data(
        examples["text"].to_list(), files, found.public["text"].to_list(), found.edges, found.secrets, tagged,
        tagged[ONE_IN // 2 :: ONE_IN], untagged[::ONE_IN],
    )  # fmt: skip


def _show(mode: str, rows: list[dict]) -> float:
    """Spearman's ρ over the plans; one that diverged counts as worse than all that did not."""
    worst = 1e9
    pairs = [[worst if row[key] is None else row[key] for key in ("predicted", "real")] for row in rows]
    predicted, real = np.array(pairs).T
    rho = float(spearmanr(predicted, real).statistic)
    chosen = int(np.argmin(predicted))
    lost = real[chosen] - real.min()
    print(
        f"{mode}: Spearman {rho:.3f} over {len(rows)} plans (target {TARGET}: "
        f"{'met' if rho >= TARGET else 'MISSED'}); the plan with the best prediction is "
        f"{lost:.4f} bits from the best real one, which is {real[0] - real.min():.4f} below the config's own"
    )
    return rho


def _line(row: dict) -> str:
    said = [f"c {row['c']:<6g} B {row['batch']:<4} T {row['rounds']:<5} C {row['clip_norm']:<5g}"]
    said.append(f"rate {row['learning_rate']:<8g} {row['schedule']:<8} σ {row['sigma']:<7.3g}")
    losses = ["diverged" if row[key] is None else f"{row[key]:.4f}" for key in ("predicted", "real")]
    return " ".join(said) + f" predicted {losses[0]}, real {losses[1]}"


def _name(point: Changes, arguments: argparse.Namespace) -> str:
    given = point.model_dump(exclude_none=True) | {"steps": arguments.steps, "width": arguments.width}
    return "-".join(f"{key}={value}" for key, value in given.items())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "hush-rehearsal")
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--plans", type=int, default=10)
    parser.add_argument("--examples", type=float, default=2560, help="expected draws of one run")
    parser.add_argument("--steps", type=int, default=400, help="of ordinary training, each phase")
    parser.add_argument("--width", type=int, default=64, help="of the model; the demo's own is 128")
    parser.add_argument("--seed", type=int, default=5, help="of the plans that are drawn")
    parser.add_argument("--out", type=Path, help="a JSON file for the table")
    parser.add_argument("--quick", action="store_true", help="3 plans of 256 examples")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.plans, arguments.examples, arguments.steps = 3, 256, 20
        arguments.work = arguments.work / "quick"
    return arguments


if __name__ == "__main__":
    main()
