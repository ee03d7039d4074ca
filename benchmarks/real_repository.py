"""A real repository with its history: what hush's way loses on text without a secret, and gains on text with one.

Teams, paths and rare authors over 5, 10 and 20 % of the files are secrets, and credentials planted in real files.
From the config through extraction, weights and plan to training, as `weights.without_secret: plain` does it. Bits a
byte on held-out text without a secret and on held-back text with one, and the ranks of the planted values, of

    public start · plain (the same without the certified rounds) · protected · non-private training on the retained
    data: each example drawn as often as the protected model expects to · non-private training on all

Targets: held-out loss within 2 % of non-private training on the retained data, and no planted value ranked better
after the certified rounds than before. Intervals are over texts, paired (bootstrap).

Without --repo it says what it needs and ends. Finished models are kept in --work, so that a stopped run goes on.
About 25 CPU-minutes a start; --quick takes one and shows only that it works.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from repository_data import SHARES, Data, build, read
from repository_training import EVERYTHING, LABELS, PLAIN_ONLY, PROTECTED, RETAINED, Runs, interval

from hush_core.config import ByteGptModel
from hush_core.weights import expected_distinct
from hush_core.weights.roles import CERTIFIED

TARGET = 1.02
SEED = 7
"""Of owners, planted values and where they stand: the same for all starts."""


def main() -> None:
    arguments = _arguments()
    if arguments.repo is None:
        print("needs --repo: a git repository with its whole history; nothing was measured")
        return
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    arguments.work.mkdir(mode=0o700, parents=True, exist_ok=True)
    build(arguments.repo, arguments.work, arguments.rev, seed=SEED)
    shares = {share: read(arguments.work, share) for share in arguments.shares}
    models = arguments.work / ("quick" if arguments.quick else "models")
    if arguments.quick:
        shares = {share: _quick(data) for share, data in shares.items()}
    for start in arguments.starts:
        for share, data in shares.items():
            runs = Runs(data, models, share, start)
            for name in LABELS:
                if not arguments.only or name in arguments.only:
                    runs.scores(name)
                    runs.attack(name)
                    print(f"start {start}, {share} %: {LABELS[name]}", flush=True)
    every = range(1 + max(arguments.starts))
    results = [
        _result([Runs(data, models, share, start) for start in every]) for share, data in shares.items()
    ]
    for result in results:
        _show(result)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=2) + "\n")


def _result(starts: Sequence[Runs]) -> dict:
    """Of one share: what the plan is, and a row a model that was measured, in this call or before."""
    first = starts[0]
    plan, data = first.plan, first.data
    drawn = plan.rates * plan.rounds
    facts = data.facts | {
        "share": first.share, "rounds": plan.rounds,
        "batch": plan.expected_batch, "sigma": plan.noise_multiplier, "tagged_draws": float(drawn.sum()),
        "distinct": float(expected_distinct(plan.rates, plan.rounds)),
        "never_drawn": int((drawn[first.ids(CERTIFIED)] == 0).sum()),
        "worst_bound_to_target": float((plan.certificates["bound"] / plan.certificates["posterior"]).max()),
    }  # fmt: skip
    measured = {name: [runs for runs in starts if runs.has(name)] for name in LABELS}
    rows = [_row(name, some) for name, some in measured.items() if some]
    both = [runs for runs in measured[PROTECTED] if runs.has(RETAINED)]
    return facts | {"within": _within(both) if both else None, "models": rows}


def _row(name: str, starts: Sequence[Runs]) -> dict:
    """Losses, gains over the plain model of the same starts, and their share of what non-private training gains."""
    row: dict = {"model": name, "starts": [runs.seed for runs in starts]}
    paired = [runs for runs in starts if runs.has(PLAIN_ONLY)]
    for kind in ("untagged", "tagged"):
        bits, count = _bits(name, starts, kind)
        row[kind] = {
            "bits_per_byte": float(bits.sum() / count.sum()),
            "by_start": [float(_bits(name, [runs], kind)[0].sum() / count.sum()) for runs in starts],
        }
        if paired:
            gain, whole = _gain(name, paired, kind), np.arange(len(count))
            row[kind] |= {"gain_over_plain": gain(whole), "gain_interval": interval(gain, len(count))}
            for other in (RETAINED, EVERYTHING):
                if some := [runs for runs in paired if runs.has(other)]:
                    share = _gain(name, some, kind)(whole) / _gain(other, some, kind)(whole)
                    row[kind][f"share_of_{other}"] = share
    attacked = [runs.attack(name) for runs in starts]
    row["ranks"] = [table["rank"].to_list() for table in attacked]
    row["exposure_bits"] = float(np.mean([table["exposure_bits"].mean() for table in attacked]))
    row["extracted"] = [int(table["extracted"].sum()) for table in attacked]
    return row


def _gain(name: str, starts: Sequence[Runs], kind: str) -> Callable[[np.ndarray], float]:
    """Bits a byte by which it is better than the plain model, on the texts with these places."""
    (bits, count), (plain, _) = _bits(name, starts, kind), _bits(PLAIN_ONLY, starts, kind)
    return lambda ids: float((plain - bits)[ids].sum() / count[ids].sum())


def _ratio(ours: np.ndarray, theirs: np.ndarray) -> Callable[[np.ndarray], float]:
    return lambda ids: float(ours[ids].sum() / theirs[ids].sum())


def _within(starts: Sequence[Runs]) -> dict:
    """Protected loss over that of non-private training on the retained data: on untagged text (the target), on
    tagged text, and on both by their shares of the corpus."""
    facts, found, losses = starts[0].data.facts, {"starts": [runs.seed for runs in starts]}, {}
    for kind in ("untagged", "tagged"):
        (ours, count), (theirs, _) = (_bits(name, starts, kind) for name in (PROTECTED, RETAINED))
        ratio = _ratio(ours, theirs)
        found[kind], found[f"{kind}_interval"] = ratio(np.arange(len(count))), interval(ratio, len(count))
        losses[kind] = np.array([ours.sum(), theirs.sum()]) / count.sum()
    tagged = facts["with_secret"] / facts["examples"]
    ours, theirs = (1 - tagged) * losses["untagged"] + tagged * losses["tagged"]
    return found | {"by_shares": float(ours / theirs)}


def _bits(name: str, starts: Sequence[Runs], kind: str) -> tuple[np.ndarray, np.ndarray]:
    """((n,) bits, mean over starts; (n,) bytes) by text."""
    scores = np.stack([runs.scores(name)[kind] for runs in starts])
    return scores[:, :, 0].mean(0), scores[0, :, 1]


def _show(result: dict) -> None:
    print(
        f"\n{result['share']} % of the files: {result['with_secret']:,} of {result['examples']:,} examples hold "
        f"one of {result['secrets']} secrets; σ {result['sigma']:.2f}, T {result['rounds']}, B {result['batch']}, "
        f"{result['distinct']:.0f} distinct"
    )
    for row in result["models"]:
        held = row["tagged"]
        gain, (low, high) = held.get("gain_over_plain", np.nan), held.get("gain_interval", (np.nan, np.nan))
        print(
            f"  {LABELS[row['model']]:<40} {row['untagged']['bits_per_byte']:.4f}  {held['bits_per_byte']:.4f} "
            f"({gain:+.4f}, {low:+.4f} to {high:+.4f})  exposure {row['exposure_bits']:.2f} bits, ranks "
            f"{row['ranks']}, extracted {row['extracted']}; {len(row['starts'])} starts"
        )
    if within := result["within"]:
        low, high = within["untagged_interval"]
        print(
            f"  protected / retained: {within['untagged']:.4f} ({low:.4f} to {high:.4f}) on text without a secret, "
            f"target {TARGET}: {'met' if within['untagged'] <= TARGET else 'MISSED'}; {within['tagged']:.4f} with "
            f"one, {within['by_shares']:.4f} by their shares",
            flush=True,
        )


def _quick(data: Data) -> Data:
    """A model and runs so small that nothing can be compared."""
    old = data.config
    changes = {
        "model": ByteGptModel(layers=1, width=16, heads=2),
        "pretrain": old.pretrain.model_copy(update={"steps": 10}),
        "untagged": old.untagged.model_copy(update={"steps": 20, "evaluate_every": 10}),
        "train": old.train.model_copy(update={"rounds": 3}),
        "audit": old.audit.model_copy(update={"alternatives": 20}),
    }
    return replace(data, config=old.model_copy(update=changes))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repo", type=Path, help="a git repository with its whole history, bare or not")
    parser.add_argument("--rev", default="HEAD", help="the commit to build on")
    parser.add_argument("--work", type=Path, default=Path("real_work"))
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--shares", type=int, nargs="*", default=list(SHARES), choices=SHARES, help="per cent of the files"
    )
    parser.add_argument("--starts", type=int, nargs="*", default=[0, 1], help="repetitions")
    parser.add_argument(
        "--only", nargs="*", choices=LABELS, help="which models are trained in this call (all)"
    )
    parser.add_argument("--quick", action="store_true", help="a minute: to see that it works, not to compare")
    arguments = parser.parse_args()
    if arguments.quick:
        vars(arguments).update(starts=[0])
    return arguments


if __name__ == "__main__":
    main()
