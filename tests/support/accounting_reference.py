"""What the accountant gave before it became one for one run and for many: bounds, noises and curves of 33 layouts.

`accounting_reference.parquet` holds them as commit d18e975 computed them, one value a row, with the machine's name.

    python tests/support/accounting_reference.py tests/support/accounting_reference.parquet
"""

import platform
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import scipy
from frames import frame_of
from numpy._core._multiarray_umath import __cpu_features__ as cpu
from threadpoolctl import threadpool_info

from hush_core.accounting import (
    History,
    Participation,
    Run,
    TargetsSpent,
    bound_of_runs,
    bound_secrets,
    calibrate,
    certify_runs,
    largest_expected_count,
    noise_for_all,
    noise_for_runs,
    posterior_curves,
    smallest_noise,
)
from hush_core.accounting.many_secrets.laws import Laws

FILE = Path(__file__).with_suffix(".parquet")
SCHEMA = {"case": pl.String, "column": pl.String, "row": pl.UInt32, "number": pl.Float64, "word": pl.String}


def machine() -> str:
    """What the last digits may depend on."""
    features = " ".join(sorted(name for name, here in cpu.items() if here))
    kernels = " ".join(
        sorted({info["architecture"] for info in threadpool_info() if info["user_api"] == "blas"})
    )
    return f"{platform.machine()} numpy {np.__version__} scipy {scipy.__version__} {features} BLAS {kernels}"


def layout(secrets: int, *, seed: int, priors: int = 3, most: float = 2.2, alike: bool = False) -> tuple:
    """(edges, rates, secrets): ragged groups, heavy-tailed; a sure example, rates of 0 and a secret without any."""
    rng = np.random.default_rng(seed)
    examples = 40 * secrets
    rates = 10.0 ** rng.uniform(-3.5, -1.7, examples)
    if alike:
        rates[:] = 0.004
    rates[:2], rates[2:10] = 1.0, 0.0
    sizes = (10 ** rng.uniform(0, most, secrets)).astype(int)
    tagged = [rng.choice(np.arange(10, examples), size, replace=False) for size in sizes]
    tagged[-1], tagged[-2], tagged[-3] = np.empty(0, int), np.arange(2, 10), np.array([0, 20])
    tagged[-4] = tagged[-5]
    prior = rng.choice(10.0 ** rng.uniform(-12, -4, priors), secrets)
    prior[-3] = 1e-3
    posterior = np.minimum(prior ** rng.uniform(0.35, 0.6, secrets), 0.5)
    edges = frame_of(
        example_id=np.concatenate(tagged).astype(np.uint32),
        secret_id=np.repeat(np.arange(secrets), [len(own) for own in tagged]),
    )
    table = {"secret_id": np.arange(secrets, dtype=np.uint32), "prior": prior, "posterior": posterior}
    return edges, rates, pl.DataFrame(table)


def past(secrets: int, runs: int, seed: int = 3) -> History:
    """Rates that drift, secrets born late or gone early, a σ of its own in each run."""
    rng = np.random.default_rng(seed)
    count, base = rng.integers(2, 61, secrets), rng.lognormal(np.log(2e-3), 0.6, secrets)
    born = np.where(rng.random(secrets) < 0.7, 0, rng.integers(0, runs, secrets))
    rows = []
    for run in range(runs):
        here = np.flatnonzero(born <= run)
        rates = base[here] * np.exp(rng.normal(0.01 * run, 0.002, len(here)))
        rows.append((here, np.full(len(here), run), count[here] + (run > 2), rates))
    secret, run, examples, rate = (np.concatenate(each) for each in zip(*rows, strict=True))
    sigma = 9.0 + np.arange(runs) % 4
    return History.of_binomials(
        sigma, np.full(runs, 300), secret=secret, run=run, examples=examples, rate=rate
    )


LAWS = [
    Participation.binomial(100, 1e-3),
    Participation.binomial(40, 2e-3),
    Participation.from_rates([0.3, 0.01]),
]
FEW = [
    [Run(LAWS[0], 12.0, 200)],
    [Run(LAWS[1], 12.0, 200), Run(LAWS[1], 14.0, 100)],
    [Run(LAWS[2], 14.0, 20), Run(LAWS[2], 14.0, 20), Run(LAWS[0], 9.0, 50)],
    [],
]


def of_one(method: str) -> dict:
    found = [
        bound_of_runs([Run(law, sigma, rounds)], prior=prior, method=method, lower=True)
        for law in LAWS
        for sigma, rounds in ((1.1, 10), (4.0, 400))
        for prior in (1e-10, 1e-3)
    ]
    return {
        "bound": [b.value for b in found],
        "lower": [b.lower for b in found],
        "error": [b.numerical_error for b in found],
    }


def smallest() -> dict:
    return {
        "noise": [
            smallest_noise(law, rounds=300, prior=p, posterior=r, method=method)
            for law in LAWS
            for p, r in ((1e-10, 2e-4), (1e-3, 0.05))
            for method in ("kl", "renyi", "blow_up")
        ]
    }


def calibrated(graph: tuple, **how) -> pl.DataFrame:
    found = calibrate(*graph, **how)
    return found.table.with_columns(sigma=pl.lit(found.noise_multiplier), least=pl.lit(found.least))


def curves(graph: tuple, **how) -> pl.DataFrame:
    found = posterior_curves(*graph, **how)
    return found.table.with_columns(secrets=pl.lit(str(found.of_secret.tolist())))


def runs(
    history: History, secrets: int, method: str = "best", easy: float = 3e-5, near: bool = False
) -> pl.DataFrame:
    """`near`: targets a hair below what groups prove, so that many are bounded by their own rates."""
    priors = np.resize([1e-8, 1e-8, 1e-7], secrets)
    found = certify_runs(history, priors, np.full(secrets, easy), method=method)
    if near:
        found = certify_runs(history, priors, found.bound * 0.985, method=method)
    return found.table.join(
        found.groups.group_by("group").agg(pl.col("rate").sort().sum(), pl.col("examples").max()),
        on="group", how="left", maintain_order="left",
    )  # fmt: skip


def next_noise(history: History, secrets: int, targets: np.ndarray, to_follow: int = 0) -> pl.DataFrame:
    laws = [*LAWS[:2], Participation.binomial(3, 5e-3)]
    places = np.random.default_rng(0).integers(0, 3, secrets)
    coming = History.of_run(1.0, 300, places, Laws.of(laws))
    found = noise_for_runs(history, coming, np.full(secrets, 1e-8), targets, to_follow=to_follow)
    return found.table.with_columns(sigma=pl.lit(found.noise_multiplier), least=pl.lit(found.least))


def spent() -> dict:
    try:
        next_noise(History.of([*FEW[:1], [Run(LAWS[0], 1.0, 2000)]]), 2, np.full(2, 1e-5))
    except TargetsSpent as error:
        return {"secrets": error.secrets.tolist()}
    raise AssertionError


SMALL, MIDDLE, LARGE = layout(14, seed=1), layout(60, seed=2), layout(330, seed=3)
MANY_PRIORS = layout(330, seed=4, priors=330, most=1.8)
ALIKE = layout(200, seed=5, alike=True)
EASY = np.resize([1e-5, 3e-5, 1e-4], 120)

CASES: dict[str, Callable[[], dict | pl.DataFrame]] = {
    **{f"one secret, {m}": lambda m=m: of_one(m) for m in ("best", "kl", "renyi", "renyi_preservation")},
    "smallest noise": smallest,
    "largest count": lambda: {
        "count": largest_expected_count(
            [1e-10, 1e-6], [2e-4, 1e-2], noise_multiplier=2.0, rounds=300, largest_rate=0.1
        )
    },
    "bounds, few": lambda: bound_secrets(*SMALL, noise_multiplier=2.0, rounds=64),
    "bounds, alike": lambda: bound_secrets(*ALIKE, noise_multiplier=1.0, rounds=64),
    **{
        f"bounds, many, {m}": lambda m=m: bound_secrets(*LARGE, noise_multiplier=1.4, rounds=64, method=m)
        for m in ("best", "kl", "renyi")
    },
    "bounds, many, little noise": lambda: bound_secrets(*LARGE, noise_multiplier=0.4, rounds=64, method="kl"),
    "bounds, many priors": lambda: bound_secrets(*MANY_PRIORS, noise_multiplier=1.0, rounds=64, method="kl"),
    **{
        f"calibrated, {size}, {m}": lambda graph=graph, m=m: calibrated(graph, rounds=40, method=m)
        for size, graph, m in (
            ("few", SMALL, "best"), ("few", SMALL, "kl"), ("middle", MIDDLE, "best"), ("many", LARGE, "kl"),
            ("many", LARGE, "best"), ("alike", ALIKE, "renyi"), ("many priors", MANY_PRIORS, "kl"),
        )
    },
    "noise for all": lambda: {
        "noise": [noise_for_all(*graph, rounds=40, method="kl") for graph in (SMALL, MIDDLE, LARGE, ALIKE)]
        + [noise_for_all(*graph, rounds=40) for graph in (SMALL, MIDDLE)]
    },
    "curves, few": lambda: curves(SMALL, noise_multiplier=2.0, rounds=64),
    "curves, many": lambda: curves(LARGE, noise_multiplier=2.0, rounds=64, method="kl"),
    "runs, few": lambda: runs(History.of(FEW), 4),
    "runs, one": lambda: runs(past(100, 1), 100),
    "runs, many": lambda: runs(past(120, 5), 120),
    "runs, many, near the target": lambda: runs(past(120, 5), 120, easy=1e-6),
    "runs, many, by own rates": lambda: runs(past(120, 5), 120, near=True),
    "runs, many, kl": lambda: runs(past(120, 5), 120, "kl"),
    "next run, few": lambda: next_noise(History.of(FEW), 4, np.array([1e-5, 3e-5, 2e-1, 1e-4]), to_follow=1200),
    "next run, the first": lambda: next_noise(History.of([]), 4, np.full(4, 1e-5)),
    "next run, many": lambda: next_noise(past(120, 4), 120, EASY * 10, to_follow=600),
    "targets spent": spent,
}  # fmt: skip


def values(case: str) -> pl.DataFrame:
    """One row a value: case · column · row · number · word (what is no number)."""
    found = pl.DataFrame(CASES[case](), strict=False)
    frames = []
    for name in found.columns:
        column = found[name]
        words = column.dtype == pl.String
        frames.append(
            pl.DataFrame(
                {
                    "case": [case] * len(column), "column": [name] * len(column), "row": range(len(column)),
                    "number": [None] * len(column) if words else column.cast(pl.Float64),
                    "word": column if words else [None] * len(column),
                },
                schema=SCHEMA,
            )
        )  # fmt: skip
    return pl.concat(frames)


if __name__ == "__main__":
    import time

    done = []
    for name in CASES:
        began = time.process_time()
        done.append(values(name))
        print(f"{name}: {time.process_time() - began:.1f} s", flush=True)
    table = pl.concat(
        [pl.DataFrame([("machine", "", 0, None, machine())], schema=SCHEMA, orient="row"), *done]
    )
    table.write_parquet(sys.argv[1], compression="zstd", compression_level=19)
