"""`best` against an independent computation, on random mechanisms over the declared range.

The computation is `hush verify`'s second route (`hush_core/certificate/recheck`): Laplace inversion at the saddle
point, with its own law of K, no grid of losses and no composition. It was written by another person, takes nothing
of hush_core.accounting (tests/test_architecture.py), and refuses where its own error estimate is above 1e-5. Where
it refuses, only the bound's own two sides are judged: how far it lies above `lower`.

Mechanisms: σ in [0.05, 1e6], T up to 1e7, p from 1e-30, up to 10^4 examples, rates from 1e-16 to 1, log-uniform; a
quarter with Σρ near σ/√T, a quarter with σ < 2 and T·Σρ from 1e-9 to 3, a quarter with T·Σρ from 1e-3 to 100.

Prints each violation: a bound below the exact value (by more than 1e-4), or more than 1 % above it or above
`lower`; a `lower` above the exact value. Then how many were judged by what, and the excess.
"""

import argparse
import time

import numpy as np

from hush_core.accounting import Participation, posterior_bound
from hush_core.certificate.recheck.counts import NotConfirmed
from hush_core.certificate.recheck.inversion import posterior

SLACK, CLOSE = 1e-4, 1e-2


def draw(rng: np.random.Generator) -> dict:
    """One mechanism: counts and rates of its examples, σ, T and p."""
    sigma, rounds = 10 ** rng.uniform(np.log10(0.05), 6), int(10 ** rng.uniform(0, 7))
    prior, examples = 10 ** rng.uniform(-30, np.log10(0.5)), int(10 ** rng.uniform(0, 4))
    kind = rng.integers(4)
    if kind in (2, 3):
        sigma = 10 ** rng.uniform(np.log10(0.05), 0.3 if kind == 2 else 1.5)
    rate = {
        0: 10 ** rng.uniform(-16, 0),
        1: sigma / np.sqrt(rounds) * 10 ** rng.uniform(-1.3, 1) / examples,
        2: 10 ** rng.uniform(-9, 0.5) / rounds / examples,
        3: 10 ** rng.uniform(-3, 2) / rounds / examples,
    }[int(kind)]
    counts, rates = [examples], [min(rate, 1.0)]
    if rng.random() < 0.3:
        counts.append(int(10 ** rng.uniform(0, 2)))
        rates.append(min(rate * 10 ** rng.uniform(-2, 1), 1.0))
    return {"counts": counts, "rates": rates, "sigma": float(sigma), "rounds": rounds, "prior": float(prior)}


def draw_in_the_corner(rng: np.random.Generator) -> dict:
    """Hardly ever drawn, and a prior below 1e-23."""
    case = draw(rng) | {"sigma": 10 ** rng.uniform(np.log10(0.05), 1.0), "prior": 10 ** rng.uniform(-30, -23)}
    examples = int(10 ** rng.uniform(0, 4))
    rate = 10 ** rng.uniform(-16, -5) / case["rounds"] / examples
    return case | {"counts": [examples], "rates": [rate]}


def exact(case: dict) -> float:
    """The tight bound by the independent computation; NaN where it refuses."""
    rates, counts = np.array(case["rates"], np.float64), np.array(case["counts"])
    mechanism = {"noise_multiplier": case["sigma"], "rounds": case["rounds"], "prior": case["prior"]}
    try:
        with np.errstate(all="ignore"):
            return posterior(rates, counts, **mechanism).value
    except (NotConfirmed, ArithmeticError, ValueError):
        return np.nan


def compare(case: dict) -> dict:
    """The bound, its lower one and the exact value of one mechanism."""
    began = time.perf_counter()
    bound = posterior_bound(
        Participation.from_rates(np.repeat(case["rates"], case["counts"])), noise_multiplier=case["sigma"],
        rounds=case["rounds"], prior=case["prior"], lower=True,
    )  # fmt: skip
    seconds, value = time.perf_counter() - began, exact(case)
    return case | {
        "bound": bound.value, "lower": bound.lower, "method": bound.method, "exact": value,
        "excess": bound.value / value - 1, "gap": bound.value / bound.lower - 1 if bound.lower else np.inf,
        "seconds": seconds,
    }  # fmt: skip


def violates(row: dict) -> bool:
    """Comparisons with NaN are false: what was not confirmed is judged by its gap alone."""
    wrong = row["bound"] < row["exact"] * (1 - SLACK) or row["lower"] > row["exact"] * (1 + SLACK)
    return bool(wrong or row["gap"] > CLOSE or row["excess"] > CLOSE)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mechanisms", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corner", action="store_true", help="T·Σρ below 1e-5 and priors below 1e-23 only")
    parser.add_argument("--all", action="store_true", help="print every mechanism")
    arguments = parser.parse_args()
    rng, rows = np.random.default_rng(arguments.seed), []
    for _ in range(arguments.mechanisms):
        row = compare((draw_in_the_corner if arguments.corner else draw)(rng))
        rows.append(row)
        if violates(row) or arguments.all:
            numbers = (f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items())
            print("VIOLATION " * violates(row) + " ".join(numbers), flush=True)
    excess = np.array([row["excess"] for row in rows if np.isfinite(row["exact"])])
    gaps, seconds = (np.array([row[name] for row in rows]) for name in ("gap", "seconds"))
    print(
        f"confirmed by the independent computation: {len(excess)} of {len(rows)}; bound/exact − 1: median "
        f"{np.median(excess):.1e}, least {excess.min():.1e}, largest {excess.max():.1e}"
    )
    print(f"bound/lower − 1 of all: median {np.median(gaps):.1e}, largest {gaps.max():.1e}")
    print(f"seconds a bound with its lower one: median {np.median(seconds):.2g}, largest {seconds.max():.2g}")
    print(f"{len(rows)} mechanisms, {sum(map(violates, rows))} violations")


if __name__ == "__main__":
    main()
