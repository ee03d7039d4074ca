"""What certificates cost at the size of a company: time and memory against secrets, rounds and examples.

Prints: one noise multiplier for 1,000 to 100,000 secrets (a million with --full) with 50 to 100 occurrences in
heavy-tailed documents, by method; one certificate from 100 to ten million rounds, σ growing with √T; one secret
with 20,000 examples of different rates. p = 1e-10, T = 2000, r uniform in [2e-4, 1e-3], rate 2048/1.5e6.

Weights: the linear program's at half of c_max with matched capacities (96 % retained). Those of a million secrets
are feasible for it, by the repair alone from weights 1.

With --inherited SECRETS alone: how far inherited bounds lie above the secrets' own, by 200 of them. With --verify
SECRETS alone: what recomputing a certificate of so many costs, in seconds of the processor. With --priors SECRETS
alone: every bound at one σ where no two priors are equal, in seconds of the processor.

One core. JSON with --out, a picture with --picture. Memory is the process's peak so far.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1"))

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from graphs import PRIOR, paper_graph

from hush_core.accounting import (
    Participation,
    bound_secrets,
    calibrate,
    posterior_bound,
    posterior_curves,
)
from hush_core.accounting.many_secrets.profiles import group_profiles
from hush_core.accounting.noise_search import gaussian_noise
from hush_core.certificate import recheck
from hush_core.weights import largest_useful_c, solve_weights, unit_capacities
from hush_core.weights.program import build_program
from hush_core.weights.solvers import repair
from lab import figures

ROUNDS, RATE = 2000, 2048 / 1.5e6
METHODS = ("kl", "renyi", "blow_up")
SIZES, LARGEST, PAPER = (1_000, 10_000, 100_000), 1_000_000, 100_000
TARGET_SECONDS, TARGET_GIGABYTES = 60, 4
REPEATS = 5


def weights_of(examples: int, edges: pl.DataFrame, secrets: pl.DataFrame) -> np.ndarray:
    """The linear program's weights at c = c_max/2, matched capacities; beyond the paper's size feasible ones."""
    kappa = unit_capacities(secrets, "normal_quantiles")
    capacities = 0.5 * largest_useful_c(edges, kappa) * kappa
    if secrets.height <= PAPER:
        return solve_weights(edges, n_examples=examples, capacities=capacities).weights
    program = build_program(edges, examples, capacities)
    return repair(program.incidence, program.capacities, np.ones(examples))


def calibrations(secrets: int) -> list[dict]:
    """One row a method: how long `calibrate` took for so many secrets, and what it found."""
    examples, edges, table = paper_graph(secrets)
    weights = weights_of(examples, edges, table)
    rates = np.minimum(weights * (RATE * examples / weights.sum()), 1.0)
    sizes = {"secrets": secrets, "edges": edges.height, "profiles": len(group_profiles(edges, rates, table))}
    rows = []
    for method in METHODS:
        began = time.perf_counter()
        found = calibrate(edges, rates, table, rounds=ROUNDS, method=method)
        seconds = time.perf_counter() - began
        # a bound was computed for each dominating binomial, and for each secret without one
        own = found.table["dominating_examples"].is_null()
        dominating = found.table.filter(~own).select(
            "dominating_examples", "dominating_rate", "dominating_prior"
        )
        row = {
            "method": method,
            "seconds": seconds,
            "noise_multiplier": found.noise_multiplier,
            "gap": found.noise_multiplier / found.least - 1,
            "bounds": dominating.n_unique() + int(own.sum()),
            "gigabytes": peak_gigabytes(),
        }
        rows.append(sizes | row)
        print(
            f"{secrets:9,d} {edges.height:10,d} {sizes['profiles']:9,d} {method:>8} {seconds:8.1f} "
            f"{row['noise_multiplier']:8.3f} {row['gap']:8.1e} {row['bounds']:6d} {row['gigabytes']:6.2f}",
            flush=True,
        )
    return rows


def inherited(secrets: int, sample: int = 200) -> np.ndarray:
    """bound / own bound of secrets, at random, that inherit theirs from a dominating binomial."""
    examples, edges, table = paper_graph(secrets)
    weights = weights_of(examples, edges, table)
    rates = np.minimum(weights * (RATE * examples / weights.sum()), 1.0)
    found = calibrate(edges, rates, table, rounds=ROUNDS, method="blow_up")
    inherited = found.table.filter(pl.col("dominating_examples").is_not_null())
    inherited = inherited.sample(min(sample, inherited.height), seed=0)
    ratios = []
    for secret, bound in inherited.select("secret_id", "bound").iter_rows():
        own = rates[edges.filter(pl.col("secret_id") == secret)["example_id"].to_numpy()]
        alone = posterior_bound(
            Participation.from_rates(own), noise_multiplier=found.noise_multiplier, rounds=ROUNDS, prior=PRIOR,
            method="blow_up",
        )  # fmt: skip
        ratios.append(bound / alone.value)
    print(
        f"{secrets:,} secrets: {len(ratios)} inherited bounds over the secrets' own: "
        f"median {np.median(ratios):.3f}, largest {np.max(ratios):.3f}"
    )
    return np.array(ratios)


def drawn_rates(secrets: int) -> tuple[np.ndarray, np.ndarray, pl.DataFrame, pl.DataFrame]:
    """(weights, rates, edges, secrets with their names)."""
    examples, edges, table = paper_graph(secrets)
    weights = weights_of(examples, edges, table)
    rates = np.minimum(weights * (RATE * examples / weights.sum()), 1.0)
    return weights, rates, edges, table.with_columns(name=pl.col("secret_id").cast(pl.String))


def verifying(secrets: int) -> None:
    """The three parts of `hush verify` that take time, at the calibrated σ."""
    weights, rates, edges, table = drawn_rates(secrets)
    found = calibrate(edges, rates, table, rounds=ROUNDS)
    mechanism = {"noise_multiplier": found.noise_multiplier, "rounds": ROUNDS}
    began = time.process_time()
    bounds = bound_secrets(edges, rates, table, **mechanism)
    print(f"{secrets:,} secrets: every bound again {time.process_time() - began:.1f} s", flush=True)
    began = time.process_time()
    curves = posterior_curves(edges, rates, table, **mechanism)
    print(f"every curve again {time.process_time() - began:.1f} s", flush=True)
    began = time.process_time()
    own = recheck.Secrets(weights, rates.sum(), edges, secrets)
    second = recheck.recheck_bounds(own, table, bounds, recheck.SampledRun(**mechanism), _silent)
    by_own, by_binomial = second.count(recheck.BY_OWN), second.count(recheck.BY_BINOMIAL)
    print(
        f"second route of the bounds {time.process_time() - began:.1f} s: {by_own} by own rates, {by_binomial} by "
        f"binomials, {second.count(recheck.NOT_SURE)} not confirmed, {len(second.failures)} failures",
        flush=True,
    )
    began = time.process_time()
    failures, points = recheck.recheck_curves(
        own, curves.of_secret, curves.table, recheck.SampledRun(**mechanism), _silent
    )
    print(
        f"second route of the curves {time.process_time() - began:.1f} s: confirmed, looked at, in all {points}, "
        f"{len(failures)} failures"
    )


def _silent(*_: object) -> None:
    """No progress."""


def distinct_priors(secrets: int) -> None:
    _, rates, edges, table = drawn_rates(secrets)
    table = table.with_columns(prior=pl.Series(10 ** np.random.default_rng(5).uniform(-12, -8, secrets)))
    for method in METHODS:
        began = time.process_time()
        bound_secrets(edges, rates, table, noise_multiplier=2.0, rounds=ROUNDS, method=method)
        print(
            f"{secrets:,} secrets, no two priors alike, {method}: {time.process_time() - began:.1f} s",
            flush=True,
        )


def certificates() -> list[dict]:
    """One row a number of rounds: σ grows with its square root, so that the task stays about as hard."""
    rows = []
    for rounds in (10**e for e in range(2, 8)):
        sigma = 0.067 * rounds**0.5
        seconds, with_lower, bound = timed_bound(
            lambda: Participation.binomial(count=100, rate=2048 / 1.2e6),
            noise_multiplier=sigma,
            rounds=rounds,
        )
        row = {"rounds": rounds, "noise_multiplier": sigma, "posterior": bound.value, "lower": bound.lower}
        rows.append(row | {"seconds": seconds, "seconds_with_lower": with_lower})
        print(
            f"{rounds:10,d} {sigma:8.2f} {bound.value:10.4g} {bound.value / bound.lower - 1:8.1e} "
            f"{1e3 * seconds:8.1f} {1e3 * with_lower:10.1f}",
            flush=True,
        )
    return rows


def many_rates(examples: int = 20_000) -> dict:
    """One secret whose examples all have different rates, at the noise of the Gaussian limit for r = 2e-4."""
    rates = np.random.default_rng(0).uniform(0, 2e-3, examples)
    sigma = float(gaussian_noise(rates.sum(), ROUNDS, PRIOR, 2e-4))
    seconds, with_lower, bound = timed_bound(
        lambda: Participation.from_rates(rates), noise_multiplier=sigma, rounds=ROUNDS
    )
    print(
        f"one secret with {examples:,} examples of different rates: {1e3 * seconds:.0f} ms, "
        f"{1e3 * with_lower:.0f} ms with a lower bound (σ = {sigma:.1f}, r = {bound.value:.4g})"
    )
    row = {"examples": examples, "noise_multiplier": sigma, "posterior": bound.value, "lower": bound.lower}
    return row | {"seconds": seconds, "seconds_with_lower": with_lower}


def timed_bound(participation: Callable[[], Participation], **mechanism):
    """(median seconds, the same with the lower bound, the bound); the distribution of K is in the time."""

    def bound(lower: bool):
        return posterior_bound(participation(), prior=PRIOR, method="blow_up", lower=lower, **mechanism)

    medians = []
    for lower in (False, True):
        times = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            found = bound(lower)
            times.append(time.perf_counter() - began)
        medians.append(statistics.median(times))
    return medians[0], medians[1], found


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="a million secrets too: minutes, and gigabytes")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    alone = {"inherited": inherited, "verify": verifying, "priors": distinct_priors}
    for name in alone:
        parser.add_argument(f"--{name}", type=int, metavar="SECRETS")
    arguments = parser.parse_args()
    for name, run in alone.items():
        if secrets := getattr(arguments, name):
            run(secrets)
            return
    print(
        f"{'rounds':>10} {'σ':>8} {'r':>10} {'gap':>8} {'ms':>8} {'and lower':>10}    "
        f"(100 examples at 2048/1.2e6, p = {PRIOR:g}; medians of {REPEATS})"
    )
    by_rounds = certificates()
    one = many_rates()
    print(
        f"\n{'secrets':>9} {'edges':>10} {'profiles':>9} {'method':>8} {'seconds':>8} {'σ':>8} {'gap':>8} "
        f"{'bounds':>6} {'GB':>6}    (gap: σ / least − 1; bounds: distinct ones in the table)"
    )
    by_secrets = []
    for secrets in (*SIZES, LARGEST) if arguments.full else SIZES:
        by_secrets += calibrations(secrets)
    paper = [row for row in by_secrets if row["secrets"] == PAPER]
    print(
        f"{PAPER:,} secrets, all methods: {sum(row['seconds'] for row in paper):.0f} s "
        f"(target: {TARGET_SECONDS}), {max(row['gigabytes'] for row in paper):.2f} GB (target: {TARGET_GIGABYTES})"
    )
    if arguments.out:
        found = {"calibrations": by_secrets, "certificates": by_rounds, "many_rates": one}
        arguments.out.write_text(json.dumps(found, indent=2) + "\n")
    if arguments.picture:
        figures.certificate_scale(pl.DataFrame(by_secrets), pl.DataFrame(by_rounds), arguments.picture)


if __name__ == "__main__":
    main()
