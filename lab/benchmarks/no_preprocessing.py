"""hush.txt §5.1's baseline: the noise of DP-SGD on all examples beside that of the program's weights (Figure 1).

Both through the `mechanism` key's own code, on the paper's shape of graph: secrets of 50 to 100 occurrences, every
example with a secret, p = 1e-10, r uniform in [2e-4, 1e-3], T = 2000, the paper's sampling rate. c is relative to
the value from which on all weights are 1, the paper's 2^4; it swept eleven powers of two. By the paper's bound
(`kl`) and by the tight one. The paper says of `kl`: about 8 times less noise than without the program.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from graphs import paper_graph

from hush_core.config import DpSgdMechanism, HushMechanism, MechanismConfig
from hush_core.errors import InputError
from hush_core.mechanisms import lay_out, plan_of
from hush_core.weights import WeightSettings

ROUNDS, RATE = 2000, 2048 / 1.2e6
SWEEP = tuple(2.0**-k for k in range(11))
PAPER = {"kl": 8.0}


def noise(
    mechanism: MechanismConfig,
    graph: tuple[int, pl.DataFrame, pl.DataFrame],
    method: str,
    c: float | None,
    rounds: int = ROUNDS,
) -> dict:
    """σ, and the share of examples whose weight is not 0."""
    n, edges, secrets = graph
    batch = max(1, round(RATE * edges["example_id"].n_unique()))
    found = lay_out(
        edges, secrets, n_examples=n, settings=WeightSettings(rule="kl", c=c, without_secret="drop"),
        mechanism=mechanism,
    )  # fmt: skip
    weights = found.weighing.weights
    weights = np.where(np.isin(np.arange(n), edges["example_id"].unique().to_numpy()), weights, 0.0)
    plan = plan_of(
        mechanism, weights, found.edges, secrets, rounds=rounds, expected_batch=batch, clip_norm=1.0,
        method=method,
    )  # fmt: skip
    kept = float((weights > 0).sum() / edges["example_id"].n_unique())
    return {
        "mechanism": mechanism.kind, "method": method, "c": c, "sigma": plan.noise_multiplier, "kept": kept,
        "batch": batch,
    }  # fmt: skip


def measured(
    secrets: int,
    rounds: int = ROUNDS,
    sweep: tuple[float, ...] = SWEEP,
    methods: tuple[str, ...] = ("kl", "blow_up"),
    tell: Callable[[dict], None] = lambda row: None,
) -> list[dict]:
    """One row for the baseline and one for each c, by method; `tell` has each as soon as it is there."""
    n, edges, table = paper_graph(secrets)
    table = table.with_columns(kind=pl.lit("word"), name=pl.format("word {}", "secret_id"))
    graph = n, edges.with_columns(reason=pl.lit("word")), table
    rows = []
    for method in methods:
        baseline = noise(DpSgdMechanism(kind="dp_sgd"), graph, method, None, rounds)
        rows.append({**baseline, "ratio": 1.0})
        tell(rows[-1])
        for c in sweep:
            try:
                row = noise(HushMechanism(), graph, method, c, rounds)
            except InputError:  # less weight than a batch is retained; with smaller c, too
                break
            rows.append({**row, "ratio": baseline["sigma"] / row["sigma"]})
            tell(rows[-1])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--secrets", type=int, default=2000)
    parser.add_argument("--methods", nargs="+", choices=["kl", "blow_up"], default=["kl", "blow_up"])
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    print(f"{'bound':>8} {'mechanism':>9} {'c/c_max':>9} {'kept':>7} {'σ':>9}  baseline's σ / this")

    def tell(row: dict) -> None:
        c = "-" if row["c"] is None else f"{row['c']:.5f}"
        print(
            f"{row['method']:>8} {row['mechanism']:>9} {c:>9} {row['kept']:>7.1%} {row['sigma']:>9.4f}  "
            f"{row['ratio']:.2f}",
            flush=True,
        )

    rows = measured(asked.secrets, methods=tuple(asked.methods), tell=tell)
    for method in asked.methods:
        best = max((row for row in rows if row["method"] == method), key=lambda row: row["ratio"])
        paper = f"; the paper: about {PAPER[method]:g}" if method in PAPER else ""
        print(f"{method}: at most {best['ratio']:.2f} times less noise, {best['kept']:.1%} kept{paper}")
    if asked.out:
        asked.out.write_text(json.dumps({"rows": rows, "paper": PAPER}, indent=1))


if __name__ == "__main__":
    main()
