"""What certificates over a year of runs cost: 100,000 secrets × 52 runs, in time and memory; how loose they are.

Each run has a σ and rates of its own (σ within 3 %, rates drifting by some tenths of a percent a run, a secret's
own by 0.05 %), T = 2000; a fifth of the secrets appear later than the first run, and 2 % of the rows hold one
example more. p = 1e-10, r uniform in [2e-4, 1e-3]. Prints seconds of the processor, peak memory, and for a sample
of secrets the inherited bound over the secret's own. Then one history of 52 different runs by hush and by
dp_accounting, whose grids are refined until it is within 0.1 % of the tight bound.

One core. --quick: 2,000 secrets × 12 runs, no comparison. --secrets, --runs, --same-noise (one σ for all runs).
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1"))

import argparse
import math
import resource
import time

import numpy as np
import polars as pl

from hush_core.accounting import History, Participation, Run, bound_of_runs, certify_runs

PRIOR, ROUNDS, SIGMA = 1e-10, 2000, 25.0
"""σ of 52 runs; k runs take √(k/52) times as much."""
TARGET_SECONDS, TARGET_GIGABYTES = 300, 6
CUT = 1e-18


def history_of(secrets: int, runs: int, *, same_noise: bool, seed: int = 0) -> History:
    """Synthetic, as said above; one binomial a row."""
    rng = np.random.default_rng(seed)
    count, base = rng.integers(5, 101, secrets), rng.lognormal(np.log(0.0008), 0.6, secrets)
    drift, level = np.exp(np.cumsum(rng.normal(-0.001, 0.004, runs))), SIGMA * math.sqrt(runs / 52)
    sigma = np.full(runs, level) if same_noise else level * np.exp(rng.normal(0, 0.03, runs))
    born = np.where(rng.random(secrets) < 0.8, 0, rng.integers(0, runs, secrets))
    columns: list[tuple[np.ndarray, ...]] = []
    for run in range(runs):
        here = np.flatnonzero(born <= run)
        examples = count[here] + (rng.random(len(here)) < 0.02)
        rate = base[here] * drift[run] * np.exp(rng.normal(0, 0.0005, len(here)))
        columns.append((here, np.full(len(here), run), examples, rate))
    secret, run, examples, rate = (np.concatenate(each) for each in zip(*columns, strict=True))
    rounds = np.full(runs, ROUNDS)
    return History.of_binomials(sigma, rounds, secret=secret, run=run, examples=examples, rate=rate)


def scale(secrets: int, runs: int, *, same_noise: bool, sample: int) -> None:
    history = history_of(secrets, runs, same_noise=same_noise)
    targets = np.random.default_rng(1).uniform(2e-4, 1e-3, secrets)
    began = time.process_time()
    found = certify_runs(history, np.full(secrets, PRIOR), targets)
    seconds = time.process_time() - began
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    inherited = found.table.filter(pl.col("group").is_not_null())
    print(
        f"{secrets:,} secrets × {runs} runs ({len(history.secret):,} rows): {seconds:.0f} s of the processor, "
        f"{gigabytes:.1f} GB; {found.groups['group'].n_unique():,} groups, "
        f"{secrets - inherited.height:,} by own rates"
    )
    if (secrets, runs) == (100_000, 52):
        fine = seconds < TARGET_SECONDS and gigabytes < TARGET_GIGABYTES
        print(f"goal of {TARGET_SECONDS} s and {TARGET_GIGABYTES} GB: {'met' if fine else 'MISSED'}")
    for name, rows in (
        ("all", inherited),
        ("within a third of the target", inherited.filter(pl.col("bound") * 3 > pl.col("posterior"))),
    ):
        ratios = [
            bound / bound_of_runs(history.runs_of(secret), prior=PRIOR, method="blow_up").value
            for secret, bound in rows.sample(min(sample, rows.height), seed=0)
            .select("secret", "bound")
            .iter_rows()
        ]
        if ratios:
            print(
                f"inherited over own bound, {name}, {len(ratios)} secrets: median {np.median(ratios):.3f}, "
                f"largest {max(ratios):.3f}, least {min(ratios):.3f}"
            )


def peers(runs: int) -> None:
    """One history by hush and by dp_accounting's connect-the-dots, at equal accuracy."""
    rng = np.random.default_rng(0)
    history = [
        Run(Participation.binomial(100, 2048 / 1.2e6 * float(f)), SIGMA * float(g), ROUNDS)
        for f, g in zip(rng.uniform(0.95, 1.05, runs), rng.uniform(0.95, 1.05, runs), strict=True)
    ]
    exact = bound_of_runs(history, prior=PRIOR, method="blow_up", lower=True)
    began = time.process_time()
    ours = bound_of_runs(history, prior=PRIOR, method="blow_up").value
    print(f"{runs} different runs: hush {ours:.6g} ({ours / exact.lower - 1:.1e} above `lower`), "
          f"{time.process_time() - began:.1f} s")  # fmt: skip
    for step in (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4):
        began = time.process_time()
        found = by_dp_accounting(history, step)
        gap = found / exact.lower - 1
        print(f"dp_accounting, grid {step:g}: {found:.6g} ({gap:.1e} above `lower`), "
              f"{time.process_time() - began:.1f} s", flush=True)  # fmt: skip
        if gap < 1e-3:
            break


def by_dp_accounting(history: list[Run], step: float) -> float:
    from certificate_peers import dense_masses, least_posterior, mechanism, pld

    total = sum(run.rounds for run in history)
    composed, tails = None, 0.0
    for run in history:
        counts = run.participation.distribution.trimmed(CUT / total)
        k = (counts.first + np.arange(len(counts.pmf))).astype(float)
        loss = mechanism.MixtureGaussianPrivacyLoss(
            run.noise_multiplier,
            k,
            counts.pmf / counts.pmf.sum(),
            adjacency_type=mechanism.AdjacencyType.REMOVE,
            log_mass_truncation_bound=math.log(CUT / total),
        )
        one = pld._create_pld_pmf_from_monotone_privacy_loss(
            loss, value_discretization_interval=step, use_connect_dots=True
        )
        rounds = one.self_compose(run.rounds, tail_mass_truncation=CUT)
        composed = rounds if composed is None else composed.compose(rounds, tail_mass_truncation=CUT)
        tails += run.rounds * counts.tail
    width, first, masses, infinity = dense_masses(composed)
    losses = (first + np.arange(len(masses))) * width
    return least_posterior(losses, masses, PRIOR) + infinity + tails


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--secrets", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=52)
    parser.add_argument("--same-noise", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--peers", action="store_true", help="the comparison alone")
    given = parser.parse_args()
    if given.quick:
        scale(2_000, 12, same_noise=given.same_noise, sample=5)
        return
    if not given.peers:
        scale(given.secrets, given.runs, same_noise=given.same_noise, sample=20)
    peers(given.runs)


if __name__ == "__main__":
    main()
