"""What retraining costs in noise at the paper's parameters: 1, 7, 52 and 365 runs, from the start each or on top.

The secret of the paper's section 5: 100 examples at 2048/1.2e6, T = 2,000 rounds, p = 1e-10, r = 1e-3.

    restarts    each run has T rounds of its own; every target is kept after the last
    on top      the first run has T rounds, each later one 20 more from the model before
    bound       after so many restarts at the σ of one run

--filter: of 52 restarts, the noise of those that are left once a Rényi filter plans them, as a run of other
settings came between, over the σ that they were planned with.
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl

from hush_core.accounting import Participation, Run, bound_of_runs, smallest_noise
from hush_core.history.filtered import noise_by_filter

EXAMPLES, RATE, ROUNDS, ON_TOP = 100, 2048 / 1.2e6, 2000, 20
PROMISE = {"prior": 1e-10, "posterior": 1e-3}
RUNS = (1, 7, 52, 365)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--filter", action="store_true")
    if parser.parse_args().filter:
        by_filter(52)
        return
    secret = Participation.binomial(EXAMPLES, RATE)
    first = smallest_noise(secret, rounds=ROUNDS, **PROMISE)
    print(f"{'runs':>5}  {'restarts':>8}  {'on top':>8}  bound after restarts at σ = {first:.3g}")
    for runs in RUNS:
        restarts = smallest_noise(secret, rounds=ROUNDS * runs, **PROMISE)
        on_top = smallest_noise(secret, rounds=ROUNDS + ON_TOP * (runs - 1), **PROMISE)
        bound = bound_of_runs([Run(secret, first, ROUNDS)] * runs, prior=PROMISE["prior"], lower=True)
        print(f"{runs:>5}  {restarts:>8.4g}  {on_top:>8.4g}  {bound.value:.3g} (at least {bound.lower:.3g})")


def by_filter(runs: int) -> None:
    """What a quarter, half, three quarters, nine tenths and all of the runs leave to the rest."""
    secret = Participation.binomial(EXAMPLES, RATE)
    planned = smallest_noise(secret, rounds=ROUNDS * runs, **PROMISE)
    for done in (0, runs // 4, runs // 2, 3 * runs // 4, 9 * runs // 10):
        before = [(EXAMPLES, RATE, planned, ROUNDS * done)] if done else []
        rows = pl.DataFrame(
            [(0, *row) for row in before],
            schema={"secret_id": pl.UInt32, "examples": pl.UInt32, "rate": pl.Float64,
                    "noise_multiplier": pl.Float64, "rounds": pl.UInt32}, orient="row",
        )  # fmt: skip
        left = ROUNDS * (runs - done)
        sigma, lost = noise_by_filter(rows, [secret], np.zeros(1, int), pl.DataFrame(PROMISE), rounds=left)
        needed = "nothing is left" if lost else f"{sigma / planned:.3f} times as much noise"
        print(f"after {done} of {runs} runs at σ = {planned:.3g}: {needed}")


if __name__ == "__main__":
    main()
