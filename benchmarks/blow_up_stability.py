"""The blow-up function that the paper gave up (§5.1): where its recipe explodes, and what the stable reading gives.

The paper's recipe: from dp_accounting's composed privacy loss distribution take losses v_i and probabilities p_i;
the blow-up function at Σ_{i≥j} p_i is Σ_{i≥j} e^{v_i}·p_i, and the whole sum must be 1. For that to hold the p_i
are the REFERENCE's masses of v = log(other/reference), so dp_accounting's loss, log(upper/lower) under the upper
distribution, is negated: v = −loss. Its adjacency ADD then gives B_{P,Q} (p_i are Q's) and REMOVE gives B_{Q,P}.

Setting: B = 2048, 1.2e6 examples, T = 2000, p = 1e-10; dp_accounting's public constructor with its defaults, both
discretisations. Prints, for each number of examples, noise multiplier and discretisation, the order and step whose
sum is furthest from 1, and the recipe's r of B_{P,Q} at that step. Writes everything as JSON with --out. About two
minutes on one core.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld import privacy_loss_mechanism as mechanism
from scipy.stats import binom

from hush_core.accounting import Participation, posterior_bound, second_route
from hush_core.accounting.dp.hockey_stick import dense_masses
from hush_core.errors import CertificationError

RATE, ROUNDS, PRIOR = 2048 / 1.2e6, 2000, 1e-10
EXAMPLES = (1, 100)
NOISE = (103.83, 43.90, 24.2, 10.38, 4.39, 2.83, 2.47, 2.0, 1.7, 1.52, 1.3)
"""By kl for r = 2e-4 and 1e-3, with the paper's linear program; two of them with ten times less noise (the paper's
footnote 1); by blow_up for the same two r; and on downwards."""
SETTINGS = (("dots", 1e-4), ("dots", 1e-3), ("buckets", 1e-4), ("buckets", 1e-3))
MOST_POINTS = {"dots": 100_000, "buckets": 20_000}
"""Points of one round's loss; what needs more is skipped and said so: dp_accounting takes 0.1 to 0.3 ms a point."""


def composed(examples: int, sigma: float, discretisation: str, step: float):
    """dp_accounting's composed distribution by its public constructor, or None where it is too slow."""
    counts = np.arange(examples + 1, dtype=float)
    law = binom.pmf(counts, examples, RATE)
    ends = mechanism.MixtureGaussianPrivacyLoss(sigma, counts, law).connect_dots_bounds()
    if (ends.epsilon_upper - ends.epsilon_lower) / step > MOST_POINTS[discretisation]:
        return None
    one_round = pld.from_mixture_gaussian_mechanism(
        sigma,
        counts,
        law,
        value_discretization_interval=step,
        use_connect_dots=discretisation == "dots",
    )
    return one_round.self_compose(ROUNDS)


def recipe(masses) -> dict[str, float]:
    """The paper's whole sum; its r at p by linear interpolation; and the sum with the loss NOT negated."""
    step, first, reference, _ = dense_masses(masses)
    loss = (first + np.arange(len(reference))) * step
    with np.errstate(over="ignore"):
        other = np.exp(-loss) * reference  # ascending loss: from the largest v downwards
        unnegated = float((np.exp(loss) * reference).sum())
    x, blow_up = np.cumsum(reference), np.cumsum(other)
    j = int(np.argmax(x >= PRIOR))
    start, value = (x[j - 1], blow_up[j - 1]) if j else (0.0, 0.0)
    r = value + (PRIOR - start) / (x[j] - start) * (blow_up[j] - value)
    return {"sum": float(blow_up[-1]), "r": float(r), "unnegated": unnegated}


def stable(examples: int, sigma: float) -> dict[str, float | str]:
    """The same r downwards from P: ours, and dp_accounting's connect-the-dots."""
    k = Participation.binomial(examples, RATE)
    arguments = {"noise_multiplier": sigma, "rounds": ROUNDS, "prior": PRIOR}
    found: dict[str, float | str] = {}
    for name, function in (
        ("blow_up", lambda: posterior_bound(k, **arguments, method="blow_up")),
        ("dp_accounting", lambda: second_route(k, **arguments)),
    ):
        try:
            bound = function()
            found |= {name: bound.value, f"{name}_numerical_error": bound.numerical_error}
        except CertificationError as refusal:
            found[name] = f"refused: {refusal}"
    return found


def shown(number: float | str | None) -> str:
    return f"{number:10.3e}" if isinstance(number, float) else f"{'refused' if number else '-':>10}"


def print_case(rows: list[dict], values: dict, examples: int, sigma: float) -> None:
    for discretisation in ("dots", "buckets"):
        own = [row for row in rows if row["discretisation"] == discretisation]
        done = [row for row in own if "sum" in row]
        place = f"{examples:8d} {sigma:7.2f} {discretisation:>8}"
        if done:
            worst = max(done, key=lambda row: abs(row["sum"] - 1))
            (same,) = (r for r in done if (r["order"], r["step"]) == ("B_P,Q", worst["step"]))
            middle = f"{worst['step']:6.0e} {worst['order']:>6} {worst['sum']:12.5g} {same['r']:10.3e}"
        else:
            middle = f"{'too slow, skipped':>37}"
        ours = f"{shown(values['blow_up'])} {shown(values.get('blow_up_numerical_error'))}"
        print(f"{place} {middle}  {ours}  {shown(values['dp_accounting'])}", flush=True)


def print_summary(rows: list[dict]) -> None:
    for examples in EXAMPLES:
        for discretisation in ("dots", "buckets"):
            own = [r for r in rows if (r["examples"], r["discretisation"]) == (examples, discretisation)]
            done = [r for r in own if "sum" in r]
            largest = max(done, key=lambda r: abs(r["sum"]))
            off = [r["noise_multiplier"] for r in done if abs(r["sum"] - 1) > 0.01]
            print(
                f"{examples} example(s), {discretisation}: largest |sum| {largest['sum']:.4g} at sigma "
                f"{largest['noise_multiplier']:g}; more than 1 % off "
                + (f"at sigma {max(off):g} and below" if off else "nowhere")
            )
    for row in rows:
        if row.get("unnegated", 0.0) >= 2e4 and row["noise_multiplier"] > 2:
            print(
                f"loss not negated: sum {row['unnegated']:.3g} at sigma {row['noise_multiplier']:g} "
                f"({row['examples']} examples, {row['discretisation']}, step {row['step']:g}, {row['order']})"
            )
    for discretisation, step in SETTINGS:
        setting = [
            r for r in rows if (r["discretisation"], r["step"]) == (discretisation, step) and "sum" not in r
        ]
        missing = sorted({r["noise_multiplier"] for r in setting}, reverse=True)
        if missing:
            print(f"too slow, skipped: {discretisation}, step {step:g}, sigma {', '.join(map(str, missing))}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    began = time.perf_counter()
    print(
        f"{'examples':>8} {'sigma':>7} {'':>8} {'step':>6} {'order':>6} {'sum':>12} {'r, recipe':>10}  "
        f"{'blow_up':>10} {'error':>10}  {'dp, stable':>10}"
    )
    rows = []
    for examples in EXAMPLES:
        for sigma in NOISE:
            values, case = stable(examples, sigma), []
            for discretisation, step in SETTINGS:
                found = composed(examples, sigma, discretisation, step)
                for order, masses in (
                    ("B_P,Q", found and found._pmf_add),
                    ("B_Q,P", found and found._pmf_remove),
                ):
                    case.append(
                        {
                            "examples": examples,
                            "noise_multiplier": sigma,
                            "discretisation": discretisation,
                            "step": step,
                            "order": order,
                            **(recipe(masses) if masses else {"skipped": "too slow"}),
                            **values,
                        }
                    )
            print_case(case, values, examples, sigma)
            rows += case
    print_summary(rows)
    print(f"{time.perf_counter() - began:.0f} s")
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
