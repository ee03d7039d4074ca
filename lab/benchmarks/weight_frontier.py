"""What the weights buy: retained weight against noise, by capacities and method, on the paper's shape of graph.

The paper's shape: 2,000 secrets of 50 to 100 occurrences in 22,403 examples, p = 1e-10, r uniform in [2e-4, 1e-3],
T = 2000, B = 39, every example with a secret. Prints, under `kl` and under `blow_up`, for the capacities
`paper`, `matched` and `equalised` along c: weight retained, σ, and the spread of the noise that the secrets which
bind need by themselves; then the retained weight at equal σ and σ at equal retained weight (by interpolation), with
the order that must hold; then weights fitted to a σ. At the end the time of a plan on the code graph: 50,000 files,
500 secrets, weights and noise of every point by `kl`, `renyi` and `best`, without extraction. JSON with --out.
"""

import argparse
import json
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from graphs import code_graph, paper_graph

from hush_core.accounting import Participation, noise_for_all, smallest_noise
from hush_core.weights import RoundSettings, WeightSettings, capacity_rule, sampling_rates, weigh

ROUNDS, SECRETS, BATCH = 2000, 2_000, 39
SWEEP = (2**-5, 2**-4, 2**-3, 2**-2, 0.5, 1.0)
CAPACITIES = ("paper", "matched", "equalised")
OWN = 12
"""Secrets that bind whose own noise is searched for."""
PLAN_C = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)


def settings(capacities: str, method: str, **scale) -> WeightSettings:
    mechanism = RoundSettings(rounds=ROUNDS, expected_batch=BATCH, method=method)
    return WeightSettings(rule=capacity_rule(capacities, method), mechanism=mechanism, **{"c": None, **scale})


def graph() -> tuple[int, pl.DataFrame, pl.DataFrame]:
    """The paper's shape, without the examples that hold no secret."""
    _, edges, secrets = paper_graph(SECRETS)
    kept = edges["example_id"].unique().sort()
    renumbered = pl.DataFrame({"example_id": kept, "new": np.arange(len(kept), dtype=np.uint32)})
    edges = edges.join(renumbered, on="example_id").select(pl.col("new").alias("example_id"), "secret_id")
    return len(kept), edges.sort("example_id", "secret_id"), secrets


def needs(edges: pl.DataFrame, secrets: pl.DataFrame, found, rates: np.ndarray, method: str) -> np.ndarray:
    """The smallest noise of some secrets that use their capacity up, each by its own rates."""
    example, secret = edges["example_id"].to_numpy(), edges["secret_id"].to_numpy()
    load = np.bincount(secret, found.weights[example], secrets.height)
    binding = np.flatnonzero(load >= 0.9999 * found.capacities)
    some = binding[:: max(1, len(binding) // OWN)][:OWN]
    own = [
        smallest_noise(
            Participation.from_rates(rates[example[secret == j]]), rounds=ROUNDS, method=method,
            prior=secrets["prior"][int(j)], posterior=secrets["posterior"][int(j)],
        )
        for j in some
    ]  # fmt: skip
    return np.array(own)


def frontier(method: str, n: int, edges: pl.DataFrame, secrets: pl.DataFrame) -> list[dict]:
    rows = []
    for capacities in CAPACITIES:
        for c in SWEEP:
            found = weigh(edges, secrets, n_examples=n, settings=settings(capacities, method, c=c))
            rates = sampling_rates(found.weights, BATCH)
            sigma = noise_for_all(edges, rates, secrets, rounds=ROUNDS, method=method)
            own = needs(edges, secrets, found, rates, method)
            agree = float(own.min() / own.max()) if len(own) else 1.0
            row = {"method": method, "capacities": capacities, "c": c, "noise_multiplier": sigma}
            row |= {"retained": found.objective / found.candidates, "gap": found.gap, "agreement": agree}
            rows.append(row)
            print(
                f"{method:>8} {capacities:>10} {c:8.4f} {row['retained']:9.2%} {sigma:9.4f} "
                f"{agree:9.4f} {found.gap:8.1e}",
                flush=True,
            )
    return rows


def compare(rows: list[dict]) -> list[dict]:
    """At equal σ the weight, at equal weight σ, by capacities; whether they order as they must."""
    curves = {
        capacities: np.log(
            [[r["noise_multiplier"], r["retained"]] for r in rows if r["capacities"] == capacities]
        ).T
        for capacities in CAPACITIES
    }
    found = []
    for what, across, up, sign in (("weight at equal σ", 0, 1, 1), ("σ at equal weight", 1, 0, -1)):
        low = max(curve[across].min() for curve in curves.values())
        high = min(curve[across].max() for curve in curves.values())
        for share in (0.25, 0.5, 0.75):
            at = low + share * (high - low)
            values = [float(np.exp(np.interp(at, curve[across], curve[up]))) for curve in curves.values()]
            ordered = all(sign * a <= sign * b * (1 + sign * 1e-3) for a, b in pairwise(values))
            found.append({"what": what, "at": float(np.exp(at)), "values": values, "ordered": ordered})
            shown = "  ".join(f"{c} {v:.4g}" for c, v in zip(CAPACITIES, values, strict=True))
            print(f"  {what} ({np.exp(at):.4g}):  {shown}  {'as it must' if ordered else 'NOT in order'}")
    return found


def fitted(
    method: str, n: int, edges: pl.DataFrame, secrets: pl.DataFrame, sigmas: tuple[float, ...]
) -> list[dict]:
    rows = []
    for sigma in sigmas:
        found = weigh(
            edges, secrets, n_examples=n, settings=settings("equalised", method, noise_multiplier=sigma)
        )
        rates = sampling_rates(found.weights, BATCH)
        own = needs(edges, secrets, found, rates, method)
        needed = noise_for_all(edges, rates, secrets, rounds=ROUNDS, method=method)
        retained, agree = found.objective / found.candidates, float(own.min() / own.max())
        rows.append(
            {"method": method, "asked": sigma, "needed": needed, "retained": retained, "agreement": agree}
        )
        print(
            f"{method:>8} fitted to σ = {sigma:g}: needs {needed:.4f}, keeps {retained:.2%}, agreement {agree:.4f}"
        )
    return rows


def plan_of_code() -> dict:
    """Seconds of a plan's weights and noise on 50,000 files and 500 secrets."""
    n, edges, secrets = code_graph()
    began, points = time.perf_counter(), 0
    for method in ("kl", "renyi", "best"):
        for c in PLAN_C:
            found = weigh(edges, secrets, n_examples=n, settings=settings("matched", method, c=c))
            rates = sampling_rates(found.weights, 512)
            noise_for_all(edges, rates, secrets, rounds=ROUNDS, method=method)
            points += 1
    seconds = time.perf_counter() - began
    print(
        f"a plan of {n:,} files and {secrets.height} secrets, {points} points one after the other: {seconds:.1f} s"
    )
    return {"examples": n, "secrets": secrets.height, "points": points, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    n, edges, secrets = graph()
    print(f"{n:,} examples, {secrets.height:,} secrets, {edges.height:,} edges; T = {ROUNDS}, B = {BATCH}")
    print(f"{'method':>8} {'capacities':>10} {'c':>8} {'retained':>9} {'σ':>9} {'agreement':>9} {'gap':>8}")
    result: dict = {"frontier": [], "compared": {}, "fitted": []}
    for method in ("kl", "blow_up"):
        rows = frontier(method, n, edges, secrets)
        result["frontier"] += rows
        result["compared"][method] = compare(rows)
        result["fitted"] += fitted(method, n, edges, secrets, (20.0, 40.0) if method == "kl" else (1.2, 1.5))
    result["plan"] = plan_of_code()
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
