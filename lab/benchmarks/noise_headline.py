"""The headline: the noise that the same promise takes, by the paper's calibration and by ours, in one run.

Prints the smallest certified noise multiplier by method at the paper's setting (p = 1e-10, T = 2000) and the
ratio to `kl`, the paper's. Writes JSON with --out and the README's picture with --picture.
"""

import argparse
import json
import time
from pathlib import Path

from hush_core import figures
from hush_core.accounting import Participation, smallest_noise

CASES = [(100, 2048 / 1.2e6, 2e-4), (100, 2048 / 1.2e6, 1e-3), (20, 2048 / 6e5, 2e-4), (100, 2e-4, 2e-4)]
METHODS = ("kl", "renyi", "blow_up")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    rows = []
    print(
        f"{'examples':>8} {'rate':>9} {'r':>7}"
        + "".join(f" {m:>9} {'s':>5}" for m in METHODS)
        + "  kl / blow_up"
    )
    for count, rate, posterior in CASES:
        row = {"examples": count, "rate": rate, "posterior": posterior}
        for method in METHODS:
            began = time.perf_counter()
            k = Participation.binomial(count=count, rate=rate)
            row[method] = smallest_noise(k, rounds=2000, prior=1e-10, posterior=posterior, method=method)
            row[f"{method}_seconds"] = time.perf_counter() - began
        row["ratio"] = row["kl"] / row["blow_up"]
        rows.append(row)
        print(
            f"{count:8d} {rate:9.2e} {posterior:7.0e}"
            + "".join(f" {row[m]:9.2f} {row[m + '_seconds']:5.2f}" for m in METHODS)
            + f"  {row['ratio']:.1f}"
        )
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=2) + "\n")
    if arguments.picture:
        figures.noise_by_method({m: rows[0][m] for m in METHODS}, arguments.picture)


if __name__ == "__main__":
    main()
