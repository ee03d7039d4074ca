"""Total weight or distinct examples? The two objectives at equal c and at equal noise.

On the code graph (5,000 files, 80 secrets) or with --paper on the paper's shape (400 secrets): of the
examples with a secret, the mean weight, the expected share that T = 2000 rounds draw at least once, σ by
blow_up (of the three secrets with the largest load for their target), and the certified gap, by c. At the end
the distinct examples at the σ of each `distinct` point over those of `weight` at that σ, by interpolation
along c. With --time N: CPU-seconds, gap and distinct share of both on the paper's shape with N secrets, by c, and
no noise.
"""

import argparse
import resource
import time

import numpy as np
import polars as pl
from graphs import code_graph, paper_graph

from hush_core.accounting import noise_for_all
from hush_core.weights import WeightSettings, expected_distinct, sampling_rates, unit_capacities, weigh

ROUNDS, WORST = 2000, 3
TIMED = (2**-5, 2**-3, 0.5)
SWEEP = (2**-7, 2**-6, 2**-5, 2**-4, 2**-3, 2**-2, 0.5)


def noise(edges: pl.DataFrame, secrets: pl.DataFrame, rates: np.ndarray) -> float:
    """σ of the WORST secrets by Σρ/κ, which at these sizes the others do not exceed by more than a percent."""
    example, secret = edges["example_id"].to_numpy(), edges["secret_id"].to_numpy()
    need = np.bincount(secret, rates[example], secrets.height) / unit_capacities(secrets, "normal_quantiles")
    worst = np.sort(np.argsort(-need)[:WORST]).astype(np.uint32)
    places = pl.DataFrame({"secret_id": worst, "new": np.arange(WORST, dtype=np.uint32)})
    own = edges.join(places, on="secret_id").select("example_id", pl.col("new").alias("secret_id"))
    table = secrets[worst.tolist()].with_columns(places["new"].alias("secret_id"))
    return noise_for_all(own.sort("example_id", "secret_id"), rates, table, rounds=ROUNDS, method="blow_up")


def timed(secrets: int) -> None:
    """Both objectives at the size of a large plan: B as in the paper, 2048 of 1.2 million."""
    n, edges, table = paper_graph(secrets)
    tagged, batch = np.unique(edges["example_id"].to_numpy()), max(1, round(2048 * n / 1.2e6))
    print(
        f"{n:,} examples, {secrets:,} secrets, {edges.height:,} edges; T = {ROUNDS}, B = {batch}", flush=True
    )
    for c in TIMED:
        spent = {}
        for objective in ("weight", "distinct"):
            chosen = WeightSettings(rule="normal_quantiles", c=c, objective=objective, draws=ROUNDS * batch)
            began = time.process_time()
            found = weigh(edges, table, n_examples=n, settings=chosen)
            spent[objective] = time.process_time() - began
            seen = expected_distinct(sampling_rates(found.weights, batch)[tagged], ROUNDS) / len(tagged)
            print(
                f"{objective:>8} c {c:.4f}: {spent[objective]:7.1f} CPU-s, distinct {seen:7.2%}, "
                f"weight {found.weights[tagged].mean():7.2%}, gap {found.gap:.1e}",
                flush=True,
            )
        print(f"    {spent['distinct'] / spent['weight']:.1f} times as long")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak memory {peak / 2**20:.2f} GiB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--paper", action="store_true")
    parser.add_argument("--time", type=int, metavar="N", help="secrets; the paper's size is 100,000")
    arguments = parser.parse_args()
    if arguments.time:
        return timed(arguments.time)
    n, edges, secrets = paper_graph(400) if arguments.paper else code_graph(5_000, 80)
    batch = 8 if arguments.paper else 51
    tagged, curves = np.unique(edges["example_id"].to_numpy()), {}
    for objective in ("weight", "distinct"):
        rows = []
        for c in SWEEP:
            chosen = WeightSettings(rule="normal_quantiles", c=c, objective=objective, draws=ROUNDS * batch)
            found = weigh(edges, secrets, n_examples=n, settings=chosen)
            rates = sampling_rates(found.weights, batch)
            seen = expected_distinct(rates[tagged], ROUNDS) / len(tagged)
            rows.append((noise(edges, secrets, rates), seen))
            print(
                f"{objective:>8} c {c:.4f} weight {found.weights[tagged].mean():7.2%} distinct {seen:7.2%} "
                f"σ {rows[-1][0]:8.4f} gap {found.gap:.1e}",
                flush=True,
            )
        curves[objective] = np.array(rows).T
    for c, sigma, seen in zip(SWEEP, *curves["distinct"], strict=True):
        at = float(np.interp(sigma, *curves["weight"]))
        print(f"at σ = {sigma:.4f} (c = {c:.4f}): {seen / at:.2f} times as many distinct examples")


if __name__ == "__main__":
    main()
