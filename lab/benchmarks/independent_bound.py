"""`best` against an independent computation, on random mechanisms over the declared range.

The computation is `hush verify`'s second route (`hush_core/certificate/recheck`): Laplace inversion at the saddle
point, with its own law of K, no grid of losses and no composition. It was written by another person, takes nothing
of hush_core.accounting (tests/test_architecture.py), and refuses where its own error estimate is above 1e-5. Where
it refuses, only the bound's own two sides are judged: how far it lies above `lower`.

Mechanisms: σ in [0.05, 1e6], T up to 1e7, p from 1e-30, up to 10^4 examples, rates from 1e-16 to 1, log-uniform; a
quarter with Σρ near σ/√T, a quarter with σ < 2 and T·Σρ from 1e-9 to 3, a quarter with T·Σρ from 1e-3 to 100.

Prints each violation: a bound below the exact value (by more than 1e-4), or more than 1 % above it or above
`lower`; a `lower` above the exact value. Then how many were judged by what, and the excess.

`--runs 52`: products of so many runs instead, each with a σ, rates and a T of its own, by the same route. With
`--peer` also by dp_accounting: from above by connect-the-dots, from below by rounding losses down, and extrapolated
from two steps. In turn, one run is much noisier, draws at rate 1 (what a run under correlated noise costs is
such a Gaussian), hardly draws, has σ = 0.3, or σ = 100 at rate 1.
"""

import argparse
import math
import time
from dataclasses import replace
from functools import reduce

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld import privacy_loss_mechanism as mechanism

from hush_core.accounting import Participation, Run, bound_of_runs, posterior_bound
from hush_core.certificate.recheck.counts import NotConfirmed
from hush_core.certificate.recheck.inversion import posterior, posterior_of_runs

SLACK, CLOSE = 1e-4, 1e-2
STEPS = (2e-3, 1e-3, 5e-4)
"""Of dp_accounting's grid, until two of them agree to SLACK."""
KINDS = (
    "alike",
    "one much noisier",
    "one at rate 1",
    "one at rate 1e-9",
    "one of σ 0.3",
    "one of σ 100 at rate 1",
)


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


def draw_runs(rng: np.random.Generator, count: int, kind: str) -> tuple[list[Run], float]:
    """A product of runs on a secret in one example, in three in the last, as far apart in all as a Gaussian of μ in
    [0.2, 4]; and the prior."""
    sigma, rounds = 10 ** rng.uniform(0, 0.8, count), (10 ** rng.uniform(0, 1.5, count)).astype(int)
    rates = 10 ** rng.uniform(-2, -0.5, count)
    rates *= 10 ** rng.uniform(-0.7, 0.6) / np.sqrt(np.sum(rounds * rates**2 / sigma**2))
    runs = [
        Run(Participation.from_rates(min(rate, 1.0)), float(noise), int(number))
        for rate, noise, number in zip(rates, sigma, rounds, strict=True)
    ]
    last = Participation.from_rates(min(rates[-1], 1.0) * np.array([0.1, 0.3, 0.6]))
    runs[-1] = Run(last, 5.0, int(rounds[-1]))
    runs[0] = {
        "alike": runs[0],
        "one much noisier": replace(runs[0], noise_multiplier=100 * runs[0].noise_multiplier),
        "one at rate 1": Run(Participation.from_rates(1.0), 2.0, 1),
        "one at rate 1e-9": Run(Participation.from_rates(1e-9), runs[0].noise_multiplier, 100),
        "one of σ 0.3": Run(Participation.from_rates(1e-3), 0.3, 5),
        "one of σ 100 at rate 1": Run(Participation.from_rates(1.0), 100.0, 1000),
    }[kind]
    return runs, float(10 ** rng.uniform(-10, -1))


def by_dp_accounting(runs: list[Run], prior: float, step: float, *, pessimistic: bool = True) -> float:
    """min over v of e^v·p + δ(v) of the product: from above by connect-the-dots, or from below."""
    cut, composed = 1e-6 * prior / len(runs), None
    for run in runs:
        common = {
            "adjacency_type": mechanism.AdjacencyType.REMOVE, "pessimistic_estimate": pessimistic,
            "log_mass_truncation_bound": math.log(cut / run.rounds),
        }  # fmt: skip
        rates = np.repeat(run.participation.rates, run.participation.counts)
        if len(rates) == 1:
            loss = mechanism.GaussianPrivacyLoss(
                run.noise_multiplier, sampling_prob=float(rates[0]), **common
            )
        else:
            law = reduce(np.convolve, ([1 - rate, rate] for rate in rates))
            loss = mechanism.MixtureGaussianPrivacyLoss(
                run.noise_multiplier, np.arange(len(law)), law, **common
            )
        one = pld._create_pld_pmf_from_monotone_privacy_loss(
            loss, pessimistic, value_discretization_interval=step, use_connect_dots=pessimistic
        )
        one = one.self_compose(run.rounds, tail_mass_truncation=cut)
        one = one.to_dense_pmf()
        composed = one if composed is None else composed.compose(one, tail_mass_truncation=cut)
    dense = composed.to_dense_pmf()
    losses = (dense._lower_loss + np.arange(dense.size)) * step
    factor, masses = np.exp(losses[losses > -5]), dense._probs[losses > -5]
    above, reference = np.cumsum(masses[::-1])[::-1], np.cumsum((masses / factor)[::-1])[::-1]
    # between two losses δ is linear in e^v, so the least is at one of them
    return float(np.min(factor * prior + above - factor * reference)) + dense._infinity_mass


def compare_runs(runs: list[Run], prior: float, *, peer: bool) -> dict:
    """`compare` for a product. The peer's numbers: no bound may be below `floor`, `ceiling` is its upper bound, and
    `extrapolated` is what its two finest steps point to."""
    began = time.process_time()
    bound = bound_of_runs(runs, prior=prior, lower=True)
    seconds = time.process_time() - began
    drawn = [
        (run.participation.rates, run.participation.counts, run.noise_multiplier, run.rounds) for run in runs
    ]
    try:
        value = posterior_of_runs(drawn, prior=prior).value
    except (NotConfirmed, ArithmeticError, ValueError):
        value = np.nan
    row = {
        "prior": prior, "bound": bound.value, "lower": bound.lower, "exact": value,
        "excess": bound.value / value - 1, "gap": bound.value / bound.lower - 1, "seconds": seconds,
    }  # fmt: skip
    above: list[float] = []
    for step in STEPS if peer else ():
        above.append(by_dp_accounting(runs, prior, step))
        if len(above) > 1 and above[-2] / above[-1] - 1 < SLACK:
            break
    if peer:
        floor = by_dp_accounting(runs, prior, step, pessimistic=False)
        row |= {"floor": floor, "extrapolated": (4 * above[-1] - above[-2]) / 3, "ceiling": above[-1]}
    return row


def violates(row: dict) -> bool:
    """Comparisons with NaN are false: what was not confirmed is judged by its gap alone."""
    wrong = row["bound"] < row["exact"] * (1 - SLACK) or row["lower"] > row["exact"] * (1 + SLACK)
    wrong = wrong or row["bound"] < row.get("floor", 0) * (1 - 1e-6)
    return bool(wrong or row["gap"] > CLOSE or row["excess"] > CLOSE)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mechanisms", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corner", action="store_true", help="T·Σρ below 1e-5 and priors below 1e-23 only")
    parser.add_argument("--all", action="store_true", help="print every mechanism")
    parser.add_argument("--runs", type=int, help="products of so many runs")
    parser.add_argument("--peer", action="store_true", help="products by dp_accounting, too")
    arguments = parser.parse_args()
    rng, rows = np.random.default_rng(arguments.seed), []
    for number in range(arguments.mechanisms):
        if arguments.runs:
            kind = KINDS[number % len(KINDS)]
            row = {"kind": kind} | compare_runs(*draw_runs(rng, arguments.runs, kind), peer=arguments.peer)
        else:
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
