"""What the noise of a promise costs in loss, and what text without a secret spares of it: arXiv abstracts.

Every word in 20 to 100 of 99,000 abstracts is a secret (prior 1e-10, r uniform in [2e-4, 1e-3], the paper's). Each
setting of arxiv_settings.py keeps this promise, but for those without noise: with the paper's noise and the tight
one, with and without training on public and untagged text first. None works through more examples than another.

Plans and learning rates are chosen by rehearsal on text without a secret, by one rule. Losses are bits per byte on
held-out abstracts; intervals are over training anew, from another start. Everything finished is kept in --work, so
that a stopped run goes on; the table is of what is there. Without --private and --public it says what it needs and
ends. About 100 CPU-minutes for three starts; --quick takes two.
"""

from __future__ import annotations

import argparse
import json
import pickle
from pathlib import Path

import polars as pl
import torch
from arxiv_data import Arxiv, read_arxiv
from arxiv_plans import describe, plan_of
from arxiv_rehearsal import chosen
from arxiv_rows import row_of, scores
from arxiv_settings import BEGIN, NON_PRIVATE, SETTINGS, Setting, quick
from arxiv_training import Bench, Phase

from lab import figures


def main() -> None:
    arguments = _arguments()
    if not (arguments.private and arguments.public):
        print("needs --private and --public: parquet files with a column `abstract`; nothing was measured")
        return
    torch.set_num_threads(1)
    arguments.work.mkdir(parents=True, exist_ok=True)
    _keep_settings(arguments)
    data = _data(arguments)
    print(
        f"{len(data.private):,} abstracts, {data.secrets.height:,} secrets, {data.edges.height:,} edges; "
        f"{len(data.plain):,} to train on without noise, {len(data.plain_validation):,} that validate",
        flush=True,
    )
    bench = Bench(data, arguments.work, arguments.context)
    settings = [quick(setting) for setting in SETTINGS] if arguments.quick else list(SETTINGS)
    rehearsals, taken, found = [], {}, {}
    for setting in settings:
        if arguments.only and setting.name not in (BEGIN.name, NON_PRIVATE.name, *arguments.only):
            continue
        taken[setting.name] = setting.phases
        if setting.tried:
            best, tried = chosen(bench, setting)
            taken[setting.name] += (best,)
            rehearsals += tried
        found[setting.name] = _scored(bench, setting, taken[setting.name], arguments.starts)
    rows = [_row(bench, setting, taken[setting.name], found) for setting in settings if setting.name in found]
    for row in rows:
        _show(row)
    if arguments.out:
        result = {"settings": _settings(arguments), "rehearsals": rehearsals, "rows": rows}
        arguments.out.write_text(json.dumps(result, indent=2) + "\n")
    if arguments.picture:
        figures.utility_against_noise(_drawn(rows), arguments.picture)


def _scored(bench: Bench, setting: Setting, phases: tuple[Phase, ...], starts: list[int]) -> dict[int, dict]:
    """By start, those of other calls included: scores after all phases, and before the certified rounds."""
    found = {}
    for start in range(setting.starts):
        if start in starts or (bench.folder(phases, start) / "scores.npz").exists():
            after = scores(bench, phases, start)
            found[start] = {"after": after, "noiseless": scores(bench, setting.phases, start)}
            losses = (part[:, 0].sum() / part[:, 1].sum() for part in after.values())
            print(f"{setting.name}, start {start}: " + ", ".join(f"{x:.4f}" for x in losses), flush=True)
    return found


def _row(bench: Bench, setting: Setting, phases: tuple[Phase, ...], found: dict[str, dict]) -> dict:
    """Over the starts of which the begin and the non-private run are there as well."""
    mine, begin, best = (found[name] for name in (setting.name, BEGIN.name, NON_PRIVATE.name))
    starts = [s for s in mine if s in begin and s in best]
    of = lambda runs, which: {s: runs[s][which] for s in starts}  # noqa: E731
    reference = of(begin, "after"), of(best, "after")
    row = {"setting": setting.name} | row_of(of(mine, "after"), *reference)
    row |= {
        "examples": [bench.examples(phases, s) for s in starts],
        "kind": "none",
        "learning_rate": None,
        "noise_multiplier": None,
        "before_certified": None,
    }
    if setting.tried:
        taken = phases[-1]
        plan = plan_of(bench.data, taken.recipe, bench.work)
        row |= describe(plan, bench.data) | {"c": taken.recipe.c, "learning_rate": taken.rate}
        row["kind"] = "ours" if taken.recipe.method == "blow_up" else "other"
        row["before_certified"] = row_of(of(mine, "noiseless"), *reference)["bits_per_byte"]
    return row


def _drawn(rows: list[dict]) -> pl.DataFrame:
    """Intervals of the gain over the start, paired: starts differ by more. None of a single start."""
    middle, half = pl.col("bits_per_byte"), pl.col("gain_pm").cast(pl.Float64).fill_null(0.0)
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(low=middle - half, high=middle + half)


def _show(row: dict) -> None:
    noise = f"{row['noise_multiplier']:.3g}" if row["noise_multiplier"] else "-"
    spread = "" if row["gain_pm"] is None else f" ± {row['gain_pm']:.4f}"
    before = f", {row['before_certified']:.4f} before the certified rounds" if row["before_certified"] else ""
    print(
        f"{row['setting']:<42} σ {noise:>5}  {row['bits_per_byte']:.4f}{before}; gain {row['gain']:.4f}{spread} "
        f"({row['gain_low']:.4f} to {row['gain_high']:.4f}), {row['share']:.0%} of non-private; "
        f"public {row['public_gain']:.4f}; {max(row['examples']):,} examples, {row['starts']} starts",
        flush=True,
    )


def _data(arguments: argparse.Namespace) -> Arxiv:
    """Read once a --work: finding the rare words takes half a minute."""
    path = arguments.work / "data.pickle"
    if not path.exists():
        data = read_arxiv(
            arguments.private, arguments.public, context=arguments.context, start=arguments.start,
                most=arguments.abstracts, one_in=20 if arguments.quick else 1,
        )  # fmt: skip
        path.write_bytes(pickle.dumps(data))
    return pickle.loads(path.read_bytes())


def _keep_settings(arguments: argparse.Namespace) -> None:
    """What is kept in --work is of one benchmark only."""
    path, now = arguments.work / "settings.json", _settings(arguments)
    if path.exists() and json.loads(path.read_text()) != now:
        raise SystemExit(f"{path} is of other settings: name another --work")
    path.write_text(json.dumps(now))


def _settings(arguments: argparse.Namespace) -> dict:
    return {name: getattr(arguments, name) for name in ("abstracts", "context", "start", "quick")}


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
    parser.add_argument("--start", type=int, default=4000, help="public abstracts of the public start")
    parser.add_argument("--abstracts", type=int, help="private abstracts to use (all)")
    parser.add_argument(
        "--starts", type=int, nargs="*", default=[0, 1, 2], help="which are trained in this call"
    )
    parser.add_argument("--only", nargs="*", help="settings by name (all), besides the start and non-private")
    parser.add_argument("--quick", action="store_true", help="minutes: to see that it works, not to compare")
    arguments = parser.parse_args()
    if arguments.quick:
        vars(arguments).update(abstracts=3000, context=64)
    return arguments


if __name__ == "__main__":
    main()
