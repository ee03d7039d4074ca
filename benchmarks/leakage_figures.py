"""How many bits can leak: figures 1 and 2 of "Defending against Reconstruction Attacks with Rényi DP".

Prints both as tables in bits: the usual bound min h (Mironov et al. 2019), the paper's L (its eq. 3), and our tight
`blow_up` posterior as b + log2 r, down to priors of 1e-30 (99 bits). One example at rate 2.81e-4 and 186,000
rounds, its §4.3. Its text does not say which σ figure 1 shows; 0.3, 0.4 and 0.5 span the range of §4.3.
Writes JSON with --out and the pictures of docs/leakage.md with --pictures.
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np
import polars as pl

from hush_core import figures
from hush_core.accounting import Participation, posterior_bound
from hush_core.accounting.f_divergences.leakage import absolute_leakage_bits, epsilon_from_renyi, leakage_bits
from hush_core.errors import CertificationError

SECRET = Participation.binomial(count=1, rate=2.81e-4)
ROUNDS, DELTA = 186_000, 3e-7
NOISE = (0.3, 0.4, 0.5)
LENGTHS = (1, 2, 3, 5, 7, *range(10, 100, 5), 99, 100)
PRINTED_LENGTHS = (1, 5, 10, 20, 40, 60, 80, 99)
FIXED_LENGTH, FIXED_NOISE = 40, 0.4
STEPS = np.unique(np.append(np.geomspace(1e3, 1e7, 25).round().astype(int), [100_000, ROUNDS, 10**6]))
PRINTED_STEPS = (1_000, 10_000, 100_000, ROUNDS, 1_000_000, 10_000_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--pictures", type=Path)
    arguments = parser.parse_args()
    by_length, by_rounds = table_by_length(), table_by_rounds()
    for (sigma, epsilon), rows in by_length.group_by("noise_multiplier", "epsilon", maintain_order=True):
        print(f"Figure 1: {ROUNDS:,} rounds, σ = {sigma:g} (ε = {epsilon:.3g} at δ = {DELTA:g})")
        show(rows.filter(pl.col("secret_bits").is_in(PRINTED_LENGTHS)), "secret_bits")
    print(f"Figure 2: {FIXED_LENGTH} bits, σ = {FIXED_NOISE:g}")
    show(by_rounds.filter(pl.col("rounds").is_in(PRINTED_STEPS)), "rounds")
    if arguments.out:
        tables = {"by_length": by_length.to_dicts(), "by_rounds": by_rounds.to_dicts()}
        arguments.out.write_text(json.dumps(tables, indent=2) + "\n")
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
        figures.leakage_by_length(by_length, arguments.pictures / "leakage_by_length.png")
        figures.leakage_by_rounds(
            by_rounds,
            arguments.pictures / "leakage_by_rounds.png",
            secret_bits=FIXED_LENGTH,
            paper_rounds=ROUNDS,
        )


def table_by_length() -> pl.DataFrame:
    tables = []
    for sigma in NOISE:
        mechanism = {"noise_multiplier": sigma, "rounds": ROUNDS}
        columns = {
            "noise_multiplier": [sigma] * len(LENGTHS),
            "epsilon": [epsilon_from_renyi(SECRET, **mechanism, delta=DELTA)] * len(LENGTHS),
            "secret_bits": LENGTHS,
            "absolute_bits": absolute_leakage_bits(SECRET, **mechanism, secret_bits=LENGTHS),
            "leakage_bits": leakage_bits(SECRET, **mechanism, secret_bits=LENGTHS),
            "tight_bits": [tight_bits(sigma, ROUNDS, length) for length in LENGTHS],
        }
        tables.append(pl.DataFrame(columns))
    return pl.concat(tables)


def table_by_rounds() -> pl.DataFrame:
    rows = []
    for rounds in map(int, STEPS):
        mechanism = {"noise_multiplier": FIXED_NOISE, "rounds": rounds}
        row = {
            "rounds": rounds,
            "absolute_bits": absolute_leakage_bits(SECRET, **mechanism, secret_bits=FIXED_LENGTH),
            "leakage_bits": leakage_bits(SECRET, **mechanism, secret_bits=FIXED_LENGTH),
            "tight_bits": tight_bits(FIXED_NOISE, rounds, FIXED_LENGTH),
        }
        rows.append(row)
    return pl.DataFrame(rows)


def tight_bits(sigma: float, rounds: int, length: int) -> float | None:
    """b + log2 r; nothing where no certificate is given, as for priors below 1e-30."""
    try:
        bound = posterior_bound(
            SECRET, noise_multiplier=sigma, rounds=rounds, prior=2.0**-length, method="blow_up"
        )
    except CertificationError:
        return None
    return length + math.log2(bound.value)


def show(rows: pl.DataFrame, across: str) -> None:
    print(f"{across:>12} {'min h':>8} {'L':>8} {'blow_up':>8}")
    for row in rows.iter_rows(named=True):
        tight = row["tight_bits"]
        last = "-" if tight is None else f"{tight:.2f}"
        print(f"{row[across]:12,d} {row['absolute_bits']:8.2f} {row['leakage_bits']:8.2f} {last:>8}")


if __name__ == "__main__":
    main()
