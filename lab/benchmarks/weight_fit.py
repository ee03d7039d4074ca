"""Weights fitted to a noise multiplier that `matched` weights reach, on random graphs: is it ever refused?

Random graphs of 20 to 400 examples and 1 to 8 secrets, half without any other example (`drop`), batches up to
most of what can be drawn, c from 0.02 to 1; σ is what `matched` weights need there. Prints the number of
refusals, of fits that need more than σ (both must be 0), and the least and median of the weight kept over
that of `matched`.
"""

import argparse

import numpy as np
import polars as pl

from hush_core.accounting import noise_for_all
from hush_core.errors import HushError
from hush_core.weights import RoundSettings, WeightSettings, largest_batch, sampling_rates, weigh


def case(seed: int) -> tuple[pl.DataFrame, pl.DataFrame, int, str, float, RoundSettings, float]:
    """(edges, secrets, examples, without_secret, c, mechanism, the σ that matched weights need)."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(20, 400)), int(rng.integers(1, 9))
    held = rng.random((n, m)) < rng.uniform(0.02, 0.5)
    held[rng.integers(0, n, m), np.arange(m)] = True
    example, secret = (each.astype(np.uint32) for each in np.nonzero(held))
    edges = pl.DataFrame({"example_id": example, "secret_id": secret})
    prior = 10.0 ** -rng.uniform(4, 12, m)
    table = {"secret_id": np.arange(m, dtype=np.uint32), "name": [f"s{j}" for j in range(m)], "prior": prior}
    secrets = pl.DataFrame({**table, "posterior": prior * 10 ** rng.uniform(0.5, 3.5, m)})
    others, c = str(rng.choice(["noise", "drop"])), float(10 ** rng.uniform(-1.7, 0))
    found = weigh(
        edges,
        secrets,
        n_examples=n,
        settings=WeightSettings(rule="normal_quantiles", c=c, without_secret=others),
    )
    batch = max(1, int(largest_batch(found.weights) * rng.uniform(0.05, 0.98)))
    mechanism = RoundSettings(rounds=int(rng.integers(10, 300)), expected_batch=batch, method="blow_up")
    run = {"rounds": mechanism.rounds, "method": mechanism.method}
    needed = noise_for_all(edges, sampling_rates(found.weights, batch), secrets, **run)
    # to four digits, upwards, as a user gives it
    sigma = float(f"{needed * (1 + 5e-4):.4g}")
    return edges, secrets, n, others, c, mechanism, sigma


def fit(seed: int) -> tuple[str, float]:
    """("" or what went wrong, weight kept over that of `matched`)."""
    edges, secrets, n, others, c, mechanism, sigma = case(seed)
    shared = {"without_secret": others, "mechanism": mechanism}
    given = WeightSettings(rule="equalised", c=None, noise_multiplier=sigma, **shared)
    try:
        found = weigh(edges, secrets, n_examples=n, settings=given)
    except HushError as refusal:
        return f"refused: {refusal}", 0.0
    run = {"rounds": mechanism.rounds, "method": mechanism.method}
    needed = noise_for_all(edges, sampling_rates(found.weights, mechanism.expected_batch), secrets, **run)
    matched = weigh(
        edges, secrets, n_examples=n, settings=WeightSettings(rule="normal_quantiles", c=c, **shared)
    )
    wrong = f"needs {needed:.4g}, more than {sigma:.4g}" if needed > sigma * (1 + 1e-3) else ""
    return wrong, found.objective / matched.objective


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    arguments = parser.parse_args()
    shares, wrong = [], 0
    for seed in range(arguments.first, arguments.first + arguments.graphs):
        says, share = fit(seed)
        shares.append(share)
        wrong += bool(says)
        if says or (seed + 1) % 20 == 0:
            print(f"graph {seed}: {says or f'none of {len(shares)} wrong' * (not wrong)}", flush=True)
    print(
        f"{arguments.graphs} graphs: {wrong} refused or in need of more noise; weight over that of matched: "
        f"least {min(shares):.3f}, median {np.median(shares):.3f}"
    )


if __name__ == "__main__":
    main()
