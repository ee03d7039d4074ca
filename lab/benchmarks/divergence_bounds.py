"""Lemma 3.2 of the paper by divergence: the posterior that each of them proves, beside the tight bound.

The six reference cases of docs/mathematics.md. No divergence proves less than `blow_up`; the best hockey-stick over
ε is equal to it. JSON with --out.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from hush_core.accounting import Participation, posterior_bound
from hush_core.errors import CertificationError
from lab.divergences import posterior_by_divergence
from lab.divergences.divergence import (
    CHI_SQUARED,
    KL,
    SQUARED_HELLINGER,
    TOTAL_VARIATION,
    hockey_stick,
)

CASES = [
    (1, 1e-3, 1.0, 1000, 1e-6), (10, 1e-3, 1.0, 1000, 1e-6), (50, 1e-3, 2.0, 500, 1e-4), (7, 0.02, 4.0, 300, 1e-3),
    (1, 1.0, 20.0, 100, 1e-8), (100, 2048 / 1.2e6, 3.0, 2000, 1e-10),
]  # fmt: skip
NAMED = (KL, CHI_SQUARED, SQUARED_HELLINGER, TOTAL_VARIATION)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    names = [divergence.name for divergence in NAMED]
    print(f"{'examples':>8} {'rate':>9} {'sigma':>6} {'T':>5} {'prior':>7}" + "".join(f" {n:>17}" for n in names)
          + f" {'best hockey-stick':>17} {'blow_up':>10}")  # fmt: skip
    rows = []
    for count, rate, sigma, rounds, prior in CASES:
        k = Participation.binomial(count=count, rate=rate)
        run = {"noise_multiplier": sigma, "rounds": rounds, "prior": prior}
        row = dict(run, examples=count, rate=rate, blow_up=posterior_bound(k, **run, method="blow_up").value)
        row |= {d.name: _posterior(k, run, d) for d in NAMED}
        row["hockey_stick"] = _best_hockey_stick(k, run, float(np.log(row["blow_up"] / prior)))
        rows.append(row)
        shown = "".join(f" {row[n]:17.4g}" if row[n] else f" {'refused':>17}" for n in names)
        print(f"{count:8d} {rate:9.2e} {sigma:6.2f} {rounds:5d} {prior:7.0e}{shown} {row['hockey_stick']:17.4g} "
              f"{row['blow_up']:10.4g}", flush=True)  # fmt: skip
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=2) + "\n")


def _best_hockey_stick(k: Participation, run: dict, top: float) -> float:
    """The least over ε ≤ log r/p, on a grid refined once."""
    low, high, best = top - 6.0, top, 1.0
    for _ in range(2):
        epsilons = np.linspace(low, high, 30)
        values = [_posterior(k, run, hockey_stick(float(e))) or 1.0 for e in epsilons]
        at = int(np.argmin(values))
        best = min(best, values[at])
        low, high = epsilons[max(at - 1, 0)], epsilons[min(at + 1, 29)]
    return best


def _posterior(k: Participation, run: dict, divergence) -> float | None:
    try:
        return posterior_by_divergence(k, **run, divergence=divergence).value
    except CertificationError:
        return None


if __name__ == "__main__":
    main()
