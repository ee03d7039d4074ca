"""What the noise of a promise costs in loss: arXiv abstracts, rare words as secrets, the paper's promise.

Same promise (prior 1e-10, r uniform in [2e-4, 1e-3] for every word in 20 to 100 abstracts), same public start,
rounds, batch, clip norm and model; three ways to certify it, and no protection at all:

    paper: kl, no program       all weights 1, noise by the KL bound
    paper: kl, program          weights by the linear program with the paper's capacities, noise by the KL bound
    ours: blow_up, equalised    weights by the program with equalised capacities, noise by the tight bound
    non-private                 neither clipped nor noised
    public text only            a control: as non-private, but more of the public text instead of the private

Learning rates are chosen on public text, by a rehearsal with the same rounds and noise-to-batch ratio. Each private
run is repeated with fresh noise. Losses are bits per byte on held-out abstracts, private and public, with a 95 %
bootstrap interval over abstracts. Everything finished is kept in --work, so that a stopped run goes on.
Without --private and --public it says what it needs and ends. About 45 CPU-minutes; --quick takes two.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import polars as pl
import torch
from arxiv_data import Arxiv, read_arxiv
from arxiv_plans import describe, plans
from arxiv_training import bits_and_bytes, on_public, start, train, train_plain

from hush_core import figures
from hush_core.plan import ProtectionPlan
from hush_core.training import load_model

LEARNING_RATES = {
    "paper: kl, no program": (5e-5, 2e-4, 1e-3),
    "paper: kl, program": (5e-5, 2e-4, 1e-3),
    "ours: blow_up, equalised": (2e-4, 5e-4, 1e-3),
    "non-private": (5e-4, 1e-3, 2e-3),
}
PLAIN, CONTROL, BEGIN = "non-private", "public text only", "public start"
RESAMPLES = 2000
PLAIN_BATCHES = 4
"""The rehearsal without noise has a batch so many times larger: there, sampling is all the noise."""


def main() -> None:
    arguments = _arguments()
    if not (arguments.private and arguments.public):
        print("needs --private and --public: parquet files with a column `abstract`; nothing was measured")
        return
    torch.set_num_threads(1)
    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    _keep_settings(arguments)
    data = read_arxiv(
        arguments.private, arguments.public, context=arguments.context, start=arguments.start,
        most=arguments.abstracts,
    )  # fmt: skip
    print(
        f"{len(data.private):,} abstracts, {data.secrets.height:,} secrets, {data.edges.height:,} edges; "
        f"T = {arguments.rounds}, B = {arguments.batch}; start on {len(data.public):,} public abstracts",
        flush=True,
    )
    made = plans(data, rounds=arguments.rounds, batch=arguments.batch, work=work)
    start(data.public, arguments.context, steps=arguments.steps, batch=16, folder=work / "start")
    rates, rehearsals = _rehearse(data, made, arguments)
    runs = _train(data, made, rates, arguments)
    rows = _rows(runs, data)
    for row in rows:
        plan = made.get(row["setting"])
        row |= {"noise_multiplier": None} if plan is None else describe(plan)
        row["learning_rate"] = rates.get(PLAIN if row["setting"] == CONTROL else row["setting"])
    table = pl.DataFrame(rows, infer_schema_length=None)
    _show(rows)
    if arguments.out:
        result = {
            "settings": _settings(arguments),
            "rehearsals": rehearsals,
            "rows": rows,
            "seconds": _seconds(work),
        }
        arguments.out.write_text(json.dumps(result, indent=2) + "\n")
    if arguments.picture:
        figures.utility_against_noise(_paired(table), arguments.picture)


def _show(rows: list[dict]) -> None:
    print(
        f"{'setting':<26} {'σ':>7} {'rate':>7} {'bits/byte':>9} {'gain over the start (95 %)':>28} {'public':>8}"
    )
    for row in rows:
        noise, rate = (
            f"{row[key]:.3g}" if row[key] else "-" for key in ("noise_multiplier", "learning_rate")
        )
        gain = f"{row['gain']:.4f} ({row['gain_low']:.4f} to {row['gain_high']:.4f})"
        print(
            f"{row['setting']:<26} {noise:>7} {rate:>7} {row['bits_per_byte']:9.4f} {gain:>28} "
            f"{row['public_gain']:8.4f}"
        )


def _paired(table: pl.DataFrame) -> pl.DataFrame:
    """Intervals of the difference to the start in place of those of the losses: abstracts differ far more."""
    begin = table["bits_per_byte"][0]
    return table.with_columns(low=begin - pl.col("gain_high"), high=begin - pl.col("gain_low"))


def _rehearse(
    data: Arxiv, made: dict[str, ProtectionPlan], arguments: argparse.Namespace
) -> tuple[dict[str, float], list[dict]]:
    """The learning rate of each setting with the lowest loss on public validation text."""
    rounds, batch = arguments.rounds, arguments.rehearsal_batch
    rows = [{"setting": BEGIN, "rate": None, "bits_per_byte": _mean(_start(arguments), data.validation)}]
    print(f"  rehearsal: {rows[0]}")
    for name, tried in LEARNING_RATES.items():
        for rate in tried:
            folder = arguments.work / f"rehearsal {name} {rate:g}"
            if name in made:
                plan = on_public(made[name], data.rehearsal, batch)
                model = train(plan, data.rehearsal, _start(arguments), rate, folder)
            else:
                model = train_plain(
                    data.rehearsal,
                    _start(arguments),
                    rate,
                    folder,
                    rounds=rounds,
                    batch=PLAIN_BATCHES * batch,
                )
            loss = _mean(model, data.validation)
            rows.append({"setting": name, "rate": rate, "bits_per_byte": loss})
            print(f"  rehearsal: {rows[-1]}", flush=True)
    chosen = {
        name: min((r for r in rows if r["setting"] == name), key=lambda r: r["bits_per_byte"])["rate"]
        for name in LEARNING_RATES
    }
    return chosen, rows


def _train(
    data: Arxiv, made: dict[str, ProtectionPlan], rates: dict[str, float], arguments: argparse.Namespace
) -> dict[str, list]:
    """The models of each setting: one a repeat where there is noise."""
    plain = {"rounds": arguments.rounds, "batch": arguments.batch}
    found = {BEGIN: [_start(arguments)]}
    for name, plan in made.items():
        folder = f"train {name} {rates[name]:g}"
        found[name] = [
            train(plan, data.private, _start(arguments), rates[name], arguments.work / f"{folder} {repeat}")
            for repeat in range(arguments.repeats)
        ]
    for name, texts in ((PLAIN, data.private), (CONTROL, data.public + data.rehearsal)):
        folder = arguments.work / f"train {name} {rates[PLAIN]:g}"
        found[name] = [train_plain(texts, _start(arguments), rates[PLAIN], folder, **plain)]
    return found


def _start(arguments: argparse.Namespace):
    return load_model(arguments.work / "start" / "model")


def _mean(model, texts: list[bytes]) -> float:
    bits, count = bits_and_bytes(model, texts).sum(0)
    return float(bits / count)


def _rows(runs: dict[str, list], data: Arxiv) -> list[dict]:
    """Bits per byte by setting, over all repeats, on both held-out parts; what was gained over the start.

    Gains are paired by abstract, so their interval is far narrower than that of the losses.
    """
    rows: list[dict] = [{"setting": name} for name in runs]
    for part, texts in (("", data.private_held_out), ("public_", data.public_held_out)):
        drawn = np.random.default_rng(0).integers(len(texts), size=(RESAMPLES, len(texts)))
        before = None
        for row, models in zip(rows, runs.values(), strict=True):
            scores = np.stack([bits_and_bytes(model, texts) for model in models])
            bits, count = scores.mean(0).T
            before = bits if before is None else before
            by_repeat = scores[..., 0].sum(1) / count.sum()
            row[f"{part}bits_per_byte"] = float(by_repeat.mean())
            row[f"{part}low"], row[f"{part}high"] = _interval(bits, count, drawn)
            row[f"{part}gain"] = float((before - bits).sum() / count.sum())
            row[f"{part}gain_low"], row[f"{part}gain_high"] = _interval(before - bits, count, drawn)
            row[f"{part}by_repeat"] = by_repeat.tolist()
    return rows


def _interval(bits: np.ndarray, count: np.ndarray, drawn: np.ndarray) -> tuple[float, float]:
    """95 %, of Σ bits / Σ bytes over resampled abstracts."""
    low, high = np.quantile(bits[drawn].sum(1) / count[drawn].sum(1), (0.025, 0.975))
    return float(low), float(high)


def _keep_settings(arguments: argparse.Namespace) -> None:
    """What is kept in --work is of one benchmark only."""
    path, now = arguments.work / "settings.json", _settings(arguments)
    if path.exists() and json.loads(path.read_text()) != now:
        raise SystemExit(f"{path} is of other settings: name another --work")
    path.write_text(json.dumps(now))


def _settings(arguments: argparse.Namespace) -> dict:
    names = ("abstracts", "context", "start", "steps", "rounds", "batch", "rehearsal_batch")
    return {name: getattr(arguments, name) for name in names}


def _seconds(work: Path) -> dict[str, dict[str, float]]:
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(work.glob("*/done.json"))}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--private", type=Path)
    parser.add_argument("--public", type=Path)
    parser.add_argument("--work", type=Path, default=Path("utility_work"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--context", type=int, default=128, help="bytes of an abstract that the model reads")
    parser.add_argument("--start", type=int, default=4000, help="public abstracts to pre-train on")
    parser.add_argument("--steps", type=int, default=2500, help="of pre-training, 16 abstracts each")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rehearsal-batch", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=2, help="of each private run, with fresh noise")
    parser.add_argument("--abstracts", type=int, help="private abstracts to use (all)")
    parser.add_argument("--quick", action="store_true", help="minutes: to see that it works, not to compare")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.abstracts, arguments.context, arguments.steps, arguments.rounds = 3000, 64, 20, 10
        arguments.batch, arguments.rehearsal_batch, arguments.repeats = 64, 16, 1
    return arguments


if __name__ == "__main__":
    main()
